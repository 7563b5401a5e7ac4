#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/engine/engine.h"
#include "sim/fabric/route.h"
#include "sim/replay/result.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// Whether nodes that are alike may be simulated by one of them, which changes no result but by rounding.
enum class Folding : std::uint8_t { off, on };

/// Whether a step's result holds what each stream did when (StepRun::spans), which grows with ranks times tasks.
enum class Timeline : std::uint8_t { left_out, kept };

/// How simulations are run.
struct Settings {
    engine::MakeEngine make_engine = nullptr;
    /// Over the fabric of the communicator or job; keeps what it has found from run to run. Required.
    fabric::Router* router = nullptr;
    Folding folding = Folding::off;
    /// Where folding is on: how many messages there must be for alike threads to be looked for, which costs about as
    /// much as simulating some thousands.
    double fold_threads_from = 2e4;
    std::size_t threads = 1;  ///< on how many alike nodes are looked for; at least 1
    Timeline timeline = Timeline::kept;
    /// A collective that would take longer is given up: its time is then infinite.
    Seconds limit{std::numeric_limits<double>::infinity()};
    /// Told now and then how far a long simulation is: simulated time and messages so far. May be empty.
    std::function<void(Seconds now, std::uint64_t messages)> on_progress;
};

/// Runs one collective with every rank starting at time 0.
/// algorithm: a name of the table, or `auto` for the one with the least simulated time (ties to the first of the
/// table). Throws: InputError for an algorithm that does not do this operation or cannot serve this communicator
/// (saying why); SimulationError if the schedule cannot finish, naming the waiting ranks and what each waits for.
CollectiveRun run_collective(const collective::Communicator& communicator, const collective::Request& request,
                             std::string_view algorithm, const Settings& settings);

/// Runs a schedule as it is (from a file, or made by hand). Throws: as run_collective.
CollectiveRun run_schedule(const collective::Communicator& communicator, const collective::Schedule& schedule,
                           Bytes bytes, const Settings& settings);

/// Runs the steps of a training job and reports the last.
/// placement: rank of the job -> GPU.
/// Throws: SimulationError if the job cannot finish (naming the waiting ranks), InputError for an algorithm that cannot
/// be used.
StepRun run_training(const fabric::Fabric& fabric, std::span<const VertexId> placement,
                     const workload::TaskGraph& graph, const Settings& settings);

}  // namespace lockstep::replay
