#include "sim/collective/block_run.h"

#include <memory>
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

}  // namespace lockstep::collective
