#pragma once

#include <cstddef>
#include <string>

#include "sim/base/units.h"
#include "sim/engine/engines.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/replay/replay.h"

namespace lockstep::test {

/// GPUs on one non-blocking switch: a message between any two crosses two links.
inline fabric::Fabric star(std::size_t gpus, Bandwidth bandwidth, Seconds latency, bool reduces = false) {
    fabric::FabricBuilder builder("star");
    const NodeId node = builder.add_node();
    const VertexId hub =
        builder.add({.name = "switch", .kind = fabric::VertexKind::switch_, .node = node, .reduces = reduces});
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        const VertexId vertex = builder.add(
            {.name = "gpu" + std::to_string(gpu), .kind = fabric::VertexKind::gpu, .node = node, .relays = false});
        builder.connect(vertex, hub,
                        {.bandwidth = bandwidth,
                         .line_rate = bandwidth,
                         .latency = latency,
                         .kind = fabric::LinkKind::nvlink,
                         .tier = fabric::Tier::scale_up});
    }
    return builder.build();
}

/// Two switches, `gpus` GPUs on each by links of `bandwidth`, joined by `cables` cables of `cable` each. GPU 2i hangs
/// on the left switch, 2i+1 on the right one. No latency.
inline fabric::Fabric dumbbell(std::size_t gpus, Bandwidth bandwidth, std::size_t cables, Bandwidth cable) {
    fabric::FabricBuilder builder("dumbbell");
    const VertexId left = builder.add({.name = "left", .kind = fabric::VertexKind::switch_});
    const VertexId right = builder.add({.name = "right", .kind = fabric::VertexKind::switch_});
    for (std::size_t gpu = 0; gpu < 2 * gpus; ++gpu) {
        const VertexId vertex = builder.add({.name = "gpu" + std::to_string(gpu),
                                             .kind = fabric::VertexKind::gpu,
                                             .node = builder.add_node(),
                                             .relays = false});
        builder.connect(vertex, gpu % 2 == 0 ? left : right, {.bandwidth = bandwidth, .line_rate = bandwidth});
    }
    for (std::size_t i = 0; i < cables; ++i) {
        builder.connect(left, right, {.bandwidth = cable, .line_rate = cable});
    }
    return builder.build();
}

/// What a run needs besides its input, with a router of its own.
struct Bench {
    Bench(const fabric::Fabric& fabric, const engine::EngineKind& kind) : Bench(fabric, kind, fabric.routing()) {}
    Bench(const fabric::Fabric& fabric, const engine::EngineKind& kind, fabric::RoutingPolicy policy)
        : router(fabric, policy, 1) {
        settings.make_engine = kind.make;
        settings.router = &router;
    }
    Bench(const Bench&) = delete;

    fabric::Router router;
    replay::Settings settings;
};

}  // namespace lockstep::test
