#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/binomial.h"
#include "sim/collective/circle.h"
#include "sim/collective/peers.h"

// Partners at distances 1, 2, 4, ... round the circle of ranks, all in the same direction, so that the number of ranks
// need not be a power of two: ceil(log2 n) steps for any n. An all-gather sends all it has in each step (in the last,
// what is still missing); a reduce-scatter is the same backwards, and both together are an all-reduce. In an all-to-all
// a block travels by the binary digits of its distance, many blocks in one message: few steps, but each byte is sent
// about log2(n)/2 times. Empty messages in this pattern are the dissemination barrier. Source: Bruck, Ho, Kipnis, Upfal
// and Weathersby (1997), "Efficient algorithms for all-to-all communications in multiport message-passing systems";
// Hensgen, Finkel and Manber (1988), "Two algorithms for barrier synchronization"; Träff (2024), "Optimal,
// non-pipelined reduce-scatter and allreduce algorithms".

namespace lockstep::collective {

namespace {

/// Of all distances that a block can travel, those that have the step's digit.
std::shared_ptr<const std::vector<std::uint32_t>> travelling(std::uint32_t ranks, std::uint32_t digit) {
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = digit; slot < ranks; ++slot) {
        if ((slot & digit) != 0) {
            slots.push_back(slot);
        }
    }
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(slots));
}

/// Slot i of the scratch space holds, all the time, a block that has i ranks to go in all. The rotations of the
/// textbook at the beginning and the end are only this numbering.
std::vector<Block> exchange(const Circle& circle) {
    const std::uint32_t n = circle.ranks;
    // Before: slot i is for the rank i ahead. After: it came from the rank i behind. Own blocks are in place already.
    const Block number{.iterations = n - 1,
                       .body = {{.verb = Verb::copy,
                                 .buffer = Buffer::scratch,
                                 .chunk = {.first = 1, .stride = 1, .modulus = n},
                                 .from_buffer = Buffer::data,
                                 .from = {.first = (circle.rank + 1) % n, .stride = 1, .modulus = n}}}};
    const Block deliver{.iterations = n - 1,
                        .body = {{.verb = Verb::copy,
                                  .buffer = Buffer::received,
                                  .chunk = {.first = (circle.rank + n - 1) % n, .stride = -1, .modulus = n},
                                  .from_buffer = Buffer::scratch,
                                  .from = {.first = 1, .stride = 1, .modulus = n}}}};
    Block travel;
    for (const std::uint32_t d : circle.distances()) {
        const auto slots = travelling(n, d);
        travel.body.push_back(
            {.verb = Verb::send, .buffer = Buffer::scratch, .peer = circle.ahead(d), .chunks = slots});
        travel.body.push_back(
            {.verb = Verb::receive, .buffer = Buffer::scratch, .peer = circle.behind(d), .chunks = slots});
    }
    return {number, travel, deliver};
}

std::vector<Block> blocks_of(const Circle& circle, Operation operation) {
    std::vector<Instruction> steps;
    switch (operation) {
        case Operation::all_to_all:
            return exchange(circle);
        case Operation::all_gather:
            circle.gather(steps);
            break;
        case Operation::reduce_scatter:
            circle.reduce(steps);
            break;
        case Operation::barrier:
            for (const std::uint32_t d : circle.distances()) {
                steps.push_back({.verb = Verb::send, .peer = circle.ahead(d)});
                steps.push_back({.verb = Verb::receive_reduce, .peer = circle.behind(d)});
            }
            break;
        default:
            circle.reduce(steps);
            circle.gather(steps);
            break;
    }
    return {{.body = std::move(steps)}};
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const bool exchanges = request.operation == Operation::all_to_all;
    return {.algorithm = "bruck",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = request.operation == Operation::barrier ? 1 : ranks,
            .scratch_chunks = exchanges ? ranks : 0,
            .result = exchanges ? Buffer::received : Buffer::data,
            .program = [ranks, operation = request.operation](RankId rank) {
                return ranks == 1
                           ? RankProgram{}
                           : RankProgram{{.blocks = blocks_of({ranks, static_cast<std::uint32_t>(rank)}, operation)}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return (request.operation == Operation::all_reduce ? 2.0 : 1.0) * ranks * ceil_log2(ranks);
}

/// How often the average block of an all-to-all is sent: the binary digits of all distances, over n.
double times_sent(std::uint32_t ranks) {
    std::size_t blocks = 0;
    for (const std::uint32_t d : Circle{ranks, 0}.distances()) {
        blocks += travelling(ranks, d)->size();
    }
    return static_cast<double>(blocks) / ranks;
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const double n = ranks;
    const double steps = ceil_log2(ranks);
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997";
    switch (request.operation) {
        case Operation::all_to_all:
            return {.alphas = steps,
                    .bytes = times_sent(ranks) * bytes,
                    .formula = fmt::format("⌈log2 n⌉α + b/n S/B, b = {:.0f} (n/2 ⌈log2 n⌉ if n is a power of two)",
                                           times_sent(ranks) * n),
                    .source = source};
        case Operation::barrier:
            return {.alphas = steps, .formula = "⌈log2 n⌉α", .source = "Hensgen, Finkel and Manber 1988"};
        case Operation::all_reduce:
            return {.alphas = 2 * steps,
                    .bytes = 2 * (n - 1) / n * bytes,
                    .formula = "2⌈log2 n⌉α + 2(n-1)/n S/B",
                    .source = "Träff 2024"};
        default:
            return {.alphas = steps,
                    .bytes = (n - 1) / n * bytes,
                    .formula = "⌈log2 n⌉α + (n-1)/n S/B",
                    .source = request.operation == Operation::all_gather ? source : "Träff 2024"};
    }
}

}  // namespace

Algorithm bruck_algorithm() {
    return {.name = "bruck",
            .summary = "partners 1, 2, 4, ... ranks on, round a circle: ceil(log2 n) steps for any number of ranks",
            .operations = {Operation::all_gather, Operation::reduce_scatter, Operation::all_reduce,
                           Operation::all_to_all, Operation::barrier},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
