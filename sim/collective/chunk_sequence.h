#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The index that takes these values in iterations 0, 1, ..., if there is one of the form offset + (first + stride *
/// iteration) mod modulus that stays below `limit` in any iteration. Cost: linear.
std::optional<ChunkIndex> index_of_sequence(std::span<const std::uint32_t> values, std::uint32_t limit);

/// One that visits the values in their order (ChunkIndex::order), if they are all different and below `limit`.
/// Cost: linear in the limit.
std::optional<ChunkIndex> index_of_visits(std::span<const std::uint32_t> values, std::uint32_t limit);

}  // namespace lockstep::collective
