#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/reach.h"

// Parallel aggregated trees. In an all-gather the block of every rank goes down a binomial tree of its own: it reaches
// the rank at distance s over the lowest bit of s, so that distances shrink on the way. First the trees open at their
// top: over the largest distances, down to M, until a rank has A = n/M blocks. From there the A subtrees below these
// are walked in step, their A blocks aggregated into one message: log2 A + M - 1 messages. With A = n/2 that is Bruck's
// algorithm backwards, log2 n steps, in which the far messages are the small ones; with A = 1 a rank holds no block but
// its own longer than it takes to walk down a branch, so that log2 n buffers are enough however large the data. A
// reduce-scatter is the same backwards. Source: Jeaugey (2025), "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv 2506.20252; as in NCCL 2.30.

namespace lockstep::collective {

namespace {

/// One message of every rank: to the one `distance` further on, the blocks it has from `offsets` back (of an
/// all-gather).
struct Hop {
    std::uint32_t distance = 1;
    std::vector<std::uint32_t> offsets = {};
};

/// The number of bits of a distance between ranks: ceil(log2 n).
std::uint32_t dimensions(std::uint32_t ranks) { return static_cast<std::uint32_t>(std::bit_width(ranks - 1)); }

/// A: how many blocks a message has at most. As many as fit a connection's buffer of 4 MiB (NCCL's), a power of two and
/// at most all that the nearest rank needs.
std::uint32_t aggregation(const Communicator& communicator, const Request& request) {
    constexpr std::int64_t buffer = 4 << 20;
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    if (ranks <= 2) {
        return 1;
    }
    const std::uint32_t most = std::uint32_t{1} << (dimensions(ranks) - 1);
    if (request.tuning.pieces) {
        return std::bit_floor(std::max(most / *request.tuning.pieces, 1U));
    }
    const std::int64_t block = std::max<std::int64_t>(request.bytes.value / ranks, 1);
    return std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::int64_t>(buffer / block, 1, most)));
}

/// Walks the subtrees below distance `span`, the farthest branch first and each to its end, where there are ranks so
/// far away: else nobody has anything to send.
void walk(std::uint32_t at, std::uint32_t span, std::uint32_t top, std::uint32_t ranks, std::vector<Hop>& hops) {
    for (std::uint32_t distance = span / 2; distance > 0; distance /= 2) {
        Hop hop{.distance = distance};
        for (std::uint32_t offset = at; offset + distance < ranks; offset += top) {
            hop.offsets.push_back(offset);
        }
        if (!hop.offsets.empty()) {
            hops.push_back(std::move(hop));
            walk(at + distance, distance, top, ranks, hops);
        }
    }
}

/// What every rank sends, in order. Requires: ranks > 1.
std::vector<Hop> hops_of(std::uint32_t ranks, std::uint32_t aggregated) {
    std::vector<Hop> hops;
    const std::uint32_t whole = std::uint32_t{1} << dimensions(ranks);
    const std::uint32_t top = whole / aggregated;
    for (std::uint32_t distance = whole / 2; distance >= top; distance /= 2) {
        Hop hop{.distance = distance};
        for (std::uint32_t offset = 0; offset + distance < ranks; offset += 2 * distance) {
            hop.offsets.push_back(offset);
        }
        hops.push_back(std::move(hop));
    }
    walk(0, top, top, ranks, hops);
    return hops;
}

/// The blocks of the ranks `offsets` and `further` before `rank`.
std::shared_ptr<const std::vector<std::uint32_t>> blocks_before(std::uint32_t rank, const Hop& hop,
                                                                std::uint32_t further, std::uint32_t ranks) {
    auto blocks = std::make_shared<std::vector<std::uint32_t>>();
    blocks->reserve(hop.offsets.size());
    for (const std::uint32_t offset : hop.offsets) {
        blocks->push_back((rank + ranks - offset - further) % ranks);
    }
    return blocks;
}

/// One hop after the other: what is sent is what came before.
Block block_of(RankId rank, std::uint32_t ranks, const std::vector<Hop>& hops, Operation operation) {
    const auto here = static_cast<std::uint32_t>(rank);
    Block block;
    const auto add = [&](const Hop& hop) {
        const auto after = id_at<RankId>((here + hop.distance) % ranks);
        const auto before = id_at<RankId>((here + ranks - hop.distance) % ranks);
        const auto passed_on = blocks_before(here, hop, 0, ranks);
        const auto taken = blocks_before(here, hop, hop.distance, ranks);
        if (operation == Operation::all_gather) {
            block.body.push_back({.verb = Verb::send, .peer = after, .chunks = passed_on});
            block.body.push_back({.verb = Verb::receive, .peer = before, .chunks = taken});
        } else {
            block.body.push_back({.verb = Verb::send, .peer = before, .chunks = taken});
            block.body.push_back({.verb = Verb::receive_reduce, .peer = after, .chunks = passed_on});
        }
    };
    if (operation == Operation::all_gather) {
        std::for_each(hops.begin(), hops.end(), add);
    } else {
        std::for_each(hops.rbegin(), hops.rend(), add);
    }
    return block;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& /*request*/) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    const std::size_t ranks = communicator.size();
    for (std::size_t distance = 1; distance < ranks; distance *= 2) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const auto here = id_at<RankId>(rank);
            const auto after = id_at<RankId>((rank + distance) % ranks);
            if (!reach.joins(here, after)) {
                return reach.complaint(here, after);
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const auto hops = std::make_shared<const std::vector<Hop>>(
        ranks == 1 ? std::vector<Hop>{} : hops_of(ranks, aggregation(communicator, request)));
    return {.algorithm = "pat",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = ranks,
            .program = [ranks, hops, operation = request.operation](RankId rank) {
                return ranks == 1 ? RankProgram{} : RankProgram{{.blocks = {block_of(rank, ranks, *hops, operation)}}};
            }};
}

/// Of a power of two of ranks: those that open the trees, then one for each of the vertices of a subtree but its root.
std::size_t messages_of_rank(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return ranks == 1 ? 0 : hops_of(ranks, aggregation(communicator, request)).size();
}

double messages(const Communicator& communicator, const Request& request) {
    return static_cast<double>(communicator.size() * messages_of_rank(communicator, request));
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const std::size_t hops = messages_of_rank(communicator, request);
    return {.alphas = static_cast<double>(hops),
            .bytes = (n - 1) / n * static_cast<double>(request.bytes.value),
            .formula = fmt::format("hα + (n-1)/n S/B, h = {}: log2 A + n/A - 1, less where trees are not full, A = {}",
                                   hops, aggregation(communicator, request)),
            .source = "Jeaugey 2025"};
}

}  // namespace

Algorithm pat_algorithm() {
    return {
        .name = "pat",
        .summary =
            "blocks go down binomial trees, far distances first, many in a message while buffers last: log2 n steps",
        .operations = {Operation::all_gather, Operation::reduce_scatter},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
