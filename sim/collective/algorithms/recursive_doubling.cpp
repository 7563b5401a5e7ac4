#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/halving.h"
#include "sim/collective/peers.h"

// In step k every rank exchanges all that it has with the rank whose number differs in bit k, so that what a rank knows
// doubles in each step. For an all-reduce that is the whole vector every time: the fewest steps, and log2 n times the
// data, for short vectors. Where n is not a power of two, one rank of each pair gives its vector to the other first
// and gets the result last, as MPICH does. Source: Thakur, Rabenseifner and Gropp (2005), "Optimization of collective
// communication operations in MPICH", sections 3.1 and 4.5.

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

CubeExchange gathering(std::uint32_t ranks) {
    return {.cube = Hypercube(ranks), .rotation = {ranks, RankId{0}}, .chunks = CubeChunks::of_places};
}

std::vector<Instruction> steps_of(std::uint32_t ranks, std::uint32_t rank, Operation operation) {
    switch (operation) {
        case Operation::all_gather:
            return gathering(ranks).doubling(rank);
        case Operation::barrier:
            return exchange_all(Hypercube(ranks), rank, Verb::receive_reduce);
        default:
            return exchange_all(Hypercube(ranks), rank, Verb::receive);
    }
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
    const CubeExchange exchange = gathering(static_cast<std::uint32_t>(communicator.size()));
    if (request.operation == Operation::all_gather) {
        return exchange.messages();
    }
    return static_cast<double>(exchange.cube.corners()) * exchange.cube.dimensions() + 2.0 * exchange.cube.pairs();
}

Cost cost(const Communicator& communicator, const Request& request) {
    const Hypercube cube(static_cast<std::uint32_t>(communicator.size()));
    const auto bytes = static_cast<double>(request.bytes.value);
    const double steps = cube.dimensions();
    const double corners = cube.corners();
    const bool folds = cube.pairs() > 0;
    const std::string where = folds ? fmt::format(", p = {}", cube.corners()) : "";
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    switch (request.operation) {
        case Operation::barrier:
            return {.alphas = steps + (folds ? 2 : 0),
                    .formula = (folds ? "(log2(p) + 2) α" : "log2(n) α") + where,
                    .source = source};
        case Operation::all_gather:
            return {
                .alphas = steps + (folds ? 2 : 0),
                .bytes = ((corners - 1) / corners + (folds ? 0.5 + 1.0 / cube.places() : 0)) * bytes,
                .holds = folds ? Cost::Holds::approximately : Cost::Holds::exactly,
                .formula = (folds ? "(log2(p) + 2) α + ((p-1)/p + 1/2 + 1/n) S/B" : "log2(n) α + (n-1)/n S/B") + where,
                .source = source};
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
