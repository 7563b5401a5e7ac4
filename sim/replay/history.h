#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/replay/cast.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// When a task of a rank started and ended.
struct Interval {
    Seconds start;
    Seconds end;
};

/// The intervals of the last two steps of a training job, of those who play it: the reported one, and the one before,
/// in which waits of the reported one may have begun.
class History {
  public:
    /// Both must outlive it.
    History(const workload::TaskGraph& graph, const Cast& cast);

    /// Whether intervals of this step are kept.
    bool keeps(std::uint32_t step) const { return step + 2 >= steps_; }
    /// Requires: keeps(step).
    Interval& at(std::uint32_t step, ActorId actor, workload::TaskId task) {
        return intervals_[place(step, actor, task)];
    }
    const Interval& at(std::uint32_t step, ActorId actor, workload::TaskId task) const {
        return intervals_[place(step, actor, task)];
    }
    /// The end of the actor's last task of a step. Time 0 for the step before the first.
    Seconds end_of(std::uint32_t step, ActorId actor) const;

    const workload::TaskGraph& graph() const { return *graph_; }
    const Cast& cast() const { return *cast_; }
    std::size_t actor_count() const { return cast_->actors().size(); }
    const workload::Program& program(ActorId actor) const {
        return graph_->programs[graph_->program_of_rank[index(cast_->rank_of(actor))]];
    }
    std::uint32_t last_step() const { return steps_ - 1; }

  private:
    std::size_t place(std::uint32_t step, ActorId actor, workload::TaskId task) const {
        return (step % 2) * half_ + first_of_actor_[index(actor)] + static_cast<std::size_t>(task);
    }

    const workload::TaskGraph* graph_;
    const Cast* cast_;
    std::uint32_t steps_;
    std::vector<std::size_t> first_of_actor_;
    std::size_t half_ = 0;
    std::vector<Interval> intervals_;
};

}  // namespace lockstep::replay
