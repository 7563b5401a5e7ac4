#pragma once

#include <cstdint>
#include <string>

#include "sim/base/ids.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// An operation done by switches that add up and copy for all ranks at once. Every rank is the head of a part of the
/// data, of broadcast and reduce the root of all of it: a head reads the sums over all ranks of its part, or writes it
/// to all, piece by piece.
struct HeadPlan {
    Operation operation = Operation::all_reduce;
    std::uint32_t ranks = 1;
    std::uint32_t pieces = 1;  ///< of each head's part
    RankId root{};
};

/// Requires: the operation is all_reduce, reduce_scatter, all_gather, broadcast or reduce.
Schedule head_schedule(std::string algorithm, const HeadPlan& plan);

}  // namespace lockstep::collective
