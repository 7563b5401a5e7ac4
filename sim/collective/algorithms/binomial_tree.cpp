#include <bit>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/binomial_programs.h"
#include "sim/collective/peers.h"

// The root sends to the rank half way round, then both send to those a quarter on, and so on: in every step those that
// have the data double. Reductions go the same way up; gather and scatter carry the blocks of whole subtrees, so that
// the root's port, not the number of steps, limits them. Whole messages, no pipelining: for short vectors. Source:
// Thakur, Rabenseifner and Gropp (2005), "Optimization of collective communication operations in MPICH", sections 3.2
// and 4.5; the tree of MPICH, whose broadcasts serve the largest subtree first.

namespace lockstep::collective {

namespace {

std::vector<Instruction> joined(std::vector<Instruction> first, std::vector<Instruction> second) {
    for (Instruction& step : second) {
        first.push_back(std::move(step));
    }
    return first;
}

/// Empty messages up, then down: nothing to wait for between the sends of a rank, and every arrival counts.
std::vector<Instruction> barrier(const Rotation& rotation, RankId rank) {
    std::vector<Instruction> steps = binomial_reduce(rotation, rank);
    for (Instruction& step : binomial_broadcast(rotation, rank)) {
        if (step.verb != Verb::drain) {
            step.verb = step.verb == Verb::receive ? Verb::receive_reduce : step.verb;
            steps.push_back(std::move(step));
        }
    }
    return steps;
}

std::vector<Instruction> steps_of(const Rotation& rotation, RankId rank, Operation operation) {
    switch (operation) {
        case Operation::broadcast:
            return binomial_broadcast(rotation, rank);
        case Operation::reduce:
            return binomial_reduce(rotation, rank);
        case Operation::gather:
            return binomial_gather(rotation, rank, BlockNumbers::by_rank);
        case Operation::scatter:
            return binomial_scatter(rotation, rank, BlockNumbers::by_rank);
        case Operation::barrier:
            return barrier(rotation, rank);
        default:
            return joined(binomial_reduce(rotation, rank), binomial_broadcast(rotation, rank));
    }
}

Schedule make(const Communicator& communicator, const Request& request) {
    const Rotation rotation{static_cast<std::uint32_t>(communicator.size()),
                            has_root(request.operation) ? request.root : RankId{0}};
    const bool has_blocks = request.operation == Operation::gather || request.operation == Operation::scatter;
    return {.algorithm = "binomial-tree",
            .operation = request.operation,
            .ranks = rotation.ranks,
            .chunks = has_blocks ? rotation.ranks : 1,
            .root = request.root,
            .program = [rotation, operation = request.operation](RankId rank) {
                return rotation.ranks == 1 ? RankProgram{}
                                           : RankProgram{{.blocks = {{.body = steps_of(rotation, rank, operation)}}}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const bool both_ways = request.operation == Operation::all_reduce || request.operation == Operation::barrier;
    return (both_ways ? 2 : 1) * static_cast<double>(communicator.size() - 1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const double n = ranks;
    const double steps = ceil_log2(ranks);
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    // On the way up, subtrees that lack ranks are early, and their messages meet others at the parent's port: never
    // later than this, but not in step.
    const auto upwards = std::has_single_bit(ranks) ? Cost::Holds::exactly : Cost::Holds::approximately;
    switch (request.operation) {
        case Operation::broadcast:
            return {.alphas = steps, .bytes = steps * bytes, .formula = "⌈log2 n⌉(α + S/B)", .source = source};
        case Operation::reduce:
            return {.alphas = steps,
                    .bytes = steps * bytes,
                    .holds = upwards,
                    .formula = "⌈log2 n⌉(α + S/B)",
                    .source = source};
        case Operation::gather:
        case Operation::scatter:
            return {.alphas = steps,
                    .bytes = (n - 1) / n * bytes,
                    .holds = request.operation == Operation::gather ? upwards : Cost::Holds::exactly,
                    .formula = "⌈log2 n⌉α + (n-1)/n S/B",
                    .source = source};
        case Operation::barrier:
            // The number of rank n-1 or of one before it has so many bits set, none has more.
            return {.alphas = 2.0 * (std::bit_width(ranks) - 1), .formula = "2⌊log2 n⌋α", .source = "derived"};
        default:
            return {.alphas = 2 * steps,
                    .bytes = 2 * steps * bytes,
                    .holds = upwards,
                    .formula = "2⌈log2 n⌉(α + S/B)",
                    .source = source};
    }
}

}  // namespace

Algorithm binomial_tree_algorithm() {
    return {.name = "binomial-tree",
            .summary = "those that have the data double in every step: few messages, for short vectors",
            .operations = {Operation::broadcast, Operation::reduce, Operation::all_reduce, Operation::gather,
                           Operation::scatter, Operation::barrier},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
