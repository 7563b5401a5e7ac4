#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// Which tasks of which programs are which calls.
class ProgramCalls {
  public:
    /// A task that is a call of a communicator's.
    struct Entry {
        std::uint32_t communicator = 0;
        workload::CallId call{};
        workload::TaskId task{};
    };

    /// Cost: O(tasks log tasks). The graph must outlive it.
    explicit ProgramCalls(const workload::TaskGraph& graph);

    /// The calls of one communicator in one program, in the order of their ids.
    std::span<const Entry> of(std::uint32_t program, std::uint32_t communicator) const;
    /// Where a program makes a call; the first place, should there be several.
    std::optional<workload::TaskId> task_of(std::uint32_t program, workload::CallId call) const;

  private:
    const workload::TaskGraph* graph_;
    std::vector<std::vector<Entry>> entries_;  ///< by program; by communicator, call, task
};

}  // namespace lockstep::replay
