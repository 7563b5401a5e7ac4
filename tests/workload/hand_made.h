#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/load_workload.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload::test {

inline fabric::GpuModel h100() {
    return {.name = "H100",
            .fp16_peak = FlopRate{989e12},
            .fp8_peak = FlopRate{1979e12},
            .fp32_peak = FlopRate{67e12},
            .memory_bandwidth = Bandwidth{3.35e12}};
}

inline fabric::GpuModel v100() {
    return {.name = "V100", .fp16_peak = FlopRate{125e12}, .memory_bandwidth = Bandwidth{0.9e12}};
}

/// GPUs `gpu0`, `gpu1`, ... of the given models on one switch.
inline fabric::Fabric cluster(const std::vector<fabric::GpuModel>& models) {
    fabric::FabricBuilder builder("cluster");
    const VertexId hub = builder.add({.name = "hub", .kind = fabric::VertexKind::switch_});
    for (std::size_t i = 0; i < models.size(); ++i) {
        const VertexId gpu = builder.add({.name = fmt::format("gpu{}", i), .kind = fabric::VertexKind::gpu});
        builder.set_gpu_model(gpu, models[i]);
        builder.connect(gpu, hub, {.bandwidth = Bandwidth{50e9}, .line_rate = Bandwidth{50e9}});
    }
    return builder.build();
}

inline fabric::Fabric cluster(std::size_t gpus) { return cluster(std::vector(gpus, h100())); }

inline DataFiles data() { return DataFiles(LOCKSTEP_SOURCE_DIR); }

inline TaskGraph load(std::string_view yaml, const fabric::Fabric& fabric) {
    return load_workload(YamlFile::parse(yaml, "job.yaml"), data(), fabric);
}

using Settings = std::vector<std::pair<std::string, std::string>>;

inline TaskGraph load_shipped(const std::string& name, const fabric::Fabric& fabric, const Settings& settings = {}) {
    YamlFile file = YamlFile::load(data().resolve("workloads", name));
    for (const auto& [parameter, value] : settings) {
        file.parameters().set(parameter, value);
    }
    return load_workload(file, data(), fabric);
}

/// The end of each task of the last step, in seconds from its start, when every rank is alike and a collective takes
/// `time_of` its bytes: streams run their tasks in order, a task waits for those in `after`.
inline std::vector<double> ends_of_last_step(const TaskGraph& graph, const std::function<double(Bytes)>& time_of) {
    std::vector<double> stream_free(graph.streams.size(), 0.0);
    std::vector<double> ends;
    double step_start = 0;
    for (std::uint32_t step = 0; step < graph.steps; ++step) {
        step_start = *std::max_element(stream_free.begin(), stream_free.end());
        ends.clear();
        for (const Task& task : graph.programs.front()) {
            double start = stream_free.at(index(task.stream));
            for (const TaskId before : task.after) {
                start = std::max(start, ends.at(index(before)));
            }
            const double duration =
                task.call ? time_of(graph.calls.at(index(*task.call)).request.bytes) : task.duration.value;
            ends.push_back(start + duration);
            stream_free[index(task.stream)] = ends.back();
        }
    }
    for (double& end : ends) {
        end -= step_start;
    }
    return ends;
}

inline double step_time(const TaskGraph& graph, const std::function<double(Bytes)>& time_of) {
    const std::vector<double> ends = ends_of_last_step(graph, time_of);
    return *std::max_element(ends.begin(), ends.end());
}

}  // namespace lockstep::workload::test
