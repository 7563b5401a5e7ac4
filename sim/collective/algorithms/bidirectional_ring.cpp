#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/ring_programs.h"

// Two rings over the same neighbours, one each way round, with half of the data each. As many steps as one ring, with
// blocks of half the size: half the time where the two directions leave a GPU by different links, no difference where
// they share a port. Source: Jain, Sabharwal (2010), "Optimal bucket algorithms for large MPI collectives on torus
// interconnects", for one dimension.

namespace lockstep::collective {

namespace {

/// Each ring and, behind it, the same the other way round: one of the communicator's where it has it, as in meshes.
std::vector<std::vector<RankId>> both_ways(const Communicator& communicator, const Request& request) {
    const std::size_t pairs = std::max(1U, request.tuning.channels.value_or(UINT32_MAX) / 2);
    const auto& all = communicator.rings();
    std::vector<bool> taken(all.size(), false);
    std::vector<std::vector<RankId>> rings;
    for (std::size_t i = 0; i < all.size() && rings.size() < 2 * pairs; ++i) {
        if (taken[i]) {
            continue;
        }
        std::vector<RankId> reversed = all[i];
        // All rings of a mesh start at the same rank, so that equal cycles are equal lists.
        std::reverse(reversed.begin() + 1, reversed.end());
        for (std::size_t j = i + 1; j < all.size(); ++j) {
            if (!taken[j] && all[j] == reversed) {
                taken[j] = true;
                break;
            }
        }
        rings.push_back(all[i]);
        rings.push_back(std::move(reversed));
    }
    return rings;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const auto rings = both_ways(communicator, request);
    if (auto too_fine = chunk_obstacle(communicator.size() * rings.size(), request.tuning.pieces.value_or(1))) {
        return too_fine;
    }
    return ring_obstacle(communicator, rings, std::nullopt, std::nullopt);
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto rings =
        std::make_shared<const RingPrograms>(both_ways(communicator, request), request.tuning.pieces.value_or(1));
    const Operation operation = request.operation;
    return {.algorithm = "bidirectional-ring",
            .operation = operation,
            .ranks = rings->size(),
            .channels = rings->channels(),
            .chunks = rings->chunks(),
            .program = [rings, operation](RankId rank) {
                RankProgram program;
                for (std::uint32_t channel = 0; rings->size() > 1 && channel < rings->channels(); ++channel) {
                    const RingPlace place = rings->place(channel, rank);
                    program.push_back({.channel = channel,
                                       .blocks = operation == Operation::all_reduce       ? rings->all_reduce(place)
                                                 : operation == Operation::reduce_scatter ? rings->reduce_scatter(place)
                                                                                          : rings->all_gather(place)});
                }
                return program;
            }};
}

double passes_of(Operation operation) { return operation == Operation::all_reduce ? 2 : 1; }

double messages(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    return passes_of(request.operation) * n * (n - 1) * static_cast<double>(both_ways(communicator, request).size()) *
           request.tuning.pieces.value_or(1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto rings = both_ways(communicator, request);
    const double at_once = rings_at_once(communicator, rings);
    const double passes = passes_of(request.operation);
    const std::string factor = passes == 1 ? "" : "2";
    const std::string rate = at_once > 1 ? fmt::format("({}B)", at_once) : "B";
    const bool hides_latency = request.tuning.pieces.value_or(1) > 1;
    return {.alphas = hides_latency ? 1 : passes * (n - 1),
            .bytes = passes * (n - 1) / n * static_cast<double>(request.bytes.value) / at_once,
            .holds = hides_latency ? Cost::Holds::approximately : Cost::Holds::exactly,
            .formula = hides_latency ? fmt::format("α + {}(n-1)/n S/{} where blocks take longer than α", factor, rate)
                                     : fmt::format("{0}(n-1)α + {0}(n-1)/n S/{1}", factor, rate),
            .source = "Jain and Sabharwal 2010"};
}

}  // namespace

Algorithm bidirectional_ring_algorithm() {
    return {.name = "bidirectional-ring",
            .summary = "two rings in opposite directions with half of the data each: twice as fast on two links a GPU",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
