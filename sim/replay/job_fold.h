#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/replay/fold.h"
#include "sim/replay/program_calls.h"
#include "sim/replay/scripts.h"

namespace lockstep::replay {

/// A training job, folded: nodes are alike if their ranks' tasks are, and what their calls send to whom.
class JobFold {
  public:
    /// All must outlive it. threads: as of Fold. Cost: as Fold, and O(tasks of all programs + members of all
    /// communicators).
    JobFold(const fabric::Fabric& fabric, const Units& units, fabric::Router& router, const workload::TaskGraph& graph,
            const Scripts& scripts, const ProgramCalls& calls, std::size_t threads);
    JobFold(const JobFold&) = delete;
    JobFold& operator=(const JobFold&) = delete;

    const FoldUse& use() const { return use_; }
    /// Null where nothing is folded.
    const Fold* fold() const { return fold_ && fold_->folds() ? &*fold_ : nullptr; }

  private:
    bool add_groups(const workload::TaskGraph& graph, const Scripts& scripts, const ProgramCalls& calls);
    void add_duties(const workload::TaskGraph& graph, const Scripts& scripts);

    FoldInput input_;
    std::optional<Fold> fold_;
    FoldUse use_;
};

}  // namespace lockstep::replay
