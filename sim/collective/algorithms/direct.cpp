#include "sim/collective/algorithms/entries.h"
#include "sim/collective/reach.h"

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

Block from_root(RankId rank, RankId root, std::uint32_t ranks) {
    if (rank != root) {
        return {.body = {{.verb = Verb::receive, .peer = root}}};
    }
    Block block;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        block.body.push_back({.verb = Verb::send, .peer = peer_after(rank, d, ranks)});
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
            return {from_root(rank, request.root, ranks)};
        case Operation::all_to_all:
            return {to_owners(rank, ranks, Verb::receive, Buffer::received)};
        default:
            return {};
    }
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const Reach reach(communicator);
    if (request.operation == Operation::broadcast) {
        for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
            if (!reach.joins(request.root, id_at<RankId>(rank))) {
                return reach.complaint(request.root, id_at<RankId>(rank));
            }
        }
        return std::nullopt;
    }
    const auto pair = reach.unjoined_pair();
    return pair ? std::optional(reach.complaint(pair->first, pair->second)) : std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return {.algorithm = "direct",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = request.operation == Operation::broadcast ? 1 : ranks,
            .result = request.operation == Operation::all_to_all ? Buffer::received : Buffer::data,
            .root = request.root,
            .program = [ranks, request](RankId rank) {
                return ranks == 1 ? RankProgram{} : RankProgram{{.blocks = blocks(rank, ranks, request)}};
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<double>(communicator.size());
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * ranks * (ranks - 1);
        case Operation::broadcast:
            return ranks - 1;
        default:
            return ranks * (ranks - 1);
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
            return {.alphas = 1, .bytes = (n - 1) * bytes, .formula = "α + (n-1) S/B", .source = source};
        default:
            return {.alphas = 1, .bytes = (n - 1) / n * bytes, .formula = "α + (n-1)/n S/B", .source = source};
    }
}

}  // namespace

Algorithm direct_algorithm() {
    return {
        .name = "direct",
        .summary = "every rank sends straight to every other: least traffic in one or two steps, many messages at once",
        .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast,
                       Operation::all_to_all},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
