#include "sim/collective/block_run.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep::collective {

Instruction for_circular_run(Instruction instruction, std::uint32_t first, std::uint32_t count, std::uint32_t modulus) {
    first %= modulus;
    if (first + count <= modulus) {
        instruction.chunk = {.offset = first};
        instruction.count = count;
        return instruction;
    }
    std::vector<std::uint32_t> chunks;
    for (std::uint32_t i = 0; i < count; ++i) {
        chunks.push_back((first + i) % modulus);
    }
    instruction.chunks = std::make_shared<const std::vector<std::uint32_t>>(std::move(chunks));
    return instruction;
}

std::vector<Instruction> one_at_a_time(const std::vector<Instruction>& steps) {
    std::vector<Instruction> result;
    std::optional<RankId> last;
    for (const Instruction& step : steps) {
        if (step.verb == Verb::send) {
            if (last) {
                result.push_back({.verb = Verb::drain, .peer = *last});
            }
            last = step.peer;
        }
        result.push_back(step);
    }
    return result;
}

}  // namespace lockstep::collective
