#include "sim/fabric/check_wiring.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/fabric/switch_tiers.h"

namespace lockstep::fabric {

/// `gpu0, gpu1, gpu2 and 5 more`.
std::string names(const Fabric& fabric, std::span<const VertexId> vertices) {
    constexpr std::size_t shown = 4;
    std::vector<std::string> first;
    for (const VertexId vertex : vertices.first(std::min(shown, vertices.size()))) {
        first.push_back(fabric.vertex(vertex).name);
    }
    std::string text = fmt::format("{}", fmt::join(first, ", "));
    if (vertices.size() > shown) {
        text += fmt::format(" and {} more", vertices.size() - shown);
    }
    return text;
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

namespace {

void find_nics(const Fabric& fabric, std::vector<Finding>& findings) {
    std::vector<VertexId> idle;
    std::vector<VertexId> slow;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        const Vertex& vertex = fabric.vertex(id);
        if (vertex.kind != VertexKind::nic || fabric.links_out_of(id).empty()) {
            continue;
        }
        Bandwidth inside;
        Bandwidth outside;
        for (const LinkId link : fabric.links_out_of(id)) {
            const auto& node = fabric.vertex(fabric.to(link)).node;
            (node && node == vertex.node ? inside : outside) += fabric.link(link).bandwidth;
        }
        if (outside.value == 0) {
            idle.push_back(id);
        } else if (inside.value > 0 && inside < outside) {
            slow.push_back(id);
        }
    }
    if (!idle.empty()) {
        findings.push_back(
            {Severity::warning, Concern::idle_nic,
             fmt::format("{} without a link out of the node: {}; connect them with a `fabric` or `links`, or leave "
                         "them out",
                         plural(idle.size(), "NIC", "NICs"), names(fabric, idle)),
             idle});
    }
    if (!slow.empty()) {
        findings.push_back({Severity::note, Concern::slow_nic_bus,
                            fmt::format("{} with less bandwidth into the node than out of it: {}",
                                        plural(slow.size(), "NIC", "NICs"), names(fabric, slow)),
                            slow});
    }
}

void find_oversubscription(const Fabric& fabric, std::vector<Finding>& findings) {
    for (const SwitchTier& tier : switch_tiers(fabric)) {
        if (tier.oversubscription && *tier.oversubscription > 1 + 1e-9) {
            findings.push_back(
                {Severity::note,
                 Concern::oversubscription,
                 fmt::format("switches of tier {} are oversubscribed {:.3g}:1 at {} ({} down, {} up in the whole tier)",
                             tier.height, *tier.oversubscription, fabric.vertex(*tier.most_oversubscribed).name,
                             to_text(tier.down), to_text(tier.up)),
                 {*tier.most_oversubscribed}});
        }
    }
}

void find_rounding(const Fabric& fabric, std::vector<Finding>& findings) {
    for (const AskedOversubscription& ratio : fabric.asked_oversubscription()) {
        // Nobody minds a fabric that is better than one without oversubscription.
        if (ratio.asked > 1 && ratio.built < ratio.asked * 0.999) {
            findings.push_back(
                {Severity::note,
                 Concern::rounded_oversubscription,
                 fmt::format("{:.3g}:1 asked, {:.3g}:1 built: {} has {} down and gets {} up, where {:.3g} "
                             "would be exact",
                             ratio.asked, ratio.built, fabric.vertex(ratio.at).name,
                             plural(ratio.down, "cable", "cables"), ratio.up, ratio.up * ratio.built / ratio.asked),
                 {ratio.at}});
        }
    }
}

void find_mixed_bundles(const Fabric& fabric, std::vector<Finding>& findings) {
    std::vector<VertexId> first;
    std::size_t bundles = 0;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        std::map<VertexId, std::vector<LinkId>> by_peer;
        if (fabric.links_out_of(id).size() < 2) {
            continue;
        }
        for (const LinkId link : fabric.links_out_of(id)) {
            if (id < fabric.to(link)) {
                by_peer[fabric.to(link)].push_back(link);
            }
        }
        for (const auto& [peer, links] : by_peer) {
            const Link& one = fabric.link(links.front());
            if (std::any_of(links.begin(), links.end(), [&](LinkId link) {
                    const Link& other = fabric.link(link);
                    return other.tier == one.tier && (other.bandwidth != one.bandwidth || other.latency != one.latency);
                })) {
                ++bundles;
                if (first.empty()) {
                    first = {id, peer};
                }
            }
        }
    }
    if (bundles > 0) {
        findings.push_back(
            {Severity::warning, Concern::mixed_bundle,
             fmt::format("{} of parallel links with different bandwidth or latency, such as between {} and {}",
                         plural(bundles, "bundle", "bundles"), fabric.vertex(first[0]).name,
                         fabric.vertex(first[1]).name),
             first});
    }
}

/// Cables to a switch of the fabric that are slower than those of most other endpoints of the same kind there.
void find_slow_cables(const Fabric& fabric, std::vector<Finding>& findings) {
    std::vector<VertexId> slow;
    std::vector<VertexId> switches;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        if (fabric.vertex(id).kind != VertexKind::switch_ || fabric.vertex(id).node) {
            continue;
        }
        std::map<std::pair<VertexKind, Tier>, std::map<double, std::vector<VertexId>>> by_rate;
        for (const LinkId link : fabric.links_out_of(id)) {
            const Vertex& end = fabric.vertex(fabric.to(link));
            if (end.kind != VertexKind::switch_) {
                by_rate[{end.kind, fabric.link(link).tier}][fabric.link(link).bandwidth.value].push_back(
                    fabric.to(link));
            }
        }
        for (const auto& [kind, rates] : by_rate) {
            const auto usual = std::max_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) {
                return a.second.size() < b.second.size();
            });
            for (auto rate = rates.begin(); rate != usual; ++rate) {
                slow.insert(slow.end(), rate->second.begin(), rate->second.end());
                switches.push_back(id);
            }
        }
    }
    if (!slow.empty()) {
        findings.push_back({Severity::warning, Concern::slow_cable,
                            fmt::format("{} slower than those of most others on the same switch (such as {}): {}",
                                        slow.size() == 1 ? "1 cable is" : fmt::format("{} cables are", slow.size()),
                                        fabric.vertex(switches.front()).name, names(fabric, slow)),
                            slow});
    }
}

/// What a node is made of, so that two alike compare equal.
struct NodeShape {
    std::map<std::tuple<VertexKind, std::string>, std::size_t> devices;
    std::map<std::tuple<Tier, double, double>, std::size_t> inner_links;  // by tier, bandwidth and latency
    std::map<std::tuple<Tier, double, double>, std::size_t> outer_links;

    bool operator==(const NodeShape&) const = default;
    bool operator<(const NodeShape& other) const {
        return std::tie(devices, inner_links, outer_links) <
               std::tie(other.devices, other.inner_links, other.outer_links);
    }
};

NodeShape shape_of(const Fabric& fabric, NodeId node) {
    NodeShape shape;
    bool edge = false;
    for (const VertexId vertex : fabric.vertices_of(node)) {
        ++shape.devices[{fabric.vertex(vertex).kind, fabric.vertex(vertex).device}];
        for (const LinkId id : fabric.links_out_of(vertex)) {
            const Link& link = fabric.link(id);
            const bool inner = fabric.vertex(fabric.to(id)).node == node;
            auto& links = inner ? shape.inner_links : shape.outer_links;
            ++links[{link.tier, link.bandwidth.value, link.latency.value}];
            edge = edge || (!inner && fabric.vertex(fabric.to(id)).kind != VertexKind::switch_);
        }
    }
    if (edge) {  // nodes joined directly are a grid, whose border has fewer neighbours: only the kinds of link count
        for (auto& [link, count] : shape.outer_links) {
            count = 1;
        }
    }
    return shape;
}

std::string difference(const NodeShape& odd, const NodeShape& usual) {
    std::set<std::tuple<VertexKind, std::string>> devices;
    for (const auto& [device, count] : odd.devices) {
        devices.insert(device);
    }
    for (const auto& [device, count] : usual.devices) {
        devices.insert(device);
    }
    const auto count_in = [](const auto& counts, const auto& key) {
        const auto found = counts.find(key);
        return found == counts.end() ? std::size_t{0} : found->second;
    };
    for (const auto& device : devices) {
        const auto& [kind, model] = device;
        const std::size_t here = count_in(odd.devices, device);
        const std::size_t there = count_in(usual.devices, device);
        if (here != there) {
            return fmt::format("{} {}{}{} where the others have {}", here, model, model.empty() ? "" : " ",
                               name_of(kind), there);
        }
    }
    return odd.inner_links != usual.inner_links ? "its inner links differ" : "its links to the fabric differ";
}

void find_unlike_nodes(const Fabric& fabric, std::vector<Finding>& findings) {
    std::map<NodeShape, std::vector<NodeId>> shapes;
    for (std::size_t n = 0; n < fabric.node_count(); ++n) {
        shapes[shape_of(fabric, id_at<NodeId>(n))].push_back(id_at<NodeId>(n));
    }
    if (shapes.size() < 2) {
        return;
    }
    const auto usual = std::max_element(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second.size(), b.second.front()) < std::pair(b.second.size(), a.second.front());
    });
    for (const auto& [shape, nodes] : shapes) {
        if (shape == usual->first) {
            continue;
        }
        const VertexId witness = fabric.vertices_of(nodes.front()).front();
        findings.push_back(
            {Severity::warning,
             Concern::unlike_nodes,
             fmt::format("{} of {} unlike the others, such as that of {}: {}", plural(nodes.size(), "node", "nodes"),
                         fabric.node_count(), fabric.vertex(witness).name, difference(shape, usual->first)),
             {witness}});
    }
}

}  // namespace

void find_in_wiring(const Fabric& fabric, std::vector<Finding>& findings) {
    find_nics(fabric, findings);
    find_oversubscription(fabric, findings);
    find_rounding(fabric, findings);
    find_mixed_bundles(fabric, findings);
    find_unlike_nodes(fabric, findings);
    find_slow_cables(fabric, findings);
}

}  // namespace lockstep::fabric
