#include "sim/fabric/check.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/fabric/switch_tiers.h"
#include "sim/fabric/ways_out.h"

namespace lockstep::fabric {

namespace {

constexpr std::size_t most_gpus_by_pair = 4096;

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

/// Sets of vertices that links join.
class Sets {
  public:
    explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }

    std::uint32_t of(VertexId vertex) {
        auto v = static_cast<std::uint32_t>(vertex);
        while (parent_[v] != v) {
            parent_[v] = parent_[parent_[v]];
            v = parent_[v];
        }
        return v;
    }
    void join(VertexId a, VertexId b) {
        const std::uint32_t x = of(a);
        const std::uint32_t y = of(b);
        parent_[std::max(x, y)] = std::min(x, y);
    }

  private:
    std::vector<std::uint32_t> parent_;
};

/// The sets that the links whose two ends `joins` accepts make.
template <class Joins>
Sets sets_of(const Fabric& fabric, Joins joins) {
    Sets sets(fabric.vertex_count());
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const VertexId from = fabric.from(id_at<LinkId>(i));
        const VertexId to = fabric.to(id_at<LinkId>(i));
        if (from < to && joins(from, to)) {
            sets.join(from, to);
        }
    }
    return sets;
}

void find_unlinked(const Fabric& fabric, std::vector<Finding>& findings) {
    std::vector<VertexId> gpus;
    std::vector<VertexId> others;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        if (fabric.links_out_of(id).empty() && (fabric.vertex_count() > 1)) {
            (fabric.vertex(id).kind == VertexKind::gpu ? gpus : others).push_back(id);
        }
    }
    if (!gpus.empty()) {
        findings.push_back({Severity::error, Concern::gpu_without_link,
                            fmt::format("{} without any link: {}; give them an island, NICs or a `fabric`",
                                        plural(gpus.size(), "GPU", "GPUs"), names(fabric, gpus)),
                            gpus});
    }
    if (!others.empty()) {
        findings.push_back({Severity::warning, Concern::isolated_vertex,
                            fmt::format("{} without any link: {}; link them or leave them out",
                                        plural(others.size(), "vertex", "vertices"), names(fabric, others)),
                            others});
    }
}

/// Parts of the fabric that no link joins. Returns whether there are several.
bool find_parts(const Fabric& fabric, std::vector<Finding>& findings) {
    Sets sets = sets_of(fabric, [](VertexId, VertexId) { return true; });
    std::map<std::uint32_t, std::vector<VertexId>> parts;
    for (const VertexId gpu : fabric.gpus()) {
        if (!fabric.links_out_of(gpu).empty()) {
            parts[sets.of(gpu)].push_back(gpu);
        }
    }
    if (parts.size() < 2) {
        return false;
    }
    const auto largest = std::max_element(
        parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::vector<VertexId> cut_off;
    for (const auto& [set, gpus] : parts) {
        if (set != largest->first) {
            cut_off.insert(cut_off.end(), gpus.begin(), gpus.end());
        }
    }
    std::sort(cut_off.begin(), cut_off.end());
    findings.push_back(
        {Severity::error, Concern::disconnected_gpus,
         fmt::format(
             "the fabric falls into {} parts that no link joins: {} cannot reach {}; join the parts with a `fabric` or "
             "`links`, or keep each job inside one",
             parts.size(), names(fabric, cut_off), names(fabric, largest->second)),
         cut_off});
    return true;
}

/// By VertexId: GPUs of nodes that others leave, but they cannot.
std::vector<bool> find_stranded(const Fabric& fabric, std::vector<Finding>& findings) {
    std::vector<bool> is_stranded(fabric.vertex_count(), false);
    std::vector<VertexId> stranded;
    const std::vector<WayOut> ways = ways_out(fabric);
    for (std::size_t g = 0; g < ways.size(); ++g) {
        const VertexId gpu = fabric.gpus()[g];
        if (ways[g].node_has_one && !ways[g].exists && !fabric.links_out_of(gpu).empty()) {
            stranded.push_back(gpu);
            is_stranded[index(gpu)] = true;
        }
    }
    if (!stranded.empty()) {
        findings.push_back(
            {Severity::error, Concern::stranded_gpus,
             fmt::format(
                 "{} cannot reach other nodes: {}; the links out of their nodes are behind other GPUs, which do "
                 "not relay: give every GPU a NIC, hang the NICs `on: pcie-switch` or `on: host`, or say "
                 "`relay: true`",
                 plural(stranded.size(), "GPU", "GPUs"), names(fabric, stranded)),
             stranded});
    }
    return is_stranded;
}

/// Pairs of GPUs that are joined, but only by way of GPUs that do not relay. Leaves out pairs in different nodes of
/// which one is `stranded`.
void find_unreachable(const Fabric& fabric, const std::vector<bool>& stranded, std::vector<Finding>& findings) {
    const auto relays = [&](VertexId id) { return fabric.vertex(id).relays; };
    Sets sets = sets_of(fabric, [&](VertexId a, VertexId b) { return relays(a) && relays(b); });
    std::vector<VertexId> gpus;
    for (const VertexId gpu : fabric.gpus()) {
        if (!fabric.links_out_of(gpu).empty()) {
            gpus.push_back(gpu);
        }
    }
    // By GPU: the sets that it hangs on. Usually one set is common to all, and every pair is joined.
    std::vector<std::vector<std::uint32_t>> hangs_on;
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        const VertexId gpu = gpus[g];
        std::vector<std::uint32_t> own;
        if (relays(gpu)) {
            own.push_back(sets.of(gpu));
        }
        for (const LinkId link : fabric.links_out_of(gpu)) {
            if (relays(fabric.to(link))) {
                own.push_back(sets.of(fabric.to(link)));
            }
        }
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
        for (const std::uint32_t set : own) {
            members[set].push_back(static_cast<std::uint32_t>(g));
        }
        hangs_on.push_back(std::move(own));
    }
    const auto all = gpus.size();
    if (all > most_gpus_by_pair ||
        std::any_of(members.begin(), members.end(), [&](const auto& entry) { return entry.second.size() == all; })) {
        return;
    }
    std::vector<std::uint32_t> place(fabric.vertex_count(), 0);
    for (std::size_t g = 0; g < all; ++g) {
        place[index(gpus[g])] = static_cast<std::uint32_t>(g);
    }
    std::size_t pairs = 0;
    std::vector<VertexId> first_pair;
    for (std::size_t g = 0; g < all; ++g) {
        std::vector<bool> reached(all, false);
        reached[g] = true;
        for (const std::uint32_t set : hangs_on[g]) {
            for (const std::uint32_t other : members[set]) {
                reached[other] = true;
            }
        }
        for (const LinkId link : fabric.links_out_of(gpus[g])) {
            if (fabric.vertex(fabric.to(link)).kind == VertexKind::gpu) {
                reached[place[index(fabric.to(link))]] = true;
            }
        }
        for (std::size_t other = g + 1; other < all; ++other) {
            const bool told = (stranded[index(gpus[g])] || stranded[index(gpus[other])]) &&
                              fabric.vertex(gpus[g]).node != fabric.vertex(gpus[other]).node;
            if (!reached[other] && !told) {
                if (first_pair.empty()) {
                    first_pair = {gpus[g], gpus[other]};
                }
                ++pairs;
            }
        }
    }
    if (pairs > 0) {
        findings.push_back(
            {Severity::warning, Concern::unreachable_pairs,
             fmt::format("{} of GPUs (such as {} and {}) are joined only through other GPUs, which do not relay; "
                         "say `relay: true` for them, or add links",
                         plural(pairs, "pair", "pairs"), fabric.vertex(first_pair[0]).name,
                         fabric.vertex(first_pair[1]).name),
             first_pair});
    }
}

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

std::string_view name_of(Severity severity) {
    switch (severity) {
        case Severity::error:
            return "error";
        case Severity::warning:
            return "warning";
        case Severity::note:
            return "note";
    }
    throw std::invalid_argument("name_of: no such severity");
}

std::string_view name_of(Concern concern) {
    switch (concern) {
        case Concern::disconnected_gpus:
            return "disconnected-gpus";
        case Concern::stranded_gpus:
            return "stranded-gpus";
        case Concern::unreachable_pairs:
            return "unreachable-pairs";
        case Concern::gpu_without_link:
            return "gpu-without-link";
        case Concern::idle_nic:
            return "idle-nic";
        case Concern::isolated_vertex:
            return "isolated-vertex";
        case Concern::oversubscription:
            return "oversubscription";
        case Concern::rounded_oversubscription:
            return "rounded-oversubscription";
        case Concern::mixed_bundle:
            return "mixed-bundle";
        case Concern::unlike_nodes:
            return "unlike-nodes";
        case Concern::slow_cable:
            return "slow-cable";
        case Concern::slow_nic_bus:
            return "slow-nic-bus";
    }
    throw std::invalid_argument("name_of: no such concern");
}

std::vector<Finding> check(const Fabric& fabric) {
    std::vector<Finding> findings;
    find_unlinked(fabric, findings);
    const std::vector<bool> stranded = find_stranded(fabric, findings);
    if (!find_parts(fabric, findings)) {
        find_unreachable(fabric, stranded, findings);
    }
    find_nics(fabric, findings);
    find_oversubscription(fabric, findings);
    find_rounding(fabric, findings);
    find_mixed_bundles(fabric, findings);
    find_unlike_nodes(fabric, findings);
    find_slow_cables(fabric, findings);
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
    return findings;
}

}  // namespace lockstep::fabric
