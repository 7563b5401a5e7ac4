#include "tests/collective/fabrics.h"

#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace lockstep::collective {

using fabric::Fabric;
using fabric::FabricBuilder;
using fabric::Link;
using fabric::Tier;
using fabric::VertexKind;

namespace {

Link link_of(double rate, double latency, Tier tier) {
    return {.bandwidth = {rate}, .line_rate = {rate}, .latency = {latency}, .tier = tier};
}

}  // namespace

Fabric single_switch(std::uint32_t gpus, Bandwidth rate, Seconds latency) {
    FabricBuilder builder("single-switch");
    const auto hub = builder.add({.name = "switch", .kind = VertexKind::switch_});
    for (std::uint32_t g = 0; g < gpus; ++g) {
        const auto gpu = builder.add({.name = fmt::format("gpu{}", g), .relays = false});
        builder.connect(gpu, hub, link_of(rate.value, latency.value, Tier::scale_out));
    }
    return builder.build();
}

Fabric dgx_cluster(std::uint32_t nodes, std::uint32_t gpus_per_node, Island island) {
    FabricBuilder builder("dgx");
    const auto spine = builder.add({.name = "spine", .kind = VertexKind::switch_});
    std::vector<VertexId> leaves;
    for (std::uint32_t r = 0; r < gpus_per_node; ++r) {
        leaves.push_back(builder.add({.name = fmt::format("leaf{}", r), .kind = VertexKind::switch_}));
        builder.connect(leaves.back(), spine, link_of(400e9, 1e-6, Tier::scale_out));
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        const auto node = builder.add_node();
        std::vector<VertexId> gpus;
        for (std::uint32_t g = 0; g < gpus_per_node; ++g) {
            gpus.push_back(builder.add({.name = fmt::format("node{}.gpu{}", n, g), .node = node, .relays = false}));
            const auto nic =
                builder.add({.name = fmt::format("node{}.nic{}", n, g), .kind = VertexKind::nic, .node = node});
            builder.connect(gpus.back(), nic, link_of(60e9, 1e-7, Tier::host));
            builder.connect(nic, leaves[g], link_of(50e9, 1e-6, Tier::scale_out));
        }
        if (island == Island::loop) {
            for (std::uint32_t a = 0; a < gpus_per_node && gpus_per_node > 2; ++a) {
                builder.connect(gpus[a], gpus[(a + 1) % gpus_per_node], link_of(64e9, 1e-7, Tier::scale_up));
            }
            continue;
        }
        if (island == Island::full_mesh) {
            for (std::uint32_t a = 0; a < gpus_per_node; ++a) {
                for (std::uint32_t b = a + 1; b < gpus_per_node; ++b) {
                    builder.connect(gpus[a], gpus[b], link_of(64e9, 1e-7, Tier::scale_up));
                }
            }
            continue;
        }
        for (std::uint32_t plane = 0; plane < 4; ++plane) {
            const auto hub = builder.add({.name = fmt::format("node{}.nvswitch{}", n, plane),
                                          .kind = VertexKind::switch_,
                                          .node = node,
                                          .reduces = island == Island::reducing});
            for (const VertexId gpu : gpus) {
                builder.connect(gpu, hub, link_of(450e9 / 4, 1e-7, Tier::scale_up));
            }
        }
    }
    return builder.build();
}

Fabric cube_mesh() {
    // NVLinks per pair, as `nvidia-smi topo -m` shows them on a DGX-1.
    constexpr std::array<std::array<std::uint32_t, 3>, 16> pairs{{{0, 1, 1},
                                                                  {0, 2, 1},
                                                                  {0, 3, 2},
                                                                  {0, 4, 2},
                                                                  {1, 2, 2},
                                                                  {1, 3, 1},
                                                                  {1, 5, 2},
                                                                  {2, 3, 2},
                                                                  {2, 6, 1},
                                                                  {3, 7, 1},
                                                                  {4, 5, 1},
                                                                  {4, 6, 1},
                                                                  {4, 7, 2},
                                                                  {5, 6, 2},
                                                                  {5, 7, 1},
                                                                  {6, 7, 2}}};
    FabricBuilder builder("cube-mesh");
    const auto node = builder.add_node();
    std::vector<VertexId> gpus;
    for (std::uint32_t g = 0; g < 8; ++g) {
        gpus.push_back(builder.add({.name = fmt::format("gpu{}", g), .node = node, .relays = false}));
    }
    for (const auto& [a, b, cables] : pairs) {
        Link link = link_of(25e9 * cables, 1e-7, Tier::scale_up);
        link.line_rate = {25e9};
        link.cables = cables;
        builder.connect(gpus[a], gpus[b], link);
    }
    return builder.build();
}

Fabric full_mesh(std::uint32_t gpus) {
    FabricBuilder builder("full-mesh");
    const auto node = builder.add_node();
    std::vector<VertexId> placed;
    for (std::uint32_t g = 0; g < gpus; ++g) {
        placed.push_back(builder.add({.name = fmt::format("gpu{}", g), .node = node, .relays = false}));
    }
    for (std::uint32_t a = 0; a < gpus; ++a) {
        for (std::uint32_t b = a + 1; b < gpus; ++b) {
            builder.connect(placed[a], placed[b], link_of(64e9, 1e-7, Tier::scale_up));
        }
    }
    return builder.build();
}

namespace {

/// number: of the GPU at each point.
Fabric grid_numbered(const std::vector<std::uint32_t>& extents, Wrap wrap, const std::vector<std::uint32_t>& number) {
    FabricBuilder builder("grid");
    std::vector<VertexId> gpus;
    for (std::size_t g = 0; g < number.size(); ++g) {
        gpus.push_back(builder.add({.name = fmt::format("gpu{}", g)}));
    }
    const auto connect = [&](std::uint32_t a, std::uint32_t b) {
        builder.connect(gpus[number[a]], gpus[number[b]], link_of(50e9, 1e-6, Tier::scale_out));
    };
    for (std::uint32_t point = 0; point < number.size(); ++point) {
        std::uint32_t stride = 1;
        for (const std::uint32_t extent : extents) {
            const std::uint32_t at = point / stride % extent;
            if (at + 1 < extent) {
                connect(point, point + stride);
            } else if (wrap == Wrap::all && extent > 2) {
                connect(point, point - at * stride);
            }
            stride *= extent;
        }
    }
    return builder.build();
}

std::vector<std::uint32_t> counted_points(const std::vector<std::uint32_t>& extents) {
    std::vector<std::uint32_t> points(std::accumulate(extents.begin(), extents.end(), 1U, std::multiplies<>()));
    std::iota(points.begin(), points.end(), 0U);
    return points;
}

}  // namespace

Fabric grid(const std::vector<std::uint32_t>& extents, Wrap wrap) {
    return grid_numbered(extents, wrap, counted_points(extents));
}

Fabric scattered_grid(const std::vector<std::uint32_t>& extents, Wrap wrap, std::uint64_t seed) {
    std::vector<std::uint32_t> number = counted_points(extents);
    std::mt19937_64 random(seed);
    for (std::size_t i = number.size() - 1; i > 0; --i) {
        std::swap(number[i], number[random() % (i + 1)]);
    }
    return grid_numbered(extents, wrap, number);
}

Communicator everybody(const Fabric& fabric) { return {fabric, default_placement(fabric, std::nullopt)}; }

}  // namespace lockstep::collective
