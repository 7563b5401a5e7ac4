#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/data_parallel.h"

namespace lockstep::workload {

/// The optimizer's step: a time, or what it reads and writes of the GPU's memory.
struct Optimizer {
    Seconds time;
    double bytes = 0;       ///< to and from memory, if not given as a time
    double efficiency = 1;  ///< part of the memory's bandwidth that is reached
    std::optional<YamlValue> in_bytes;
};

/// The rate of compute: the peak of a precision and the part of it that is reached.
struct Compute {
    std::string precision;
    double efficiency = 1;
    YamlValue position;
};

/// Where the ranks may be: the GPUs of the topology, or those of a placement.
struct Places {
    const fabric::Fabric& fabric;
    std::span<const VertexId> placement;

    std::size_t size() const { return placement.empty() ? fabric.gpus().size() : placement.size(); }
};

/// What a rank on this GPU computes with, and the peak that it is a part of.
struct Speed {
    GpuSpeed gpu;
    std::optional<FlopRate> peak;
};

/// The speed of each rank as an index into the distinct ones.
struct Speeds {
    std::vector<Speed> distinct;
    std::vector<std::uint32_t> of_rank;
};

/// The speeds of the GPUs that the ranks are on.
/// compute: absent where layers are given as times.
/// Throws: InputError at the precision for a GPU without a peak in it, at the optimizer's bytes for one without a
/// memory bandwidth.
Speeds speeds_of(const Places& places, std::size_t ranks, const std::optional<Compute>& compute,
                 const Optimizer& optimizer);

}  // namespace lockstep::workload
