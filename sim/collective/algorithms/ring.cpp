#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/pipeline.h"
#include "sim/collective/reach.h"

// Blocks of data travel round the ring, each rank adding its own on the way (reduce-scatter), then travel round once
// more, complete (all-gather). Every rank sends and receives (n-1)/n of the data per pass, which is as little as
// possible; the price is n-1 steps. A broadcast goes down the chain that starts at the root, in pieces. With several
// rings each carries its part, on its own channel. Source: Patarasuk and Yuan (2009), "Bandwidth optimal all-reduce
// algorithms for clusters of workstations".

namespace lockstep::collective {

namespace {

struct Ring {
    std::vector<std::uint32_t> ranks;     ///< by position
    std::vector<std::uint32_t> position;  ///< by rank
    std::shared_ptr<const std::vector<std::uint32_t>> order =
        {};  ///< `ranks` again, for chunk numbers; none if they count up
};

/// What programs need to know of the rings: they outlive the communicator.
struct Rings {
    std::uint32_t size = 0;  ///< ranks
    std::vector<Ring> all = {};
};

/// A rank's place on one ring.
struct Place {
    std::uint32_t channel;
    std::uint32_t position;
    RankId previous;
    RankId next;
};

std::shared_ptr<const Rings> rings_of(const Communicator& communicator) {
    auto rings = std::make_shared<Rings>();
    rings->size = static_cast<std::uint32_t>(communicator.size());
    for (const auto& ranks : communicator.rings()) {
        Ring ring;
        ring.position.resize(ranks.size());
        for (const RankId rank : ranks) {
            ring.position[index(rank)] = static_cast<std::uint32_t>(ring.ranks.size());
            ring.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
        if (!std::is_sorted(ring.ranks.begin(), ring.ranks.end())) {
            ring.order = std::make_shared<const std::vector<std::uint32_t>>(ring.ranks);
        }
        rings->all.push_back(std::move(ring));
    }
    return rings;
}

Place place_on(const Rings& rings, std::uint32_t channel, RankId rank) {
    const Ring& ring = rings.all[channel];
    const std::uint32_t position = ring.position[index(rank)];
    return {.channel = channel,
            .position = position,
            .previous = id_at<RankId>(ring.ranks[(position + rings.size - 1) % rings.size]),
            .next = id_at<RankId>(ring.ranks[(position + 1) % rings.size])};
}

/// One time round: n-1 steps, in the first of which the rank sends the block `ahead` positions further on than its own
/// and takes the block before that, which it sends in the next.
Block pass(const Place& place, std::uint32_t size, std::uint32_t ahead, Verb take, ChunkIndex block) {
    block.stride = -1;
    block.modulus = size;
    block.first = (place.position + ahead) % size;
    ChunkIndex before = block;
    before.first = (block.first + size - 1) % size;
    return {.iterations = size - 1,
            .body = {{.verb = Verb::send, .peer = place.next, .chunk = block},
                     {.verb = take, .peer = place.previous, .chunk = before}}};
}

std::vector<Block> all_reduce(const Rings& rings, const Place& place) {
    // Which rank completes which block does not matter, so blocks are numbered by position. After the first pass a rank
    // has completed the block one position on.
    const ChunkIndex block{.offset = place.channel * rings.size};
    return {pass(place, rings.size, 0, Verb::receive_reduce, block), pass(place, rings.size, 1, Verb::receive, block)};
}

/// Block b belongs to rank b, and each ring carries one chunk of every block.
ChunkIndex block_of_rank(const Rings& rings, const Place& place) {
    return {.offset = place.channel,
            .scale = static_cast<std::uint32_t>(rings.all.size()),
            .order = rings.all[place.channel].order};
}

std::vector<Block> reduce_scatter(const Rings& rings, const Place& place) {
    // From one position back, so that the last block taken is the rank's own.
    return {pass(place, rings.size, rings.size - 1, Verb::receive_reduce, block_of_rank(rings, place))};
}

std::vector<Block> all_gather(const Rings& rings, const Place& place) {
    return {pass(place, rings.size, 0, Verb::receive, block_of_rank(rings, place))};
}

std::vector<Block> broadcast(const Rings& rings, const Place& place, RankId root, std::uint32_t pieces) {
    const ChunkIndex piece{.offset = place.channel * pieces, .stride = 1, .modulus = pieces};
    const std::uint32_t root_position = rings.all[place.channel].position[index(root)];
    Block block{.iterations = pieces};
    if (place.position != root_position) {
        block.body.push_back({.verb = Verb::receive, .peer = place.previous, .chunk = piece});
    }
    if (place.next != root) {
        block.body.push_back({.verb = Verb::send, .peer = place.next, .chunk = piece});
    }
    return {block};
}

std::uint32_t broadcast_pieces(const Communicator& communicator, const Request& request) {
    const auto part = request.bytes.value / static_cast<std::int64_t>(communicator.rings().size());
    return pipeline_pieces(Bytes{part}, communicator.size() - 1);
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const Reach reach(communicator);
    for (const auto& ring : communicator.rings()) {
        for (std::size_t p = 0; p < ring.size(); ++p) {
            const RankId next = ring[(p + 1) % ring.size()];
            const bool used = request.operation != Operation::broadcast || next != request.root;
            if (used && !reach.joins(ring[p], next)) {
                return reach.complaint(ring[p], next);
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto rings = rings_of(communicator);
    const auto channels = static_cast<std::uint32_t>(rings->all.size());
    const bool is_broadcast = request.operation == Operation::broadcast;
    const std::uint32_t pieces = is_broadcast ? broadcast_pieces(communicator, request) : rings->size;
    const auto blocks = [rings, request, pieces](const Place& place) {
        switch (request.operation) {
            case Operation::all_reduce:
                return all_reduce(*rings, place);
            case Operation::reduce_scatter:
                return reduce_scatter(*rings, place);
            case Operation::all_gather:
                return all_gather(*rings, place);
            default:
                return broadcast(*rings, place, request.root, pieces);
        }
    };
    return {.algorithm = "ring",
            .operation = request.operation,
            .ranks = rings->size,
            .channels = channels,
            .chunks = channels * pieces,
            .root = request.root,
            .program = [rings, blocks](RankId rank) {
                RankProgram program;
                for (std::uint32_t channel = 0; rings->size > 1 && channel < rings->all.size(); ++channel) {
                    program.push_back({.channel = channel, .blocks = blocks(place_on(*rings, channel, rank))});
                }
                return program;
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto hops = static_cast<double>(communicator.size() - 1) * static_cast<double>(communicator.rings().size());
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * hops * static_cast<double>(communicator.size());
        case Operation::broadcast:
            return hops * broadcast_pieces(communicator, request);
        default:
            return hops * static_cast<double>(communicator.size());
    }
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "Patarasuk and Yuan 2009";
    switch (request.operation) {
        case Operation::all_reduce:
            return {.alphas = 2 * (n - 1),
                    .bytes = 2 * (n - 1) / n * bytes,
                    .formula = "2(n-1)α + 2(n-1)/n S/B",
                    .source = source};
        case Operation::broadcast: {
            const double pieces = broadcast_pieces(communicator, request);
            return {.alphas = n - 1,
                    .bytes = (1 + (n - 2) / pieces) * bytes,
                    .formula = fmt::format("(n-1)α + (1 + (n-2)/k) S/B, k = {}", pieces),
                    .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007"};
        }
        default:
            return {.alphas = n - 1, .bytes = (n - 1) / n * bytes, .formula = "(n-1)α + (n-1)/n S/B", .source = source};
    }
}

}  // namespace

Algorithm ring_algorithm() {
    return {
        .name = "ring",
        .summary =
            "blocks travel round a ring of neighbours: least traffic, 2(n-1) steps; one ring per rail or set of links",
        .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
