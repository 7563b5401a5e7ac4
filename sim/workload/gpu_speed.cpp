#include "sim/workload/gpu_speed.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/collective/communicator.h"

namespace lockstep::workload {

namespace {

std::string described(const fabric::Fabric& fabric, VertexId gpu) {
    const std::string& model = fabric.gpu_model(gpu).name;
    return fmt::format("GPU {}{}", excerpt(fabric.vertex(gpu).name),
                       model.empty() ? "" : fmt::format(" ({})", shown(model, 60)));
}

/// The peak of a GPU in the precision of the workload.
FlopRate peak_of(const fabric::Fabric& fabric, VertexId gpu, const Compute& compute) {
    const fabric::GpuModel& model = fabric.gpu_model(gpu);
    const std::array<std::pair<std::string_view, std::optional<FlopRate>>, 3> peaks{
        {{"fp16_peak", model.fp16_peak}, {"fp8_peak", model.fp8_peak}, {"fp32_peak", model.fp32_peak}}};
    const auto& [key, peak] = peaks.at(compute.precision == "fp8" ? 1 : compute.precision == "fp32" ? 2 : 0);
    if (peak) {
        return *peak;
    }
    std::vector<std::string> known;
    for (const auto& [other, rate] : peaks) {
        if (rate) {
            known.push_back(fmt::format("`{}`", other));
        }
    }
    compute.position.fail(fmt::format("the {} of topology {} has no `{}`, which layers in FLOPs need in {}; it has {}",
                                      described(fabric, gpu), excerpt(fabric.name()), key, compute.precision,
                                      known.empty() ? "none at all" : fmt::format("{}", fmt::join(known, ", "))));
}

Speed speed_of(const fabric::Fabric& fabric, VertexId gpu, const std::optional<Compute>& compute,
               const Optimizer& optimizer) {
    Speed speed;
    if (compute) {
        speed.peak = peak_of(fabric, gpu, *compute);
        speed.gpu.rate = *speed.peak * compute->efficiency;
    }
    speed.gpu.optimizer = optimizer.time;
    if (optimizer.in_bytes) {
        const auto bandwidth = fabric.gpu_model(gpu).memory_bandwidth;
        if (!bandwidth) {
            optimizer.in_bytes->fail(fmt::format(
                "the {} of topology {} has no `memory_bandwidth`, which this needs: give it one, or give the "
                "optimizer's `time`",
                described(fabric, gpu), excerpt(fabric.name())));
        }
        speed.gpu.optimizer = Seconds{optimizer.bytes / (bandwidth->value * optimizer.efficiency)};
    }
    return speed;
}

/// Whether all GPUs of the fabric compute and move memory at the same rates.
bool alike(const fabric::Fabric& fabric) {
    const auto rates = [&](VertexId gpu) {
        const fabric::GpuModel& model = fabric.gpu_model(gpu);
        return std::tie(model.fp16_peak, model.fp8_peak, model.fp32_peak, model.memory_bandwidth);
    };
    const VertexId first = fabric.gpus().front();
    return std::ranges::all_of(fabric.gpus(), [&](VertexId gpu) { return rates(gpu) == rates(first); });
}

}  // namespace

Speeds speeds_of(const Places& places, std::size_t ranks, const std::optional<Compute>& compute,
                 const Optimizer& optimizer) {
    const auto speed = [&](VertexId gpu) { return speed_of(places.fabric, gpu, compute, optimizer); };
    Speeds speeds;
    speeds.of_rank.assign(ranks, 0);
    if ((!compute && !optimizer.in_bytes) || alike(places.fabric)) {
        speeds.distinct.push_back(speed(places.fabric.gpus().front()));
        return speeds;
    }
    const std::vector<VertexId> gpus = places.placement.empty()
                                           ? collective::default_placement(places.fabric, ranks)
                                           : std::vector(places.placement.begin(), places.placement.end());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Speed own = speed(gpus[rank]);
        const auto known = std::ranges::find_if(speeds.distinct, [&](const Speed& other) {
            return other.peak == own.peak && other.gpu.optimizer == own.gpu.optimizer;
        });
        speeds.of_rank[rank] = static_cast<std::uint32_t>(known - speeds.distinct.begin());
        if (known == speeds.distinct.end()) {
            speeds.distinct.push_back(own);
        }
    }
    return speeds;
}

}  // namespace lockstep::workload
