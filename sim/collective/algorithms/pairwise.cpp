#include <algorithm>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/exchange_load.h"
#include "sim/collective/peers.h"

// One partner at a time: in step k every rank sends to the one k ahead and receives from the one k behind, and goes on
// when both are done. So no port ever serves two messages at once, which suits fabrics where many flows into one port
// do badly, at the price of n-1 latencies. Ranks k ahead rather than those whose number differs by an exclusive or of
// k: that works for every n, in the same number of steps (Open MPI always does it so; MPICH takes the exclusive or for
// powers of two). Source: Thakur, Rabenseifner and Gropp (2005), "Optimization of collective communication operations
// in MPICH", sections 3.3 and 3.5.

namespace lockstep::collective {

namespace {

std::vector<Instruction> steps_of(std::uint32_t rank, std::uint32_t ranks, Operation operation) {
    const bool reduces = operation == Operation::reduce_scatter;
    std::vector<Instruction> steps;
    for (std::uint32_t k = 1; k < ranks; ++k) {
        const std::uint32_t to = (rank + k) % ranks;
        const std::uint32_t from = (rank + ranks - k) % ranks;
        if (k > 1) {
            steps.push_back({.verb = Verb::drain, .peer = id_at<RankId>((rank + k - 1) % ranks)});
        }
        steps.push_back({.verb = Verb::send, .peer = id_at<RankId>(to), .chunk = {.offset = to}});
        steps.push_back({.verb = reduces ? Verb::receive_reduce : Verb::receive,
                         .buffer = reduces ? Buffer::data : Buffer::received,
                         .peer = id_at<RankId>(from),
                         .chunk = {.offset = reduces ? rank : from}});
    }
    return steps;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const Operation operation = request.operation;
    return {.algorithm = "pairwise",
            .operation = operation,
            .ranks = ranks,
            .chunks = ranks,
            .result = operation == Operation::reduce_scatter ? Buffer::data : Buffer::received,
            .sizes = request.sizes,
            .program = [ranks, operation](RankId rank) {
                return ranks == 1
                           ? RankProgram{}
                           : RankProgram{
                                 {.blocks = {{.body = steps_of(static_cast<std::uint32_t>(rank), ranks, operation)}}}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& /*request*/) {
    const auto n = static_cast<double>(communicator.size());
    return n * (n - 1);
}

/// Bytes of the largest message of each step, added up: what the steps take if none begins before all have ended the
/// last.
Bytes largest_messages(const SizeMatrix& sizes) {
    Bytes sum;
    for (std::uint32_t k = 1; k < sizes.ranks; ++k) {
        Bytes largest;
        for (std::uint32_t rank = 0; rank < sizes.ranks; ++rank) {
            largest = std::max(largest, sizes.at(id_at<RankId>(rank), id_at<RankId>((rank + k) % sizes.ranks)));
        }
        sum += largest;
    }
    return sum;
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const char* const source = "Thakur, Rabenseifner and Gropp 2005";
    if (request.operation == Operation::all_to_all_v) {
        return {.alphas = n - 1,
                .bytes = static_cast<double>(largest_messages(*request.sizes).value),
                .holds = is_even(*request.sizes) ? Cost::Holds::exactly : Cost::Holds::approximately,
                .formula = "(n-1)α + (sum over steps of the largest message)/B",
                .source = source};
    }
    return {.alphas = n - 1,
            .bytes = (n - 1) / n * static_cast<double>(request.bytes.value),
            .formula = "(n-1)α + (n-1)/n S/B",
            .source = source};
}

}  // namespace

Algorithm pairwise_algorithm() {
    return {.name = "pairwise",
            .summary = "one partner at a time, n-1 steps: no port ever serves two messages at once",
            .operations = {Operation::all_to_all, Operation::all_to_all_v, Operation::reduce_scatter},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
