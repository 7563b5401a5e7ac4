#include "sim/collective/ports.h"

#include <algorithm>
#include <map>

namespace lockstep::collective {

using fabric::Fabric;
using fabric::Tier;
using fabric::VertexKind;

namespace {

bool leaves_node(const Fabric& fabric, LinkId link) {
    const auto& node = fabric.vertex(fabric.from(link)).node;
    return !node || node != fabric.vertex(fabric.to(link)).node;
}

/// The cabled NICs nearest to a GPU, found breadth first inside its node.
std::vector<VertexId> nearest_nics(const Fabric& fabric, VertexId gpu) {
    std::vector<VertexId> seen{gpu};
    std::vector<VertexId> front{gpu};
    std::vector<VertexId> nics;
    while (nics.empty() && !front.empty()) {
        std::vector<VertexId> next;
        for (const VertexId vertex : front) {
            for (const LinkId link : fabric.links_out_of(vertex)) {
                const VertexId to = fabric.to(link);
                if (leaves_node(fabric, link) || std::find(seen.begin(), seen.end(), to) != seen.end()) {
                    continue;
                }
                seen.push_back(to);
                const auto kind = fabric.vertex(to).kind;
                if (kind == VertexKind::nic && rate_out_of_node(fabric, to) > Bandwidth{0}) {
                    nics.push_back(to);
                }
                if (kind != VertexKind::gpu && fabric.vertex(to).relays) {
                    next.push_back(to);
                }
            }
        }
        front = std::move(next);
    }
    std::sort(nics.begin(), nics.end());
    return nics;
}

}  // namespace

std::vector<std::vector<VertexId>> own_nics(const Fabric& fabric, NodeId node) {
    const auto gpus = fabric.gpus_of(node);
    std::map<std::vector<VertexId>, std::vector<std::size_t>> sharing;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        sharing[nearest_nics(fabric, gpus[i])].push_back(i);
    }
    std::vector<std::vector<VertexId>> owned(gpus.size());
    for (const auto& [nics, sharers] : sharing) {
        // Of n NICs and g GPUs, GPU i takes ceil(n / g) from number floor(i n / g) on.
        const std::size_t each = (nics.size() + sharers.size() - 1) / sharers.size();
        for (std::size_t i = 0; i < sharers.size(); ++i) {
            for (std::size_t n = 0; n < each; ++n) {
                owned[sharers[i]].push_back(nics[(i * nics.size() / sharers.size() + n) % nics.size()]);
            }
        }
    }
    return owned;
}

PortRates port_rates(const Fabric& fabric, VertexId gpu) {
    PortRates rates;
    for (const LinkId id : fabric.links_out_of(gpu)) {
        const fabric::Link& link = fabric.link(id);
        if (link.tier == Tier::scale_up) {
            rates.scale_up += link.bandwidth;
        } else if (leaves_node(fabric, id)) {
            rates.scale_out += link.bandwidth;
        } else {
            rates.machine += link.bandwidth;
        }
    }
    return rates;
}

Bandwidth rate_out_of_node(const Fabric& fabric, VertexId vertex) {
    Bandwidth rate;
    for (const LinkId link : fabric.links_out_of(vertex)) {
        if (leaves_node(fabric, link)) {
            rate += fabric.link(link).bandwidth;
        }
    }
    return rate;
}

}  // namespace lockstep::collective
