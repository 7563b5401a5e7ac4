#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/port_model.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/result.h"
#include "sim/workload/task_graph.h"

namespace lockstep::report {

/// A parameter of a file and the value it had.
struct ParameterInForce {
    std::string name;
    std::string text;
};

/// The choices a result was made with: what a reader needs to make it again.
struct Setup {
    std::string engine;          ///< `fluid`
    std::string engine_summary;  ///< one line; says what the engine does with correction factors
    fabric::RoutingPolicy routing = fabric::RoutingPolicy::static_;
    std::uint64_t seed = 1;
    std::vector<ParameterInForce> topology_parameters = {};
    std::vector<ParameterInForce> workload_parameters = {};
};

/// What a run took of the machine it ran on. The only figures of a report that differ from run to run.
struct MachineUse {
    Seconds wall;
    Bytes peak_rss;
};

/// A training step and everything its reports speak of. What it refers to must outlive it.
struct StepReport {
    const fabric::Fabric& fabric;
    const workload::TaskGraph& graph;
    std::span<const VertexId> placement;  ///< rank of the job -> GPU
    const replay::StepRun& result;
    const Setup& setup;
    std::optional<MachineUse> machine = {};
};

/// A table of collectives run one by one and everything its reports speak of. What it refers to must outlive it.
struct CollectiveReport {
    const fabric::Fabric& fabric;
    std::span<const VertexId> placement;  ///< rank -> GPU
    collective::Operation operation = collective::Operation::all_reduce;
    RankId root{};          ///< where the operation has one
    std::string algorithm;  ///< as asked for: `auto`, `all`, a name or names
    std::span<const replay::CollectiveRun> rows;
    const Setup& setup;
    std::optional<collective::PortModel> model = {};  ///< what formulas are worked out with; none for one rank
    std::vector<std::string> notes = {};              ///< one line each, of what the reader should know about the rows
    std::optional<MachineUse> machine = {};
};

/// Where one flow is striped over several links, a line each: over the switch planes of an island, over a GPU's NICs.
std::vector<std::string> striping(const fabric::Fabric& fabric);

/// What the results rest on, a line each: engine, routing, seed, and where one flow is striped over several links.
std::vector<std::string> assumptions(const fabric::Fabric& fabric, const Setup& setup);

}  // namespace lockstep::report
