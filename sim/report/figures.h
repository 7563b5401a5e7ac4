#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sim/base/units.h"
#include "sim/collective/schedule.h"
#include "sim/replay/result.h"
#include "sim/workload/task_graph.h"

namespace lockstep::report {

/// Figures of a training step that follow from its result, worked out here only, so that all reports agree.
struct StepFigures {
    replay::RankTime mean;   ///< over GPUs; the parts sum to the step time
    double idle_mean = 0.0;  ///< GPU idle fraction: 1 - compute / step time; 0 for a step that takes no time
    double idle_min = 0.0;
    double idle_max = 0.0;
    std::optional<double> tokens_per_s;   ///< where the workload counts tokens and the step takes time
    std::optional<double> samples_per_s;  ///< where the workload counts samples and the step takes time
    std::optional<double> mfu;            ///< model FLOPs per step / (step time * GPUs * peak)
};

/// Cost: linear in the number of ranks.
StepFigures step_figures(const replay::StepRun& result, const workload::TaskGraph& graph);

/// Bytes over time, as nccl-tests defines it. None when no time passed: then there is no rate.
std::optional<Bandwidth> algbw(Bytes bytes, Seconds time);
/// algbw times collective::busbw_factor.
std::optional<Bandwidth> busbw(collective::Operation operation, std::size_t ranks, Bytes bytes, Seconds time);

/// The link with the highest utilization. Links within 1e-9 of each other count as equal and the first of them is
/// taken, so that the last bit of a sum does not choose among symmetric links. None if nothing was used.
std::optional<replay::LinkUse> busiest_link(std::span<const replay::LinkUse> links);

/// lower bound / time: 1 is the best there can be. None when no time passed.
std::optional<double> efficiency(const replay::CollectiveRun& run);

/// The sum over the rows.
replay::SimulatorUse total_use(std::span<const replay::CollectiveRun> rows);

}  // namespace lockstep::report
