#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/halving.h"
#include "sim/collective/peers.h"

// Reduce-scatter by recursive halving: exchange half of the data with the rank n/2 away, a quarter with the one n/4
// away, and so on; all-gather by recursive doubling, the same backwards; for a reduce, a binomial gather to the root
// instead. As little traffic as a ring in log2 n steps each, but the partners are far apart, so the fabric's core
// carries most of it. Where n is not a power of two, ranks pair up first (halving.h). Source: Thakur, Rabenseifner and
// Gropp (2005), "Optimization of collective communication operations in MPICH", section 4.5; Rabenseifner (2004),
// "Optimization of collective reduction operations".

namespace lockstep::collective {

namespace {

CubeExchange exchange_for(std::size_t ranks, const Request& request) {
    const bool has_blocks =
        request.operation == Operation::reduce_scatter || request.operation == Operation::all_gather;
    const auto count = static_cast<std::uint32_t>(ranks);
    return {.cube = Hypercube(count),
            .rotation = {count, has_root(request.operation) ? request.root : RankId{0}},
            .chunks = has_blocks ? CubeChunks::of_places : CubeChunks::of_corners};
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

std::vector<Instruction> steps_of(const CubeExchange& exchange, std::uint32_t place, Operation operation) {
    if (operation == Operation::all_gather) {
        return exchange.doubling(place);
    }
    std::vector<Instruction> steps = exchange.halving(place);
    if (operation == Operation::reduce) {
        gather_to_root(steps, exchange, place);
    } else if (operation == Operation::all_reduce) {
        for (Instruction& step : exchange.doubling(place)) {
            steps.push_back(std::move(step));
        }
    }
    return steps;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const CubeExchange exchange = exchange_for(communicator.size(), request);
    return {
        .algorithm = "halving-doubling",
        .operation = request.operation,
        .ranks = exchange.cube.places(),
        .chunks = exchange.chunks == CubeChunks::of_places ? exchange.cube.places() : exchange.cube.corners(),
        .root = request.root,
        .program = [exchange, operation = request.operation](RankId rank) {
            return exchange.cube.places() == 1
                       ? RankProgram{}
                       : RankProgram{
                             {.blocks = {{.body = steps_of(exchange, exchange.rotation.place_of(rank), operation)}}}};
        }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const CubeExchange exchange = exchange_for(communicator.size(), request);
    switch (request.operation) {
        case Operation::all_reduce:
            return 2 * exchange.messages();
        case Operation::reduce:
            return exchange.messages() + exchange.cube.corners() - 1;
        default:
            return exchange.messages();
    }
}

/// Once there: halving or doubling, with what pairs add.
struct Pass {
    double alphas;
    double share;  ///< of the vector
};

Pass pass_over(const CubeExchange& exchange) {
    const double corners = exchange.cube.corners();
    Pass pass{.alphas = static_cast<double>(exchange.cube.dimensions()), .share = (corners - 1) / corners};
    if (exchange.cube.pairs() > 0) {
        pass.alphas += 1;
        pass.share += 0.5;
        if (exchange.chunks == CubeChunks::of_places) {
            pass.alphas += 1;
            pass.share += 1.0 / exchange.cube.places();
        }
    }
    return pass;
}

Cost cost(const Communicator& communicator, const Request& request) {
    const CubeExchange exchange = exchange_for(communicator.size(), request);
    const auto bytes = static_cast<double>(request.bytes.value);
    const bool folds = exchange.cube.pairs() > 0;
    const Pass pass = pass_over(exchange);
    const std::string where = folds ? fmt::format(", p = {}", exchange.cube.corners()) : "";
    // Unpaired ranks run ahead and their messages meet those of pairs at a port.
    const auto holds = folds ? Cost::Holds::approximately : Cost::Holds::exactly;
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    switch (request.operation) {
        case Operation::all_reduce:
            return {.alphas = 2 * pass.alphas,
                    .bytes = 2 * pass.share * bytes,
                    .holds = holds,
                    .formula = (folds ? "2(log2(p) + 1) α + (2(p-1)/p + 1) S/B" : "2 log2(n) α + 2(n-1)/n S/B") + where,
                    .source = source};
        case Operation::reduce: {
            const double corners = exchange.cube.corners();
            return {
                .alphas = pass.alphas + exchange.cube.dimensions(),
                .bytes = (pass.share + (corners - 1) / corners) * bytes,
                .holds = holds,
                .formula = (folds ? "(2 log2(p) + 1) α + (2(p-1)/p + 1/2) S/B" : "2 log2(n) α + 2(n-1)/n S/B") + where,
                .source = "Rabenseifner 2004"};
        }
        default:
            return {
                .alphas = pass.alphas,
                .bytes = pass.share * bytes,
                .holds = holds,
                .formula = (folds ? "(log2(p) + 2) α + ((p-1)/p + 1/2 + 1/n) S/B" : "log2(n) α + (n-1)/n S/B") + where,
                .source = source};
    }
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
