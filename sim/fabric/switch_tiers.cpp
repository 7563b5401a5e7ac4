#include "sim/fabric/switch_tiers.h"

#include <algorithm>

namespace lockstep::fabric {

namespace {

/// By VertexId: 0 for endpoints and for what no endpoint reaches, else the height of a switch.
std::vector<std::uint32_t> heights(const Fabric& fabric) {
    const auto is_fabric_switch = [&](VertexId id) {
        const Vertex& vertex = fabric.vertex(id);
        return vertex.kind == VertexKind::switch_ && !vertex.node;
    };
    std::vector<std::uint32_t> height(fabric.vertex_count(), 0);
    std::vector<VertexId> front;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        if (!is_fabric_switch(id_at<VertexId>(i))) {
            front.push_back(id_at<VertexId>(i));
        }
    }
    for (std::uint32_t level = 1; !front.empty(); ++level) {
        std::vector<VertexId> next;
        for (const VertexId vertex : front) {
            for (const LinkId link : fabric.links_out_of(vertex)) {
                const VertexId to = fabric.to(link);
                if (fabric.link(link).tier == Tier::scale_out && is_fabric_switch(to) && height[index(to)] == 0) {
                    height[index(to)] = level;
                    next.push_back(to);
                }
            }
        }
        front = std::move(next);
    }
    return height;
}

}  // namespace

std::vector<SwitchTier> switch_tiers(const Fabric& fabric) {
    const std::vector<std::uint32_t> height = heights(fabric);
    std::vector<SwitchTier> tiers;
    for (std::size_t i = 0; i < height.size(); ++i) {
        if (height[i] == 0) {
            continue;
        }
        while (tiers.size() < height[i]) {
            tiers.push_back({.height = static_cast<std::uint32_t>(tiers.size() + 1)});
        }
        SwitchTier& tier = tiers[height[i] - 1];
        const auto id = id_at<VertexId>(i);
        tier.switches.push_back(id);
        Bandwidth down;
        Bandwidth up;
        for (const LinkId link : fabric.links_out_of(id)) {
            if (fabric.link(link).tier != Tier::scale_out) {
                continue;
            }
            const std::uint32_t other = height[index(fabric.to(link))];
            (other < height[i] ? down : other > height[i] ? up : tier.across) += fabric.link(link).bandwidth;
        }
        tier.down += down;
        tier.up += up;
        if (up.value > 0 && (!tier.oversubscription || down / up > *tier.oversubscription)) {
            tier.oversubscription = down / up;
            tier.most_oversubscribed = id;
        }
    }
    return tiers;
}

}  // namespace lockstep::fabric
