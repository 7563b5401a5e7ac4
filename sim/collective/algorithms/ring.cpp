#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/pipeline.h"
#include "sim/collective/reach.h"
#include "sim/collective/ring_programs.h"

// Blocks of data travel round the ring, each rank adding its own on the way (reduce-scatter), then travel round once
// more, complete (all-gather). Every rank sends and receives (n-1)/n of the data per pass, which is as little as
// possible; the price is n-1 steps. What has a root goes down the chain that starts there, or up the one that ends
// there. With several rings each carries its part, on its own channel. Source: Patarasuk and Yuan (2009), "Bandwidth
// optimal all-reduce algorithms for clusters of workstations"; the rest is derived in docs/collectives/ring.md.

namespace lockstep::collective {

namespace {

/// Broadcast and reduce: as many pieces as asked for, or as fill the pipeline well.
std::uint32_t chain_pieces(const Communicator& communicator, const Request& request) {
    const auto part = request.bytes.value / static_cast<std::int64_t>(chosen_rings(communicator, request).size());
    return request.tuning.pieces.value_or(pipeline_pieces(Bytes{part}, communicator.size() - 1));
}

bool is_pipelined(Operation operation) { return operation == Operation::broadcast || operation == Operation::reduce; }

bool travels_round(Operation operation) {
    return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
           operation == Operation::all_gather;
}

std::uint32_t pieces_for(const Communicator& communicator, const Request& request) {
    if (is_pipelined(request.operation)) {
        return chain_pieces(communicator, request);
    }
    return travels_round(request.operation) ? request.tuning.pieces.value_or(1) : 1;
}

/// Send_recv and barrier have one message at a time for each rank: one ring.
RingSpan used_rings(const Communicator& communicator, const Request& request) {
    const RingSpan rings = chosen_rings(communicator, request);
    const bool one = request.operation == Operation::send_recv || request.operation == Operation::barrier;
    return one ? rings.first(1) : rings;
}

/// How far along the ring the rank is from the root.
std::uint32_t distance_from(const RingPrograms& rings, const RingPlace& place, RankId root) {
    const std::uint32_t at_root = rings.ring(place.channel).position[index(root)];
    return (place.position + rings.size() - at_root) % rings.size();
}

ChainPlace chain_place(const RingPlace& place, std::uint32_t pieces) {
    return {.from = place.previous, .to = place.next, .piece = {.offset = place.channel * pieces}, .pieces = pieces};
}

std::vector<Block> broadcast(const RingPrograms& rings, const RingPlace& place, RankId root, std::uint32_t pieces) {
    ChainPlace chain = chain_place(place, pieces);
    if (distance_from(rings, place, root) == 0) {
        chain.from.reset();
    }
    if (place.next == root) {
        chain.to.reset();
    }
    return {chain_program(chain, Verb::receive)};
}

/// The chain starts behind the root and ends there.
std::vector<Block> reduce(const RingPrograms& rings, const RingPlace& place, RankId root, std::uint32_t pieces) {
    ChainPlace chain = chain_place(place, pieces);
    const std::uint32_t distance = distance_from(rings, place, root);
    if (distance == 0) {
        chain.to.reset();
    }
    if (distance == 1) {
        chain.from.reset();
    }
    return {chain_program(chain, Verb::receive_reduce)};
}

/// A loop over blocks of ranks, against the ring from `first` on.
ChunkIndex backwards(const RingPrograms& rings, const RingPlace& place, std::uint32_t first) {
    ChunkIndex block = rings.block_of_rank(place);
    block.first = first % rings.size();
    block.stride = -1;
    block.modulus = rings.size();
    return block;
}

/// The rank's block, then those of the ranks behind it as they come, towards the root.
std::vector<Block> gather(const RingPrograms& rings, const RingPlace& place, RankId root) {
    const std::uint32_t distance = distance_from(rings, place, root);
    const std::uint32_t behind = distance == 0 ? rings.size() - 1 : distance - 1;
    const ChunkIndex others = backwards(rings, place, place.position + rings.size() - 1);
    std::vector<Block> blocks;
    if (distance != 0) {
        blocks.push_back({.body = {{.peer = place.next, .chunk = backwards(rings, place, place.position)}}});
    }
    Block pass{.iterations = behind, .body = {{.verb = Verb::receive, .peer = place.previous, .chunk = others}}};
    if (distance != 0) {
        pass.body.push_back({.verb = Verb::send, .peer = place.next, .chunk = others});
    }
    if (behind > 0) {
        blocks.push_back(std::move(pass));
    }
    return blocks;
}

/// The block that goes farthest first; each rank passes on all but its own, which comes last.
std::vector<Block> scatter(const RingPrograms& rings, const RingPlace& place, RankId root) {
    const std::uint32_t distance = distance_from(rings, place, root);
    const std::uint32_t at_root = rings.ring(place.channel).position[index(root)];
    const std::uint32_t beyond = rings.size() - 1 - distance;
    const ChunkIndex others = backwards(rings, place, at_root + rings.size() - 1);
    std::vector<Block> blocks;
    Block pass{.iterations = beyond};
    if (distance != 0) {
        pass.body.push_back({.verb = Verb::receive, .peer = place.previous, .chunk = others});
    }
    pass.body.push_back({.verb = Verb::send, .peer = place.next, .chunk = others});
    if (beyond > 0) {
        blocks.push_back(std::move(pass));
    }
    if (distance != 0) {
        const ChunkIndex own = backwards(rings, place, place.position);
        blocks.push_back({.body = {{.verb = Verb::receive, .peer = place.previous, .chunk = own}}});
    }
    return blocks;
}

/// Blocks go round in a convoy, which loses one at each rank: in step s a rank takes the n-s blocks that come from s
/// places back and are for itself and those beyond, keeps the first and passes on the rest. They wait in scratch, the
/// block for the rank at position q in chunk q or, if its way there passes position 0, in chunk n + q: so a convoy is
/// consecutive, and with one ring in rank order each block keeps its size to the byte.
std::vector<Block> all_to_all(const RingPrograms& rings, const RingPlace& place) {
    const std::uint32_t last = rings.size() - 1;
    const std::uint32_t own = place.channel * 2 * rings.size() + place.position;
    ChunkIndex ahead = rings.block_of_rank(place);
    ahead.first = (place.position + 1) % rings.size();
    ahead.stride = 1;
    ahead.modulus = rings.size();
    const ChunkIndex from_origin = backwards(rings, place, place.position + last);
    std::vector<Block> blocks;
    blocks.push_back({.iterations = last,
                      .body = {{.verb = Verb::copy,
                                .buffer = Buffer::scratch,
                                .chunk = {.offset = own + 1, .stride = 1, .modulus = rings.size()},
                                .from_buffer = Buffer::data,
                                .from = ahead}}});
    blocks.push_back(
        {.body = {{.buffer = Buffer::scratch, .peer = place.next, .chunk = {.offset = own + 1}, .count = last}}});
    for (std::uint32_t step = 1; step <= last; ++step) {
        const std::uint32_t count = rings.size() - step;
        Block& block = blocks.emplace_back();
        block.body.push_back({.verb = Verb::receive,
                              .buffer = Buffer::scratch,
                              .peer = place.previous,
                              .chunk = {.offset = own},
                              .count = count});
        block.body.push_back({.verb = Verb::copy,
                              .buffer = Buffer::received,
                              .chunk = {.offset = from_origin.at(step - 1)},
                              .from_buffer = Buffer::scratch,
                              .from = {.offset = own}});
        if (count > 1) {
            block.body.push_back(
                {.buffer = Buffer::scratch, .peer = place.next, .chunk = {.offset = own + 1}, .count = count - 1});
        }
    }
    return blocks;
}

/// To the next rank by number, whatever the ring: that is what the operation asks for.
std::vector<Block> send_recv(const RingPrograms& rings, RankId rank) {
    const std::uint32_t n = rings.size();
    const auto r = static_cast<std::uint32_t>(rank);
    return {{.body = {{.peer = id_at<RankId>((r + 1) % n)},
                      {.verb = Verb::receive, .buffer = Buffer::received, .peer = id_at<RankId>((r + n - 1) % n)}}}};
}

/// A token goes round and collects everybody, then almost round again to tell everybody: from the first to the last,
/// who knows first, and on to the last but one.
std::vector<Block> barrier(const RingPrograms& rings, const RingPlace& place) {
    const Instruction pass_on{.peer = place.next};
    const Instruction take{.verb = Verb::receive_reduce, .peer = place.previous};
    if (place.position == 0) {
        return {rings.size() == 2 ? Block{.body = {pass_on, take}} : Block{.body = {pass_on, take, pass_on}}};
    }
    if (place.position == rings.size() - 1) {
        return {{.body = {take, pass_on}}};
    }
    return {place.position == rings.size() - 2 ? Block{.body = {take, pass_on, take}}
                                               : Block{.iterations = 2, .body = {take, pass_on}}};
}

std::vector<Block> blocks_for(const RingPrograms& rings, const Request& request, std::uint32_t pieces,
                              std::uint32_t channel, RankId rank) {
    const RingPlace place = rings.place(channel, rank);
    switch (request.operation) {
        case Operation::all_reduce:
            return rings.all_reduce(place);
        case Operation::reduce_scatter:
            return rings.reduce_scatter(place);
        case Operation::all_gather:
            return rings.all_gather(place);
        case Operation::broadcast:
            return broadcast(rings, place, request.root, pieces);
        case Operation::reduce:
            return reduce(rings, place, request.root, pieces);
        case Operation::all_to_all:
            return all_to_all(rings, place);
        case Operation::gather:
            return gather(rings, place, request.root);
        case Operation::scatter:
            return scatter(rings, place, request.root);
        case Operation::send_recv:
            return send_recv(rings, rank);
        case Operation::barrier:
            return barrier(rings, place);
        case Operation::all_to_all_v:
        case Operation::permutation:
            break;
    }
    return {};
}

/// Chunks of the vector on each ring.
std::uint32_t chunks_per_channel(const Request& request, std::uint32_t ranks, std::uint32_t pieces) {
    switch (request.operation) {
        case Operation::broadcast:
        case Operation::reduce:
            return pieces;
        case Operation::send_recv:
        case Operation::barrier:
            return 1;
        default:
            return ranks * pieces;
    }
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const RingSpan rings = used_rings(communicator, request);
    const std::uint64_t blocks = is_pipelined(request.operation) ? rings.size() : communicator.size() * rings.size();
    if (auto too_fine = chunk_obstacle(blocks, pieces_for(communicator, request))) {
        return too_fine;
    }
    switch (request.operation) {
        case Operation::broadcast:
        case Operation::scatter:
            return ring_obstacle(communicator, rings, std::nullopt, request.root);
        case Operation::reduce:
        case Operation::gather:
            return ring_obstacle(communicator, rings, request.root, std::nullopt);
        case Operation::send_recv: {
            std::vector<std::vector<RankId>> in_rank_order(1);
            for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
                in_rank_order.front().push_back(id_at<RankId>(rank));
            }
            return ring_obstacle(communicator, in_rank_order, std::nullopt, std::nullopt);
        }
        default:
            return ring_obstacle(communicator, rings, std::nullopt, std::nullopt);
    }
}

Schedule make(const Communicator& communicator, const Request& request) {
    const std::uint32_t pieces = pieces_for(communicator, request);
    const auto rings = std::make_shared<const RingPrograms>(used_rings(communicator, request),
                                                            travels_round(request.operation) ? pieces : 1);
    const std::uint32_t chunks = rings->channels() * chunks_per_channel(request, rings->size(), pieces);
    const bool all_to_all = request.operation == Operation::all_to_all;
    return {
        .algorithm = "ring",
        .operation = request.operation,
        .ranks = rings->size(),
        .channels = rings->channels(),
        .chunks = chunks,
        .scratch_chunks = all_to_all ? 2 * chunks : 0,
        .result = all_to_all || request.operation == Operation::send_recv ? Buffer::received : Buffer::data,
        .root = request.root,
        .program = [rings, request, pieces](RankId rank) {
            RankProgram program;
            for (std::uint32_t channel = 0; rings->size() > 1 && channel < rings->channels(); ++channel) {
                program.push_back({.channel = channel, .blocks = blocks_for(*rings, request, pieces, channel, rank)});
            }
            return program;
        }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const double hops = (n - 1) * static_cast<double>(used_rings(communicator, request).size());
    const double pieces = pieces_for(communicator, request);
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * hops * n * pieces;
        case Operation::broadcast:
        case Operation::reduce:
            return hops * pieces;
        case Operation::gather:
        case Operation::scatter:
            return hops * n / 2;
        case Operation::send_recv:
            return n;
        case Operation::barrier:
            return 2 * (n - 1);
        default:
            return hops * n * pieces;
    }
}

/// Passes round the ring in blocks of one piece wait for each other's latency; with more pieces, latency hides behind
/// the data unless blocks are short.
Cost cost_of_passes(double passes, double n, const Request& request, double rings, const std::string& rate) {
    const double bytes = passes * (n - 1) / n * static_cast<double>(request.bytes.value) / rings;
    const std::string factor = passes == 1 ? "" : "2";
    const char* const source = "Patarasuk and Yuan 2009";
    if (request.tuning.pieces.value_or(1) > 1) {
        return {.alphas = 1,
                .bytes = bytes,
                .holds = Cost::Holds::approximately,
                .formula = fmt::format("α + {}(n-1)/n S/{} where blocks take longer than α", factor, rate),
                .source = source};
    }
    return {.alphas = passes * (n - 1),
            .bytes = bytes,
            .formula = fmt::format("{0}(n-1)α + {0}(n-1)/n S/{1}", factor, rate),
            .source = source};
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const RingSpan used = used_rings(communicator, request);
    const double rings = rings_at_once(communicator, used);
    const std::string rate = rings > 1 ? fmt::format("({}B)", rings) : "B";
    const double bytes = static_cast<double>(request.bytes.value) / rings;
    const char* const derived = "docs/collectives/ring.md";
    switch (request.operation) {
        case Operation::all_reduce:
            return cost_of_passes(2, n, request, rings, rate);
        case Operation::broadcast:
        case Operation::reduce: {
            const double pieces = chain_pieces(communicator, request);
            return {.alphas = n - 1,
                    .bytes = (1 + (n - 2) / pieces) * bytes,
                    .formula = fmt::format("(n-1)α + (1 + (n-2)/k) S/{}, k = {}", rate, pieces),
                    .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007"};
        }
        case Operation::gather:
        case Operation::scatter:
            return {.alphas = n - 1,
                    .bytes = (n - 1) / n * bytes,
                    .formula = fmt::format("(n-1)α + (n-1)/n S/{}", rate),
                    .source = derived};
        case Operation::all_to_all:
            return {.alphas = n - 1,
                    .bytes = (n - 1) / 2 * bytes,
                    .formula = fmt::format("(n-1)α + (n-1)/2 S/{}", rate),
                    .source = derived};
        case Operation::send_recv:
            return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = "Hockney 1994"};
        case Operation::barrier:
            return {.alphas = 2 * (n - 1), .bytes = 0, .formula = "2(n-1)α", .source = derived};
        default:
            return cost_of_passes(1, n, request, rings, rate);
    }
}

}  // namespace

Algorithm ring_algorithm() {
    return {
        .name = "ring",
        .summary =
            "blocks travel round a ring of neighbours: least traffic, 2(n-1) steps; one ring per rail or set of links",
        .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast,
                       Operation::reduce, Operation::all_to_all, Operation::gather, Operation::scatter,
                       Operation::send_recv, Operation::barrier},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
