#include "sim/fabric/check.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/fabric/check_wiring.h"
#include "sim/fabric/ways_out.h"

namespace lockstep::fabric {

namespace {

constexpr std::size_t most_gpus_by_pair = 4096;

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
    find_in_wiring(fabric, findings);
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
    return findings;
}

}  // namespace lockstep::fabric
