#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The instruction, for the `count` chunks from `first` on of `modulus` that are numbered round in a circle: one run,
/// or a list where they pass the end. Requires: count <= modulus; only in blocks of one iteration.
Instruction for_circular_run(Instruction instruction, std::uint32_t first, std::uint32_t count, std::uint32_t modulus);

/// The same steps, but every message is sent when the one before has arrived, as by a blocking send.
std::vector<Instruction> one_at_a_time(const std::vector<Instruction>& steps);

}  // namespace lockstep::collective
