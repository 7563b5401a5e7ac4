#include "sim/fabric/route_gateways.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::fabric {

Gateways::Gateways(const Fabric& fabric, NodeSearch& near, FabricSearch& fabric_search)
    : fabric_(&fabric),
      near_(&near),
      fabric_search_(&fabric_search),
      assigned_(fabric.node_count(), false),
      owned_(fabric.vertex_count()) {}

bool Gateways::leaves_machine(LinkId link) const {
    const std::optional<NodeId>& node = fabric_->vertex(fabric_->from(link)).node;
    return !node || node != fabric_->vertex(fabric_->to(link)).node;
}

std::span<const Gateway> Gateways::owned_by(VertexId gpu) {
    const std::optional<NodeId>& node = fabric_->vertex(gpu).node;
    if (!node) {
        if (owned_[index(gpu)].empty() && fabric_search_->endpoint(gpu)) {
            owned_[index(gpu)].push_back(gateway({gpu, {}}));
        }
    } else if (!assigned_[index(*node)]) {
        assign(*node);
        assigned_[index(*node)] = true;
    }
    return owned_[index(gpu)];
}

std::vector<Gateway> Gateways::within_reach(VertexId gpu) {
    std::vector<Gateway> all;
    if (fabric_search_->endpoint(gpu)) {
        all.push_back(gateway({gpu, {}}));
    }
    if (const std::optional<NodeId>& node = fabric_->vertex(gpu).node) {
        for (NodeSearch::Found& found : near_->reachable(gpu, exits_of(*node), NodeSearch::Through::relaying_gpus)) {
            all.push_back(gateway(std::move(found)));
        }
    }
    return all;
}

// The vertices by which traffic leaves a machine: its NICs with a cable, and if there are none whatever else has one.
std::vector<VertexId> Gateways::exits_of(NodeId node) const {
    std::vector<VertexId> nics;
    std::vector<VertexId> others;
    for (const VertexId vertex : fabric_->vertices_of(node)) {
        const VertexKind kind = fabric_->vertex(vertex).kind;
        const auto links = fabric_->links_out_of(vertex);
        if (kind != VertexKind::gpu &&
            std::any_of(links.begin(), links.end(), [&](LinkId link) { return leaves_machine(link); })) {
            (kind == VertexKind::nic ? nics : others).push_back(vertex);
        }
    }
    std::vector<VertexId>& exits = nics.empty() ? others : nics;
    std::sort(exits.begin(), exits.end());
    return exits;
}

Gateway Gateways::gateway(NodeSearch::Found found) {
    Gateway made;
    made.endpoint = *fabric_search_->endpoint(found.vertex);
    made.access = std::move(found.path);
    for (const LinkId link : fabric_->links_out_of(found.vertex)) {
        if (leaves_machine(link)) {
            made.bandwidth += fabric_->link(link).bandwidth;
        }
    }
    return made;
}

void Gateways::assign(NodeId node) {
    const std::vector<VertexId> exits = exits_of(node);
    std::map<std::vector<VertexId>, std::vector<std::pair<VertexId, std::vector<NodeSearch::Found>>>> sharing;
    for (const VertexId gpu : fabric_->gpus_of(node)) {
        const auto links = fabric_->links_out_of(gpu);
        const bool cabled_itself = std::any_of(links.begin(), links.end(), [&](LinkId link) {
            return leaves_machine(link) && fabric_->link(link).tier == Tier::scale_out;
        });
        std::vector<NodeSearch::Found> found;
        if (!cabled_itself) {
            found = near_->reachable(gpu, exits, NodeSearch::Through::no_gpu);
            if (found.empty()) {
                found = near_->reachable(gpu, exits, NodeSearch::Through::relaying_gpus);
            }
        }
        if (found.empty()) {
            if (fabric_search_->endpoint(gpu)) {
                owned_[index(gpu)].push_back(gateway({gpu, {}}));
            }
            continue;
        }
        std::vector<VertexId> nearest;
        for (const NodeSearch::Found& one : found) {
            if (one.path.size() == found.front().path.size()) {
                nearest.push_back(one.vertex);
            }
        }
        found.resize(nearest.size());
        sharing[nearest].emplace_back(gpu, std::move(found));
    }
    for (auto& [nics, gpus] : sharing) {
        const std::size_t each = (nics.size() + gpus.size() - 1) / gpus.size();
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            auto& [gpu, found] = gpus[i];
            const std::size_t start = i * nics.size() / gpus.size();
            for (std::size_t n = 0; n < each; ++n) {
                owned_[index(gpu)].push_back(gateway(std::move(found[(start + n) % nics.size()])));
            }
        }
    }
}

}  // namespace lockstep::fabric
