#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/block_run.h"
#include "sim/collective/circle.h"
#include "sim/collective/halving.h"
#include "sim/collective/peers.h"

// Reduce-scatter by recursive halving: exchange half of the data with the rank n/2 away, a quarter with the one n/4
// away, and so on; all-gather by recursive doubling, the same backwards; for a reduce, a binomial gather to the root
// instead. As little traffic as a ring in log2 n steps each, but the partners are far apart, so the fabric's core
// carries most of it. Where n is not a power of two, ranks pair up first (halving.h); a reduce-scatter or all-gather
// alone, whose blocks must end with or come from every rank, goes round a circle instead (circle.h). Source: Thakur,
// Rabenseifner and Gropp (2005), "Optimization of collective communication operations in MPICH", section 4.5;
// Rabenseifner (2004), "Optimization of collective reduction operations".

namespace lockstep::collective {

namespace {

CubeExchange exchange_for(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return {.cube = Hypercube(ranks), .rotation = {ranks, has_root(request.operation) ? request.root : RankId{0}}};
}

bool is_one_pass(Operation operation) {
    return operation == Operation::reduce_scatter || operation == Operation::all_gather;
}

/// One pass for blocks of ranks where there is not a power of two of them.
std::vector<Instruction> round_circle(const Circle& circle, Operation operation) {
    std::vector<Instruction> steps;
    if (operation == Operation::reduce_scatter) {
        circle.reduce(steps);
    } else {
        circle.gather(steps);
    }
    return steps;
}

/// What the corners have, to the keeper of corner 0, which is the root: always the highest corner of a pair of groups
/// to the lowest, the groups doubling.
void gather_to_root(std::vector<Instruction>& steps, const CubeExchange& exchange, std::uint32_t place) {
    const std::uint32_t corner = exchange.cube.corner_of(place);
    if (place != exchange.keeper(corner)) {
        return;
    }
    for (std::uint32_t d = 1; d < exchange.cube.corners(); d *= 2) {
        if ((corner & d) != 0) {
            steps.push_back(exchange.message(Verb::send, exchange.keeper(corner - d), corner, d));
            return;
        }
        steps.push_back(exchange.message(Verb::receive, exchange.keeper(corner + d), corner + d, d));
    }
}

std::vector<Instruction> steps_of(const CubeExchange& exchange, RankId rank, Operation operation) {
    const bool folds = exchange.cube.pairs() > 0;
    if (folds && is_one_pass(operation)) {
        return round_circle({exchange.cube.places(), static_cast<std::uint32_t>(rank)}, operation);
    }
    const std::uint32_t place = exchange.rotation.place_of(rank);
    std::vector<Instruction> steps;
    if (operation != Operation::all_gather) {
        steps = exchange.halving(place);
    }
    if (operation == Operation::reduce) {
        gather_to_root(steps, exchange, place);
    } else if (operation != Operation::reduce_scatter) {
        for (Instruction& step : exchange.doubling(place)) {
            steps.push_back(std::move(step));
        }
    }
    return folds ? one_at_a_time(steps) : steps;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const CubeExchange exchange = exchange_for(communicator, request);
    const Operation operation = request.operation;
    return {.algorithm = "halving-doubling",
            .operation = operation,
            .ranks = exchange.cube.places(),
            .chunks = is_one_pass(operation) ? exchange.cube.places() : exchange.cube.corners(),
            .root = request.root,
            .program = [exchange, operation](RankId rank) {
                return exchange.cube.places() == 1
                           ? RankProgram{}
                           : RankProgram{{.blocks = {{.body = steps_of(exchange, rank, operation)}}}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const CubeExchange exchange = exchange_for(communicator, request);
    const std::uint32_t ranks = exchange.cube.places();
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * exchange.messages();
        case Operation::reduce:
            return exchange.messages() + exchange.cube.corners() - 1;
        default:
            return static_cast<double>(ranks) * ceil_log2(ranks);
    }
}

Cost cost(const Communicator& communicator, const Request& request) {
    const Hypercube cube = exchange_for(communicator, request).cube;
    const auto bytes = static_cast<double>(request.bytes.value);
    const double n = cube.places();
    const double p = cube.corners();
    const double steps = cube.dimensions();
    const bool folds = cube.pairs() > 0;
    const bool is_reduce = request.operation == Operation::reduce;
    const char* const source = is_reduce ? "Rabenseifner 2004" : "Thakur, Rabenseifner and Gropp 2005";
    if (is_one_pass(request.operation)) {
        return {.alphas = static_cast<double>(ceil_log2(cube.places())),
                .bytes = (n - 1) / n * bytes,
                .formula = folds ? "⌈log2 n⌉α + (n-1)/n S/B" : "log2(n) α + (n-1)/n S/B",
                .source = folds ? "Bruck et al. 1997; Träff 2024" : source};
    }
    if (!folds) {
        return {.alphas = 2 * steps,
                .bytes = 2 * (n - 1) / n * bytes,
                .formula = "2 log2(n) α + 2(n-1)/n S/B",
                .source = source};
    }
    // A reduce has pairs on the way in only. Corners without a pair are ahead and have to wait, or their messages meet
    // those of pairs at a port: up to two fifths more.
    const double passes = is_reduce ? 1 : 2;
    return {.alphas = 2 * steps + passes,
            .bytes = (2 * (p - 1) / p + passes / 2) * bytes,
            .holds = Cost::Holds::approximately,
            .formula = fmt::format(
                "{}, p = {}",
                is_reduce ? "(2 log2(p) + 1) α + (2(p-1)/p + 1/2) S/B" : "2(log2(p) + 1) α + (2(p-1)/p + 1) S/B",
                cube.corners()),
            .source = source};
}

}  // namespace

Algorithm halving_doubling_algorithm() {
    return {.name = "halving-doubling",
            .summary =
                "exchange halves, quarters, eighths, and back: least traffic in 2 log2 n steps if n is a power "
                "of two, little more if not",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
