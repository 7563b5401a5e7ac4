#include "sim/collective/algorithms/entries.h"
#include "sim/collective/exchange_load.h"
#include "sim/collective/peers.h"

// Everything goes straight to where it belongs. A reduce-scatter sends each rank the others' contributions to its
// block, an all-gather sends everybody each rank's block, and an all-reduce is the one after the other (two-shot): as
// little traffic as a ring, in two steps, with n-1 messages at once. Good where every pair has the full rate, under one
// switch or in a full mesh. Source: Chan, Heimlich, Purkayastha and van de Geijn (2007), "Collective communication:
// theory, practice, and experience", section 4.

namespace lockstep::collective {

namespace {

/// Peers in the order rank + 1, rank + 2, ...: at any time different ranks send to different ranks.
RankId peer_after(RankId rank, std::uint32_t distance, std::uint32_t ranks) {
    return id_at<RankId>((index(rank) + distance) % ranks);
}

ChunkIndex chunk_of(RankId owner) { return {.offset = static_cast<std::uint32_t>(owner)}; }

/// Contributions to every peer's block, then all contributions to the rank's own.
Block to_owners(RankId rank, std::uint32_t ranks, Verb take, Buffer into) {
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        const RankId to = peer_after(rank, d, ranks);
        block.body.push_back({.verb = Verb::send, .peer = to, .chunk = chunk_of(to)});
    }
    for (std::uint32_t d = 1; d < ranks; ++d) {
        const RankId from = peer_after(rank, ranks - d, ranks);
        const ChunkIndex chunk = chunk_of(into == Buffer::received ? from : rank);
        block.body.push_back({.verb = take, .buffer = into, .peer = from, .chunk = chunk});
    }
    return block;
}

/// The rank's own block to every peer, then theirs.
Block to_everybody(RankId rank, std::uint32_t ranks) {
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        block.body.push_back({.verb = Verb::send, .peer = peer_after(rank, d, ranks), .chunk = chunk_of(rank)});
    }
    for (std::uint32_t d = 1; d < ranks; ++d) {
        const RankId from = peer_after(rank, ranks - d, ranks);
        block.body.push_back({.verb = Verb::receive, .peer = from, .chunk = chunk_of(from)});
    }
    return block;
}

/// Whether what passes between the root and another is all of the vector or that rank's block.
enum class Portion : std::uint8_t { all, block };

ChunkIndex portion_of(Portion portion, RankId rank) { return portion == Portion::all ? ChunkIndex{} : chunk_of(rank); }

Block from_root(RankId rank, RankId root, std::uint32_t ranks, Portion portion) {
    if (rank != root) {
        return {.body = {{.verb = Verb::receive, .peer = root, .chunk = portion_of(portion, rank)}}};
    }
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        const RankId to = peer_after(rank, d, ranks);
        block.body.push_back({.verb = Verb::send, .peer = to, .chunk = portion_of(portion, to)});
    }
    return block;
}

Block to_root(RankId rank, RankId root, std::uint32_t ranks, Portion portion) {
    if (rank != root) {
        return {.body = {{.verb = Verb::send, .peer = root, .chunk = portion_of(portion, rank)}}};
    }
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        const RankId from = peer_after(rank, ranks - d, ranks);
        block.body.push_back({.verb = portion == Portion::all ? Verb::receive_reduce : Verb::receive,
                              .peer = from,
                              .chunk = portion_of(portion, from)});
    }
    return block;
}

Block to_next(RankId rank, std::uint32_t ranks) {
    return {.body = {{.verb = Verb::send, .peer = peer_after(rank, 1, ranks)},
                     {.verb = Verb::receive, .buffer = Buffer::received, .peer = peer_after(rank, ranks - 1, ranks)}}};
}

/// An empty message to everybody.
Block barrier(RankId rank, std::uint32_t ranks) {
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        block.body.push_back({.verb = Verb::send, .peer = peer_after(rank, d, ranks)});
    }
    for (std::uint32_t d = 1; d < ranks; ++d) {
        block.body.push_back({.verb = Verb::receive_reduce, .peer = peer_after(rank, ranks - d, ranks)});
    }
    return block;
}

std::vector<Block> blocks(RankId rank, std::uint32_t ranks, const Request& request) {
    switch (request.operation) {
        case Operation::all_reduce:
            return {to_owners(rank, ranks, Verb::receive_reduce, Buffer::data), to_everybody(rank, ranks)};
        case Operation::reduce_scatter:
            return {to_owners(rank, ranks, Verb::receive_reduce, Buffer::data)};
        case Operation::all_gather:
            return {to_everybody(rank, ranks)};
        case Operation::broadcast:
            return {from_root(rank, request.root, ranks, Portion::all)};
        case Operation::scatter:
            return {from_root(rank, request.root, ranks, Portion::block)};
        case Operation::reduce:
            return {to_root(rank, request.root, ranks, Portion::all)};
        case Operation::gather:
            return {to_root(rank, request.root, ranks, Portion::block)};
        case Operation::all_to_all:
        case Operation::all_to_all_v:
            return {to_owners(rank, ranks, Verb::receive, Buffer::received)};
        case Operation::send_recv:
            return {to_next(rank, ranks)};
        case Operation::barrier:
            return {barrier(rank, ranks)};
        case Operation::permutation:  // see there
            break;
    }
    return {};
}

/// Messages back to back, and beside them those that come in.
Schedule permutation(std::uint32_t ranks, const RandomTraffic& traffic) {
    const auto partners = std::make_shared<const Permutation>(ranks, traffic);
    const auto thread = [partners](Verb verb, Buffer buffer, RankId peer, RankId sender) {
        Block block;
        std::uint32_t first = 0;
        for (const std::uint32_t count : partners->message_chunks(sender)) {
            block.body.push_back(
                {.verb = verb, .buffer = buffer, .peer = peer, .chunk = {.offset = first}, .count = count});
            first += count;
        }
        return Thread{.blocks = {std::move(block)}};
    };
    return {.algorithm = "direct",
            .operation = Operation::permutation,
            .ranks = ranks,
            .chunks = partners->chunks(),
            .result = Buffer::received,
            .permutation = partners,
            .program = [ranks, partners, thread](RankId rank) {
                if (ranks == 1) {
                    return RankProgram{};
                }
                const RankId from = partners->from(rank);
                return RankProgram{thread(Verb::send, Buffer::data, partners->to(rank), rank),
                                   thread(Verb::receive, Buffer::received, from, from)};
            }};
}

/// Whether the vector stays in one piece.
bool is_whole(Operation operation) {
    return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::send_recv ||
           operation == Operation::barrier;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    if (request.operation == Operation::permutation) {
        return permutation(ranks, request.traffic);
    }
    return {.algorithm = "direct",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = is_whole(request.operation) ? 1 : ranks,
            .result = moves_vectors(request.operation) ? Buffer::received : Buffer::data,
            .root = request.root,
            .sizes = request.sizes,
            .program = [ranks, request](RankId rank) {
                return ranks == 1 ? RankProgram{} : RankProgram{{.blocks = blocks(rank, ranks, request)}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    Request same_peers = request;
    same_peers.traffic.messages = 1;
    return unjoined_peers(communicator, make(communicator, same_peers));
}

double messages(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<double>(communicator.size());
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * ranks * (ranks - 1);
        case Operation::send_recv:
            return ranks == 1 ? 0 : ranks;
        case Operation::permutation:
            return ranks == 1 ? 0 : ranks * request.traffic.messages;
        default:
            return has_root(request.operation) ? ranks - 1 : ranks * (ranks - 1);
    }
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "Chan, Heimlich, Purkayastha and van de Geijn 2007";
    switch (request.operation) {
        case Operation::all_reduce:
            return {.alphas = 2, .bytes = 2 * (n - 1) / n * bytes, .formula = "2α + 2(n-1)/n S/B", .source = source};
        case Operation::broadcast:
        case Operation::reduce:
            return {.alphas = 1, .bytes = (n - 1) * bytes, .formula = "α + (n-1) S/B", .source = source};
        case Operation::send_recv:
        case Operation::permutation:  // of a message behind another the latency does not show
            return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = "Hockney 1994"};
        case Operation::barrier:
            return {.alphas = 1, .formula = "α", .source = "derived"};
        case Operation::all_to_all_v:
            return {.alphas = 1,
                    .bytes = static_cast<double>(busiest_port(*request.sizes).value),
                    .holds = is_even(*request.sizes) ? Cost::Holds::exactly : Cost::Holds::approximately,
                    .formula = "α + (most that a rank sends or receives)/B",
                    .source = "derived"};
        default:
            return {.alphas = 1, .bytes = (n - 1) / n * bytes, .formula = "α + (n-1)/n S/B", .source = source};
    }
}

}  // namespace

Algorithm direct_algorithm() {
    return {
        .name = "direct",
        .summary = "every rank sends straight to every other: least traffic in one or two steps, many messages at once",
        .operations = {operations().begin(), operations().end()},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
