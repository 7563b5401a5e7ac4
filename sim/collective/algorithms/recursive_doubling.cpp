#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/block_run.h"
#include "sim/collective/circle.h"
#include "sim/collective/halving.h"
#include "sim/collective/peers.h"

// In step k every rank exchanges all that it has with the rank whose number differs in bit k, so that what a rank knows
// doubles in each step. For an all-reduce that is the whole vector every time: the fewest steps, and log2 n times the
// data, for short vectors. Where n is not a power of two, one rank of each pair gives its vector to the other first
// and gets the result last, as MPICH does; an all-gather goes round a circle instead, as `bruck` does. Source: Thakur,
// Rabenseifner and Gropp (2005), "Optimization of collective communication operations in MPICH", sections 3.1 and 4.5.

namespace lockstep::collective {

namespace {

/// The whole vector (or, of a barrier, nothing) to all corners and back to those that stood aside.
std::vector<Instruction> exchange_all(const Hypercube& cube, std::uint32_t rank, Verb take_back) {
    std::vector<Instruction> steps;
    const std::uint32_t corner = cube.corner_of(rank);
    const std::uint32_t keeper = cube.first_of(corner);
    const auto with = [](Verb verb, std::uint32_t peer) {
        return Instruction{.verb = verb, .peer = id_at<RankId>(peer)};
    };
    if (rank != keeper) {
        return {with(Verb::send, keeper), with(take_back, keeper)};
    }
    if (cube.is_pair(corner)) {
        steps.push_back(with(Verb::receive_reduce, cube.last_of(corner)));
    }
    for (std::uint32_t d = 1; d < cube.corners(); d *= 2) {
        const std::uint32_t partner = cube.first_of(corner ^ d);
        steps.push_back(with(Verb::send, partner));
        steps.push_back(with(Verb::receive_reduce, partner));
    }
    if (cube.is_pair(corner)) {
        steps.push_back(with(Verb::send, cube.last_of(corner)));
    }
    return steps;
}

/// By the bits of the ranks' numbers or, where there is not a power of two of them, round a circle.
std::vector<Instruction> gather_all(const Hypercube& cube, std::uint32_t rank) {
    if (cube.pairs() == 0) {
        return CubeExchange{.cube = cube, .rotation = {cube.places(), RankId{0}}}.doubling(rank);
    }
    std::vector<Instruction> steps;
    Circle{cube.places(), rank}.gather(steps);
    return steps;
}

std::vector<Instruction> steps_of(std::uint32_t ranks, std::uint32_t rank, Operation operation) {
    const Hypercube cube(ranks);
    if (operation == Operation::barrier) {
        return exchange_all(cube, rank, Verb::receive_reduce);
    }
    if (operation == Operation::all_gather) {
        return gather_all(cube, rank);
    }
    const std::vector<Instruction> steps = exchange_all(cube, rank, Verb::receive);
    return cube.pairs() > 0 ? one_at_a_time(steps) : steps;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return {.algorithm = "recursive-doubling",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = request.operation == Operation::all_gather ? ranks : 1,
            .program = [ranks, operation = request.operation](RankId rank) {
                return ranks == 1
                           ? RankProgram{}
                           : RankProgram{
                                 {.blocks = {{.body = steps_of(ranks, static_cast<std::uint32_t>(rank), operation)}}}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const Hypercube cube(static_cast<std::uint32_t>(communicator.size()));
    if (request.operation == Operation::all_gather) {
        return static_cast<double>(cube.places()) * ceil_log2(cube.places());
    }
    return static_cast<double>(cube.corners()) * cube.dimensions() + 2.0 * cube.pairs();
}

Cost cost(const Communicator& communicator, const Request& request) {
    const Hypercube cube(static_cast<std::uint32_t>(communicator.size()));
    const auto bytes = static_cast<double>(request.bytes.value);
    const double steps = cube.dimensions();
    const bool folds = cube.pairs() > 0;
    const std::string where = folds ? fmt::format(", p = {}", cube.corners()) : "";
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    switch (request.operation) {
        case Operation::barrier: {
            // The longest way is from one that stands aside to another, if their pairs are farthest apart; else a pair
            // is ready as soon as the last single corner has heard of it.
            const int extra = cube.has_opposite_pairs() ? 2 : folds ? 1 : 0;
            return {.alphas = steps + extra,
                    .formula = folds ? fmt::format("(log2(p) + {}) α{}", extra, where) : "log2(n) α",
                    .source = source};
        }
        case Operation::all_gather: {
            const double n = cube.places();
            return {.alphas = static_cast<double>(ceil_log2(cube.places())),
                    .bytes = (n - 1) / n * bytes,
                    .formula = "⌈log2 n⌉α + (n-1)/n S/B",
                    .source = folds ? "Bruck, Ho, Kipnis, Upfal and Weathersby 1997" : source};
        }
        default:
            return {.alphas = steps + (folds ? 2 : 0),
                    .bytes = (steps + (folds ? 2 : 0)) * bytes,
                    .holds = folds ? Cost::Holds::approximately : Cost::Holds::exactly,
                    .formula = (folds ? "(log2(p) + 2)(α + S/B)" : "log2(n)(α + S/B)") + where,
                    .source = source};
    }
}

}  // namespace

Algorithm recursive_doubling_algorithm() {
    return {.name = "recursive-doubling",
            .summary = "exchange everything with the rank 1, 2, 4, ... away: fewest steps, for short vectors",
            .operations = {Operation::all_reduce, Operation::all_gather, Operation::barrier},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
