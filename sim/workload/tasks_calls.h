#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/yaml.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload {

/// Ranks that communicate, by a name of the file's.
struct Group {
    std::string name;
    std::vector<RankId> members;  ///< in communicator-rank order
    std::vector<bool> is_member;  ///< by RankId
};

/// A collective call as one program makes it.
struct WrittenCall {
    CollectiveCall call;  ///< communicator: index of its group
    YamlValue at;
    std::optional<YamlValue> algorithm_at = {};
    std::size_t task = 0;  ///< index in its program
};

/// A program of a file and the ranks that run it.
struct WrittenProgram {
    std::vector<RankId> ranks;
    Program tasks;                   ///< without ids of calls
    std::vector<WrittenCall> calls;  ///< in the order of the tasks
};

/// Makes one call of the graph of what the ranks of a group call first, one of what they call second and so on, and
/// tells the tasks. A call that some of them never make is left to wait for them: where that ends, the simulation says.
/// Requires: every member of every group has a program, and makes calls of its own groups only.
/// Throws: SimulationError where two ranks of a group make different calls at the same place, naming both.
void match_calls(const std::vector<Group>& groups, std::vector<WrittenProgram>& programs, TaskGraph& graph);

}  // namespace lockstep::workload
