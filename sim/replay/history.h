#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// When a task of a rank started and ended.
struct Interval {
    Seconds start;
    Seconds end;
};

/// The intervals of the last two steps of a training job: the reported one, and the one before, in which waits of the
/// reported one may have begun.
class History {
  public:
    explicit History(const workload::TaskGraph& graph);

    /// Whether intervals of this step are kept.
    bool keeps(std::uint32_t step) const { return step + 2 >= steps_; }
    /// Requires: keeps(step).
    Interval& at(std::uint32_t step, RankId rank, workload::TaskId task) { return intervals_[place(step, rank, task)]; }
    const Interval& at(std::uint32_t step, RankId rank, workload::TaskId task) const {
        return intervals_[place(step, rank, task)];
    }
    /// The end of the rank's last task of a step. Time 0 for the step before the first.
    Seconds end_of(std::uint32_t step, RankId rank) const;

    const workload::TaskGraph& graph() const { return *graph_; }
    const workload::Program& program(RankId rank) const {
        return graph_->programs[graph_->program_of_rank[index(rank)]];
    }
    std::uint32_t last_step() const { return steps_ - 1; }

  private:
    std::size_t place(std::uint32_t step, RankId rank, workload::TaskId task) const {
        return (step % 2) * half_ + first_of_rank_[index(rank)] + static_cast<std::size_t>(task);
    }

    const workload::TaskGraph* graph_;
    std::uint32_t steps_;
    std::vector<std::size_t> first_of_rank_;
    std::size_t half_ = 0;
    std::vector<Interval> intervals_;
};

}  // namespace lockstep::replay
