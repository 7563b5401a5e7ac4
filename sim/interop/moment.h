#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/schedule.h"

namespace lockstep::interop {

/// Consecutive chunks of a buffer of ours.
struct Run {
    collective::Buffer buffer = collective::Buffer::data;
    std::uint32_t first = 0;
    std::uint32_t count = 1;
};

/// An instruction in one iteration of its loop, its chunks as runs.
struct Moment {
    const collective::Instruction* instruction = nullptr;
    std::vector<Run> runs = {};  ///< none of signal, wait and drain
    Run from = {};               ///< of copy and reduce
};

/// moved_on: by how much the round of the thread has moved chunk numbers. The instruction must outlive it.
Moment moment_of(const collective::Instruction& instruction, std::uint32_t iteration, std::uint32_t moved_on);
/// Whether it reads or writes chunks of the buffer.
bool uses(const Moment& moment, collective::Buffer buffer);
/// Chunks of all runs.
std::uint32_t chunk_count(const Moment& moment);

}  // namespace lockstep::interop
