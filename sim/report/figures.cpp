#include "sim/report/figures.h"

#include <algorithm>

namespace lockstep::report {

namespace {

/// The mean over ranks, part by part. Requires: at least one rank.
replay::RankTime mean_time(std::span<const replay::RankTime> ranks) {
    replay::RankTime sum{};
    for (const replay::RankTime& rank : ranks) {
        sum.compute += rank.compute;
        for (std::size_t kind = 0; kind < workload::parallelism_count; ++kind) {
            sum.exposed[kind] += rank.exposed[kind];
        }
        sum.pipeline_bubble += rank.pipeline_bubble;
        sum.straggler_wait += rank.straggler_wait;
        sum.overhead += rank.overhead;
    }
    const auto count = static_cast<double>(ranks.size());
    sum.compute = sum.compute / count;
    for (Seconds& part : sum.exposed) {
        part = part / count;
    }
    sum.pipeline_bubble = sum.pipeline_bubble / count;
    sum.straggler_wait = sum.straggler_wait / count;
    sum.overhead = sum.overhead / count;
    return sum;
}

}  // namespace

StepFigures step_figures(const replay::StepRun& result, const workload::TaskGraph& graph) {
    StepFigures figures;
    if (result.ranks.empty()) {
        return figures;
    }
    figures.mean = mean_time(result.ranks);
    if (result.step_time.value <= 0.0) {
        return figures;
    }
    const auto idle = [&](Seconds compute) { return std::clamp(1.0 - compute / result.step_time, 0.0, 1.0); };
    const auto [least, most] = std::ranges::minmax(result.ranks, {}, [](const auto& rank) { return rank.compute; });
    figures.idle_mean = idle(figures.mean.compute);
    figures.idle_min = idle(most.compute);
    figures.idle_max = idle(least.compute);

    const double step_s = result.step_time.value;
    if (graph.tokens_per_step) {
        figures.tokens_per_s = *graph.tokens_per_step / step_s;
    }
    if (graph.samples_per_step) {
        figures.samples_per_s = *graph.samples_per_step / step_s;
    }
    if (graph.model_flops_per_step && graph.peak_per_gpu && graph.peak_per_gpu->value > 0.0) {
        const auto gpus = static_cast<double>(result.ranks.size());
        figures.mfu = *graph.model_flops_per_step / *graph.peak_per_gpu / result.step_time / gpus;
    }
    return figures;
}

std::optional<Bandwidth> algbw(Bytes bytes, Seconds time) {
    if (time.value <= 0.0) {
        return std::nullopt;
    }
    return bytes / time;
}

std::optional<Bandwidth> busbw(collective::Operation operation, std::size_t ranks, Bytes bytes, Seconds time) {
    const std::optional<Bandwidth> rate = algbw(bytes, time);
    if (!rate) {
        return std::nullopt;
    }
    return *rate * collective::busbw_factor(operation, ranks);
}

std::optional<replay::LinkUse> busiest_link(std::span<const replay::LinkUse> links) {
    if (links.empty()) {
        return std::nullopt;
    }
    const double most = std::ranges::max(links, {}, &replay::LinkUse::utilization).utilization;
    return *std::ranges::find_if(links, [&](const auto& use) { return use.utilization >= most * (1.0 - 1e-9); });
}

std::optional<double> efficiency(const replay::CollectiveRun& run) {
    if (run.time.value <= 0.0) {
        return std::nullopt;
    }
    return run.lower_bound / run.time;
}

replay::SimulatorUse total_use(std::span<const replay::CollectiveRun> rows) {
    replay::SimulatorUse sum;
    for (const replay::CollectiveRun& row : rows) {
        sum.messages += row.simulator.messages;
        sum.simulated_messages += row.simulator.simulated_messages;
        sum.events += row.simulator.events;
    }
    return sum;
}

}  // namespace lockstep::report
