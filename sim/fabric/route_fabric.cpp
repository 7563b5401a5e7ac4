#include "sim/fabric/route_fabric.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "sim/base/diagnostics.h"
#include "sim/fabric/route_leaves.h"

namespace lockstep::fabric {
namespace {

constexpr std::size_t cores_budget = std::size_t{256} << 20;

bool leaves_machine(const Fabric& fabric, LinkId link) {
    const std::optional<NodeId>& node = fabric.vertex(fabric.from(link)).node;
    return !node || node != fabric.vertex(fabric.to(link)).node;
}

bool carries_others(const Fabric& fabric, VertexId id) {
    const Vertex& vertex = fabric.vertex(id);
    if (!vertex.relays) {
        return false;
    }
    if (vertex.kind != VertexKind::gpu) {
        return !vertex.node;
    }
    const auto links = fabric.links_out_of(id);
    return std::any_of(links.begin(), links.end(), [&](LinkId link) {
        return leaves_machine(fabric, link) && fabric.vertex(fabric.to(link)).kind == VertexKind::gpu;
    });
}

}  // namespace

FabricSearch::FabricSearch(const Fabric& fabric) : fabric_(&fabric), cores_(cores_budget) {
    slot_of_.assign(fabric.vertex_count(), Hop::beyond);
    for (std::size_t v = 0; v < fabric.vertex_count(); ++v) {
        if (carries_others(fabric, id_at<VertexId>(v))) {
            slot_of_[v] = static_cast<std::uint32_t>(vertex_of_.size());
            vertex_of_.push_back(id_at<VertexId>(v));
        }
    }
    SlotGraph graph;
    std::vector<bool> meets_machines(vertex_of_.size(), false);
    for (std::size_t slot = 0; slot < vertex_of_.size(); ++slot) {
        meets_machines[slot] = fabric.vertex(vertex_of_[slot]).kind == VertexKind::gpu;
        for (const LinkId link : fabric.links_out_of(vertex_of_[slot])) {
            const std::uint32_t to = slot_of_[index(fabric.to(link))];
            if (to != Hop::beyond) {
                graph.hops.push_back({link, to});
            } else {
                meets_machines[slot] = true;
            }
        }
        graph.first_hop.push_back(static_cast<std::uint32_t>(graph.hops.size()));
    }
    std::vector<std::uint32_t> neighbours;
    neighbours.reserve(graph.hops.size());
    for (const Hop& hop : graph.hops) {
        neighbours.push_back(hop.to);
    }
    LeafOrder order = order_leaves(graph.first_hop, neighbours, meets_machines);
    component_ = std::move(order.component);
    leaf_rank_ = std::move(order.rank);
    below_.resize(vertex_of_.size());
    search_ = DistanceSearch(std::move(graph));
}

const std::vector<VertexId>& FabricSearch::endpoints_of(std::uint32_t slot) {
    std::vector<VertexId>& below = below_[slot];
    if (below.empty()) {
        for (const LinkId link : fabric_->links_out_of(vertex_of_[slot])) {
            if (slot_of_[index(fabric_->to(link))] == Hop::beyond) {
                below.push_back(fabric_->to(link));
            }
        }
        std::sort(below.begin(), below.end());
        below.erase(std::unique(below.begin(), below.end()), below.end());
    }
    return below;
}

std::uint32_t FabricSearch::attachment_of(std::vector<std::uint32_t> slots) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    std::string bytes(slots.size() * sizeof(std::uint32_t), '\0');
    if (!slots.empty()) {  // the data of an empty vector may be null, which memcpy does not take
        std::memcpy(bytes.data(), slots.data(), bytes.size());
    }
    const auto [place, added] =
        attachment_number_.try_emplace(std::move(bytes), static_cast<std::uint32_t>(attachments_.size()));
    if (added) {
        attachments_.push_back(std::move(slots));
    }
    return place->second;
}

std::optional<std::uint32_t> FabricSearch::endpoint(VertexId vertex) {
    const auto known = endpoint_of_.find(static_cast<std::uint32_t>(vertex));
    if (known != endpoint_of_.end()) {
        return known->second;
    }
    Endpoint made;
    made.vertex = vertex;
    std::vector<std::uint32_t> slots;
    for (const LinkId link : fabric_->links_out_of(vertex)) {
        if (!leaves_machine(*fabric_, link)) {
            continue;
        }
        const std::uint32_t slot = slot_of_[index(fabric_->to(link))];
        if (slot == Hop::beyond) {
            made.direct.push_back(link);
        } else {
            made.up.push_back({link, slot});
            slots.push_back(slot);
        }
    }
    if (slot_of_[index(vertex)] != Hop::beyond) {
        made.slot = slot_of_[index(vertex)];
        made.up.clear();
        slots.assign(1, *made.slot);
    }
    if (slots.empty() && made.direct.empty()) {
        return std::nullopt;
    }
    made.attachment = attachment_of(slots);
    if (!slots.empty()) {
        made.leaf = leaf_rank_[slots_of(made.attachment).front()];
    }
    if (!made.up.empty()) {
        const std::vector<VertexId>& siblings = endpoints_of(slots_of(made.attachment).front());
        made.port =
            static_cast<std::uint32_t>(std::lower_bound(siblings.begin(), siblings.end(), vertex) - siblings.begin());
        made.ports = static_cast<std::uint32_t>(siblings.size());
    }
    const auto number = static_cast<std::uint32_t>(endpoints_.size());
    endpoints_.push_back(std::move(made));
    endpoint_of_.emplace(static_cast<std::uint32_t>(vertex), number);
    return number;
}

bool FabricSearch::connects(const Endpoint& from, const Endpoint& to) const {
    for (const std::uint32_t a : slots_of(from.attachment)) {
        for (const std::uint32_t b : slots_of(to.attachment)) {
            if (component_[a] == component_[b]) {
                return true;
            }
        }
    }
    return !direct_links(from, to).empty();
}

std::vector<LinkId> FabricSearch::direct_links(const Endpoint& from, const Endpoint& to) const {
    std::vector<LinkId> links;
    for (const LinkId link : from.direct) {
        if (fabric_->to(link) == to.vertex) {
            links.push_back(link);
        }
    }
    return links;
}

void FabricSearch::hops_to(const Endpoint& to, std::uint32_t slot, const Distances& distances,
                           std::vector<Hop>& hops) const {
    hops.clear();
    const std::uint16_t distance = distances.from(slot);
    if (distance > 0) {
        for (const Hop& hop : search_.graph().hops_from(slot)) {
            if (distances.from(hop.to) + 1 == distance) {
                hops.push_back(hop);
            }
        }
        return;
    }
    for (const Hop& hop : to.up) {
        if (hop.to == slot) {
            hops.push_back({fabric_->reverse(hop.link), Hop::beyond});
        }
    }
}

const FabricSearch::Core& FabricSearch::core(const Endpoint& from, const Endpoint& to) {
    const std::uint64_t key = (std::uint64_t{from.attachment} << 32U) | to.attachment;
    if (const Core* known = cores_.find(key)) {
        return *known;
    }
    const Distances field = distances(from, to);
    const std::uint16_t start = field.from_nearest_of(slots_of(from.attachment));
    Core made;
    std::unordered_map<std::uint32_t, std::uint32_t> place;  // by slot; looked up only
    for (const std::uint32_t slot : slots_of(from.attachment)) {
        if (field.from(slot) == start) {
            place.emplace(slot, static_cast<std::uint32_t>(made.slots.size()));
            made.slots.push_back(slot);
        }
    }
    made.entries = made.slots.size();
    for (std::size_t v = 0; v < made.slots.size(); ++v) {
        const std::uint16_t distance = field.from(made.slots[v]);
        for (const Hop& hop : search_.graph().hops_from(made.slots[v])) {
            if (distance > 0 && field.from(hop.to) + 1 == distance) {
                const auto [found, added] = place.try_emplace(hop.to, static_cast<std::uint32_t>(made.slots.size()));
                if (added) {
                    made.slots.push_back(hop.to);
                }
                made.dag.steps.push_back({hop.link, found->second});
            }
        }
        made.dag.first.push_back(static_cast<std::uint32_t>(made.dag.steps.size()));
    }
    const std::size_t bytes = made.dag.steps.size() * sizeof(PathDag::Step) + made.slots.size() * 8;
    cores_.make_room(bytes);
    return cores_.insert(key, std::move(made), bytes);
}

bool FabricSearch::append_least_loaded(const Endpoint& from, const Endpoint& to, LinkLoads loads,
                                       std::vector<LinkId>& path) {
    const bool one_switch_each = slots_of(from.attachment).size() == 1 && slots_of(to.attachment).size() == 1;
    if (one_switch_each && from.up.size() <= 1 && to.up.size() <= 1 && direct_links(from, to).empty()) {
        // What the endpoints themselves add has no choices: no need to copy the paths between their switches.
        const PathDag& dag = core(from, to).dag;
        for (const Hop& hop : from.up) {
            path.push_back(hop.link);
        }
        fabric::append_least_loaded(dag, loads, path);
        for (const Hop& hop : to.up) {
            path.push_back(fabric_->reverse(hop.link));
        }
        return dag.branches();
    }
    const PathDag dag = minimal_paths(from, to);
    fabric::append_least_loaded(dag, loads, path);
    return dag.branches();
}

PathDag FabricSearch::minimal_paths(const Endpoint& from, const Endpoint& to) {
    PathDag dag;
    for (const LinkId link : direct_links(from, to)) {
        dag.steps.push_back({link, 1});
    }
    if (!dag.steps.empty()) {
        dag.first = {0, static_cast<std::uint32_t>(dag.steps.size()), static_cast<std::uint32_t>(dag.steps.size())};
        return dag;
    }
    const Core& inner = core(from, to);
    const auto vertices = static_cast<std::uint32_t>(inner.slots.size());
    const std::uint32_t before = from.slot ? 0 : 1;
    dag.steps.reserve(inner.dag.steps.size() + from.up.size() + to.up.size());
    dag.first.reserve(inner.dag.first.size() + 2);
    if (!from.slot) {
        for (const Hop& hop : from.up) {
            const auto entries = inner.slots.begin() + static_cast<std::ptrdiff_t>(inner.entries);
            const auto entry = std::find(inner.slots.begin(), entries, hop.to);
            if (entry != entries) {
                dag.steps.push_back({hop.link, before + static_cast<std::uint32_t>(entry - inner.slots.begin())});
            }
        }
        dag.first.push_back(static_cast<std::uint32_t>(dag.steps.size()));
    }
    for (std::uint32_t v = 0; v < vertices; ++v) {
        for (const PathDag::Step& step : inner.dag.steps_from(v)) {
            dag.steps.push_back({step.link, step.to + before});
        }
        if (!to.slot && inner.dag.steps_from(v).empty()) {  // one of the target's own switches
            for (const Hop& hop : to.up) {
                if (hop.to == inner.slots[v]) {
                    dag.steps.push_back({fabric_->reverse(hop.link), before + vertices});
                }
            }
        }
        dag.first.push_back(static_cast<std::uint32_t>(dag.steps.size()));
    }
    if (!to.slot) {
        dag.first.push_back(static_cast<std::uint32_t>(dag.steps.size()));
    }
    return dag;
}

}  // namespace lockstep::fabric
