#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/replay/choice.h"
#include "sim/replay/replay.h"
#include "sim/replay/units.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// What the calls of a job are played from.
struct Script {
    std::uint32_t communicator = 0;  ///< of the graph
    std::string algorithm{};         ///< the chosen one where the call says `auto`
    Bytes bytes{};
    collective::Schedule schedule{};
};

/// Of other operations than a barrier, no data means nothing to do; and so does a rank alone.
bool costs_nothing(const workload::TaskGraph& graph, const workload::CollectiveCall& call);

/// The scripts of a job. Calls that ask the same of the same communicator share one.
class Scripts {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Makes all of them. units: of the job's placement. All must outlive it.
    /// Throws: InputError, SimulationError as chosen_algorithm.
    Scripts(const fabric::Fabric& fabric, const Units& units, const workload::TaskGraph& graph,
            const Settings& settings);

    std::size_t size() const { return scripts_.size(); }
    const Script& operator[](std::uint32_t script) const { return *scripts_[script]; }
    /// Its number; none where the call costs nothing.
    std::uint32_t of(workload::CallId call) const { return script_of_call_[static_cast<std::size_t>(call)]; }
    /// Requires: a script of the communicator.
    const collective::Communicator& communicator(std::uint32_t at) const { return *communicators_[at]; }

  private:
    std::uint32_t script_for(const workload::CollectiveCall& call);

    const fabric::Fabric* fabric_;
    const Units* units_;
    const workload::TaskGraph* graph_;
    ChoiceMemory choices_;
    std::vector<std::unique_ptr<const collective::Communicator>> communicators_;  ///< by number in the graph
    std::vector<std::unique_ptr<const Script>> scripts_;
    std::vector<std::uint32_t> script_of_call_;
    std::map<std::tuple<std::uint32_t, collective::Operation, std::int64_t, std::size_t, std::string>, std::uint32_t>
        known_;
};

}  // namespace lockstep::replay
