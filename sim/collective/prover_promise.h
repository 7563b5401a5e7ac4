#pragma once

#include <cstdint>

#include "sim/collective/prover.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What an operation promises of a chunk of the result.
struct Due {
    enum class Kind : std::uint8_t {
        anything,    ///< nothing is promised
        one,         ///< the contribution of `rank` to `chunk`
        all,         ///< one contribution to `chunk` of each rank
        all_others,  ///< at least one of every rank but oneself
    };
    Kind kind = Kind::anything;
    std::uint32_t rank = 0;
    std::uint32_t chunk = 0;
};

/// Of the chunk with this number in the result of `rank`. Requires: the schedule is well-formed.
Due due_at(const Schedule& schedule, std::uint32_t rank, std::uint32_t chunk);

/// Whether the rank's own contribution to the chunk is in its `buffer` at the start. Requires: the schedule is
/// well-formed.
bool is_there_at_start(const Schedule& schedule, std::uint32_t rank, Buffer buffer, std::uint32_t chunk);

}  // namespace lockstep::collective
