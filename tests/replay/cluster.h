#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fabric/fabric.h"

namespace lockstep::test {

/// What is wrong with one of the nodes or links of a cluster.
enum class Flaw : std::uint8_t {
    none,
    slow_nic,
    slow_island,
    long_cable,
    slow_spine,
    failed_nic,
    smaller_node,
    slow_rail,  ///< the same NIC of all nodes: nodes are alike, GPUs of a node are not
};

struct Shape {
    std::uint32_t nodes = 4;
    std::uint32_t gpus = 2;      ///< on each
    std::uint32_t per_leaf = 2;  ///< nodes
    std::uint32_t spines = 1;
    bool rails = true;  ///< a leaf for each GPU of a node, not one for all
    Flaw flaw = Flaw::none;
    std::uint32_t flawed = 0;  ///< node
    fabric::RoutingPolicy routing = fabric::RoutingPolicy::static_;
    bool reduces = false;  ///< the switches add up and copy
};

/// Nodes of GPUs on a switch, a NIC for each GPU, leaves, spines.
inline fabric::Fabric cluster(const Shape& shape) {
    fabric::FabricBuilder builder("cluster");
    builder.set_routing(shape.routing);
    const auto link = [](double rate, double latency, fabric::Tier tier) {
        return fabric::Link{.bandwidth = {rate}, .line_rate = {rate}, .latency = {latency}, .tier = tier};
    };
    const auto name = [](const std::string& what, std::uint32_t i) { return what + std::to_string(i); };
    const std::uint32_t groups = (shape.nodes + shape.per_leaf - 1) / shape.per_leaf;
    const std::uint32_t rails = shape.rails ? shape.gpus : 1;
    std::vector<VertexId> spines;
    for (std::uint32_t s = 0; s < shape.spines; ++s) {
        spines.push_back(
            builder.add({.name = name("spine", s), .kind = fabric::VertexKind::switch_, .reduces = shape.reduces}));
    }
    std::vector<VertexId> leaves;
    for (std::uint32_t l = 0; l < groups * rails; ++l) {
        leaves.push_back(
            builder.add({.name = name("leaf", l), .kind = fabric::VertexKind::switch_, .reduces = shape.reduces}));
        for (std::uint32_t s = 0; s < shape.spines; ++s) {
            const bool slow = shape.flaw == Flaw::slow_spine && l == shape.flawed % (groups * rails) && s == 0;
            builder.connect(leaves.back(), spines[s], link(slow ? 7e9 : 50e9, 1e-6, fabric::Tier::scale_out));
        }
    }
    for (std::uint32_t n = 0; n < shape.nodes; ++n) {
        const bool flawed = n == shape.flawed;
        const NodeId node = builder.add_node();
        const std::string prefix = name("node", n) + ".";
        const VertexId hub = builder.add(
            {.name = prefix + "switch", .kind = fabric::VertexKind::switch_, .node = node, .reduces = shape.reduces});
        std::optional<VertexId> first_nic;
        const std::uint32_t gpus = flawed && shape.flaw == Flaw::smaller_node ? 1 : shape.gpus;
        for (std::uint32_t g = 0; g < gpus; ++g) {
            const VertexId gpu = builder.add({.name = prefix + name("gpu", g), .node = node, .relays = false});
            const double island = flawed && shape.flaw == Flaw::slow_island && g == 0 ? 90e9 : 400e9;
            builder.connect(gpu, hub, link(island, 0.2e-6, fabric::Tier::scale_up));
            const bool failed = flawed && shape.flaw == Flaw::failed_nic && g > 0 && g + 1 == gpus;
            if (failed) {  // its GPU uses the first NIC of the node
                builder.connect(gpu, *first_nic, link(60e9, 0.3e-6, fabric::Tier::host));
                continue;
            }
            const VertexId nic =
                builder.add({.name = prefix + name("nic", g), .kind = fabric::VertexKind::nic, .node = node});
            first_nic = first_nic.value_or(nic);
            builder.connect(gpu, nic, link(60e9, 0.3e-6, fabric::Tier::host));
            const bool slow =
                (flawed && shape.flaw == Flaw::slow_nic && g == 0) || (shape.flaw == Flaw::slow_rail && g == 0);
            const double rate = slow ? 20e9 : 50e9;
            const double latency = flawed && shape.flaw == Flaw::long_cable ? 5e-6 : 0.5e-6;
            builder.connect(nic, leaves[n / shape.per_leaf * rails + (shape.rails ? g : 0)],
                            link(rate, latency, fabric::Tier::scale_out));
        }
    }
    return builder.build();
}

}  // namespace lockstep::test
