#include "sim/collective/algorithms/entries.h"
#include "sim/collective/peers.h"

// Every rank sends its whole vector to every other, and each adds up for itself. One latency, and n-1 times the data:
// for vectors so short that only the latency counts. The low-latency all-reduce kernels of NCCL 2.27 (symmetric memory,
// "all-gather and local reduction") and of vLLM and TensorRT-LLM ("one-shot", against the "two-shot" that `direct` is)
// work like this.

namespace lockstep::collective {

namespace {

std::vector<Instruction> steps_of(std::uint32_t rank, std::uint32_t ranks) {
    std::vector<Instruction> steps;
    for (std::uint32_t d = 1; d < ranks; ++d) {
        steps.push_back({.verb = Verb::send, .peer = id_at<RankId>((rank + d) % ranks)});
    }
    for (std::uint32_t d = 1; d < ranks; ++d) {
        steps.push_back({.verb = Verb::receive_reduce, .peer = id_at<RankId>((rank + ranks - d) % ranks)});
    }
    return steps;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    return {.algorithm = "one-shot", .operation = request.operation, .ranks = ranks, .program = [ranks](RankId rank) {
                return ranks == 1
                           ? RankProgram{}
                           : RankProgram{{.blocks = {{.body = steps_of(static_cast<std::uint32_t>(rank), ranks)}}}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& /*request*/) {
    const auto n = static_cast<double>(communicator.size());
    return n * (n - 1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    return {.alphas = 1,
            .bytes = (n - 1) * static_cast<double>(request.bytes.value),
            .formula = "α + (n-1) S/B",
            .source = "derived; NCCL 2.27's low-latency kernels"};
}

}  // namespace

Algorithm one_shot_algorithm() {
    return {.name = "one-shot",
            .summary = "everybody's whole vector to everybody: one latency, n-1 times the data, for the shortest",
            .operations = {Operation::all_reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
