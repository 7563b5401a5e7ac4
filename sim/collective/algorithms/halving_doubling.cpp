#include <bit>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/reach.h"

// Reduce-scatter by recursive halving: exchange half of the data with the rank n/2 away, a quarter with the one n/4
// away, and so on; all-gather by recursive doubling, the same backwards. As little traffic as a ring in log2 n steps
// each, but the partners are far apart, so the fabric's core carries most of it. Source: Thakur, Rabenseifner and Gropp
// (2005), "Optimization of collective communication operations in MPICH", section 4.5.

namespace lockstep::collective {

namespace {

RankId partner(RankId rank, std::uint32_t distance) {
    return id_at<RankId>(static_cast<std::uint32_t>(rank) ^ distance);
}

/// The `distance` blocks that a rank is left with after the exchange over `distance`: those of the ranks that agree
/// with it in all bits from `distance` up.
ChunkIndex range_of(RankId rank, std::uint32_t distance) {
    return {.offset = static_cast<std::uint32_t>(rank) / distance * distance};
}

Block halving(RankId rank, std::uint32_t ranks) {
    Block block;
    for (std::uint32_t d = ranks / 2; d > 0; d /= 2) {
        const RankId peer = partner(rank, d);
        block.body.push_back({.verb = Verb::send, .peer = peer, .chunk = range_of(peer, d), .count = d});
        block.body.push_back({.verb = Verb::receive_reduce, .peer = peer, .chunk = range_of(rank, d), .count = d});
    }
    return block;
}

Block doubling(RankId rank, std::uint32_t ranks) {
    Block block;
    for (std::uint32_t d = 1; d < ranks; d *= 2) {
        const RankId peer = partner(rank, d);
        block.body.push_back({.verb = Verb::send, .peer = peer, .chunk = range_of(rank, d), .count = d});
        block.body.push_back({.verb = Verb::receive, .peer = peer, .chunk = range_of(peer, d), .count = d});
    }
    return block;
}

std::vector<Block> blocks(RankId rank, std::uint32_t ranks, Operation operation) {
    switch (operation) {
        case Operation::reduce_scatter:
            return {halving(rank, ranks)};
        case Operation::all_gather:
            return {doubling(rank, ranks)};
        default:
            return {halving(rank, ranks), doubling(rank, ranks)};
    }
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& /*request*/) {
    const std::size_t ranks = communicator.size();
    if (!std::has_single_bit(ranks)) {
        return fmt::format("halving-doubling needs a power of two of ranks, not {}", ranks);
    }
    const Reach reach(communicator);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (std::uint32_t d = 1; d < ranks; d *= 2) {
            const auto here = id_at<RankId>(rank);
            if (!reach.joins(here, partner(here, d))) {
                return reach.complaint(here, partner(here, d));
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return {.algorithm = "halving-doubling",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = ranks,
            .program = [ranks, operation = request.operation](RankId rank) {
                return ranks == 1 ? RankProgram{} : RankProgram{{.blocks = blocks(rank, ranks, operation)}};
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<double>(communicator.size());
    const auto steps = static_cast<double>(std::bit_width(communicator.size()) - 1);
    return (request.operation == Operation::all_reduce ? 2 : 1) * ranks * steps;
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto steps = static_cast<double>(std::bit_width(communicator.size()) - 1);
    const double once = (n - 1) / n * static_cast<double>(request.bytes.value);
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    return request.operation == Operation::all_reduce
               ? Cost{.alphas = 2 * steps, .bytes = 2 * once, .formula = "2 log2(n) α + 2(n-1)/n S/B", .source = source}
               : Cost{.alphas = steps, .bytes = once, .formula = "log2(n) α + (n-1)/n S/B", .source = source};
}

}  // namespace

Algorithm halving_doubling_algorithm() {
    return {
        .name = "halving-doubling",
        .summary = "exchange halves, quarters, eighths, and back: least traffic in 2 log2 n steps, n a power of two",
        .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
