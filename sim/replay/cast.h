#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/replay/fold.h"
#include "sim/replay/prepared_schedule.h"
#include "sim/replay/program_calls.h"
#include "sim/replay/scripts.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// Who simulates a training job: all of its ranks, or of those that are alike one; and what each plays in which calls.
class Cast {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// A call as it is played.
    struct Call {
        workload::CallId original{};  ///< the call; of a fold, one of those that it stands for
        std::uint32_t places = 0;
        std::shared_ptr<PreparedSchedule> schedule = nullptr;
    };
    /// Where an actor stands in a call.
    struct Place {
        std::uint32_t call = none;  ///< index into calls(); none if it costs nothing
        RankId at{};
    };

    /// Every rank plays itself.
    Cast(const workload::TaskGraph& graph, const Scripts& scripts);
    /// One rank of each kind plays for all; a rank may then stand in several places of one call. fold: of the job; must
    /// outlive it.
    Cast(const workload::TaskGraph& graph, const Scripts& scripts, const ProgramCalls& calls, const Fold& fold);

    /// The ranks that play, by ActorId.
    std::span<const RankId> actors() const { return actors_; }
    RankId rank_of(ActorId actor) const { return actors_[index(actor)]; }
    ActorId actor_of(RankId rank) const {
        return fold_ == nullptr ? id_at<ActorId>(index(rank)) : fold_->actor_of(rank);
    }
    /// How many ranks it plays for, itself included.
    std::uint32_t stands_for(ActorId actor) const { return fold_ == nullptr ? 1 : fold_->stands_for(actor); }
    bool is_folded() const { return fold_ != nullptr; }

    std::span<const Call> calls() const { return calls_; }
    /// Requires: the task is a call.
    const Place& place_of(ActorId actor, workload::TaskId task) const {
        return places_[first_place_[index(actor)] + index(task)];
    }

  private:
    void add_actor(const workload::TaskGraph& graph, RankId rank);

    const Fold* fold_ = nullptr;
    std::vector<RankId> actors_;
    std::vector<Call> calls_;
    std::vector<std::size_t> first_place_;  ///< by ActorId
    std::vector<Place> places_;             ///< by actor and task
};

}  // namespace lockstep::replay
