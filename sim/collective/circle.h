#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// A rank on the circle of all, whose partners are 1, 2, 4, ... ranks away: any number of ranks, ceil(log2 ranks)
/// steps.
struct Circle {
    std::uint32_t ranks = 1;
    std::uint32_t rank = 0;

    RankId ahead(std::uint32_t distance) const { return id_at<RankId>((std::size_t{rank} + distance) % ranks); }
    RankId behind(std::uint32_t distance) const { return id_at<RankId>((rank + ranks - distance) % ranks); }
    /// 1, 2, 4, ... below the number of ranks.
    std::vector<std::uint32_t> distances() const;

    /// All-gather of one block per rank: after the step over d a rank has the blocks of the 2d ranks from itself on;
    /// the last step carries what is missing. Source: Bruck, Ho, Kipnis, Upfal and Weathersby (1997).
    void gather(std::vector<Instruction>& steps) const;
    /// Reduce-scatter, the same backwards: before the step over d a rank has sums for the 2d ranks from itself on.
    /// Source: Träff (2024), "Optimal, non-pipelined reduce-scatter and allreduce algorithms".
    void reduce(std::vector<Instruction>& steps) const;
};

}  // namespace lockstep::collective
