#include "sim/fabric/route_in_switch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/fabric/route_node.h"

namespace lockstep::fabric {
namespace {

std::string some_names(const Fabric& fabric, std::span<const VertexId> members) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, members.size()); ++i) {
        text += (i == 0 ? "" : ", ") + fabric.vertex(members[i]).name;
    }
    return members.size() > most ? fmt::format("{} and {} more", text, members.size() - most) : text;
}

// Parallel links from one vertex to another, as they share what goes that way.
struct Bundle {
    std::vector<RouteShare> links = {};
    Bandwidth width{};
    Seconds latency{};
};

Bundle bundle_of(const Fabric& fabric, std::span<const LinkId> out, VertexId to) {
    Bundle bundle;
    for (const LinkId link : out) {
        if (fabric.to(link) == to) {
            bundle.links.push_back({link, fabric.link(link).bandwidth.value});
            bundle.width += fabric.link(link).bandwidth;
            bundle.latency = std::max(bundle.latency, fabric.link(link).latency);
        }
    }
    for (RouteShare& part : bundle.links) {
        part.share = bundle.links.size() == 1 ? 1.0 : part.share / bundle.width.value;
    }
    return bundle;
}

// The switches that can reduce at the other end of some links, each once, in the order of the links.
std::vector<VertexId> reducers_at(const Fabric& fabric, std::span<const LinkId> links) {
    std::vector<VertexId> found;
    for (const LinkId link : links) {
        const VertexId to = fabric.to(link);
        if (fabric.vertex(to).reduces && std::find(found.begin(), found.end(), to) == found.end()) {
            found.push_back(to);
        }
    }
    return found;
}

}  // namespace

std::vector<VertexId> shared_reducers(const Fabric& fabric, std::span<const VertexId> members) {
    if (members.empty()) {
        return {};
    }
    std::vector<VertexId> shared = reducers_at(fabric, fabric.links_out_of(members.front()));
    std::sort(shared.begin(), shared.end());
    for (const VertexId member : members.subspan(1)) {
        std::erase_if(shared, [&](VertexId plane) {
            const auto links = fabric.links_out_of(member);
            return std::none_of(links.begin(), links.end(), [&](LinkId link) { return fabric.to(link) == plane; });
        });
    }
    return shared;
}

// How a member gets to its first switch that can reduce.
struct ReductionTrees::Entry {
    std::span<const LinkId> access = {};  // one after the other, from the GPU to its NIC
    std::vector<LinkId> up = {};          // from there to switches
    std::vector<VertexId> switches = {};  // those of them that can reduce
};

// Breadth-first search over switches that can reduce. Costs what it finds: there is one for each node's island.
struct ReductionTrees::Search {
    struct Found {
        std::uint32_t distance = 0;
        VertexId before{};  // from where it was found
    };

    Search(const Fabric& fabric, std::span<const VertexId> from) {
        for (const VertexId start : from) {
            found.emplace(start, Found{0, start});
            order.push_back(start);
        }
        for (std::size_t head = 0; head < order.size(); ++head) {
            const VertexId at = order[head];
            const std::uint32_t distance = found.at(at).distance + 1;
            for (const LinkId link : fabric.links_out_of(at)) {
                const VertexId to = fabric.to(link);
                if (fabric.vertex(to).reduces && found.emplace(to, Found{distance, at}).second) {
                    order.push_back(to);
                }
            }
        }
    }

    bool reaches(VertexId vertex) const { return found.contains(vertex); }

    std::vector<VertexId> order = {};                // of those found
    std::unordered_map<VertexId, Found> found = {};  // looked up only
};

ReductionTrees::ReductionTrees(const Fabric& fabric, FabricSearch& across, Gateways& gateways)
    : fabric_(&fabric), across_(&across), gateways_(&gateways) {}

std::vector<std::vector<ReductionTrees::Entry>> ReductionTrees::entries_by_cable(
    std::span<const VertexId> members) const {
    std::vector<std::vector<Entry>> by_member;
    for (const VertexId member : members) {
        const auto links = fabric_->links_out_of(member);
        auto& entries = by_member.emplace_back();
        for (const VertexId first : reducers_at(*fabric_, links)) {
            entries.push_back({.up = {links.begin(), links.end()}, .switches = {first}});
        }
    }
    return by_member;
}

std::vector<std::vector<ReductionTrees::Entry>> ReductionTrees::entries_by_nic(std::span<const VertexId> members) {
    std::vector<std::vector<Entry>> by_member;
    for (const VertexId member : members) {
        auto& entries = by_member.emplace_back();
        for (const Gateway& gateway : gateways_->owned_by(member)) {
            Entry entry{.access = gateway.access};
            for (const Hop& hop : across_->at(gateway.endpoint).up) {
                entry.up.push_back(hop.link);
            }
            entry.switches = reducers_at(*fabric_, entry.up);
            entries.push_back(std::move(entry));
        }
    }
    return by_member;
}

// The switch from which the farthest member is nearest; `choice` picks among equals. Whom each switch can reach within
// d links is a set of bits, one for each different way into the network; it grows by the neighbours' sets with d.
std::optional<VertexId> ReductionTrees::top_over(std::span<const Entry> entries, std::size_t choice) const {
    std::set<std::vector<VertexId>> starts;
    for (const Entry& entry : entries) {
        starts.insert(entry.switches);
    }
    const Search reachable(*fabric_, *starts.begin());
    std::vector<VertexId> switches = reachable.order;
    std::sort(switches.begin(), switches.end());
    const auto place_of = [&](VertexId vertex) {
        return static_cast<std::size_t>(std::lower_bound(switches.begin(), switches.end(), vertex) - switches.begin());
    };
    constexpr std::size_t word_bits = 64;
    const std::size_t words = (starts.size() + word_bits - 1) / word_bits;
    std::vector<std::uint64_t> reach(switches.size() * words, 0);
    std::size_t bit = 0;
    for (const auto& start : starts) {
        for (const VertexId vertex : start) {
            if (reachable.reaches(vertex)) {
                reach[place_of(vertex) * words + bit / word_bits] |= std::uint64_t{1} << (bit % word_bits);
            }
        }
        ++bit;
    }
    std::vector<std::vector<std::size_t>> neighbours(switches.size());
    for (std::size_t at = 0; at < switches.size(); ++at) {
        for (const VertexId next : reducers_at(*fabric_, fabric_->links_out_of(switches[at]))) {
            neighbours[at].push_back(place_of(next));
        }
    }
    while (true) {
        std::vector<VertexId> best;
        for (std::size_t at = 0; at < switches.size(); ++at) {
            std::size_t reached = 0;
            for (std::size_t w = 0; w < words; ++w) {
                reached += static_cast<std::size_t>(std::popcount(reach[at * words + w]));
            }
            if (reached == starts.size()) {
                best.push_back(switches[at]);
            }
        }
        if (!best.empty()) {
            return best[choice % best.size()];
        }
        std::vector<std::uint64_t> wider = reach;
        for (std::size_t at = 0; at < switches.size(); ++at) {
            for (const std::size_t next : neighbours[at]) {
                for (std::size_t w = 0; w < words; ++w) {
                    wider[at * words + w] |= reach[next * words + w];
                }
            }
        }
        if (wider == reach) {
            return std::nullopt;
        }
        reach = std::move(wider);
    }
}

std::optional<ReductionTree> ReductionTrees::tree_over(std::span<const Entry> entries, std::size_t choice) const {
    const std::optional<VertexId> top = top_over(entries, choice);
    if (!top) {
        return std::nullopt;
    }
    const Search from_top(*fabric_, std::span(&*top, 1));
    ReductionTree tree{.width = {std::numeric_limits<double>::infinity()}};
    std::map<VertexId, std::uint32_t> step_of;
    const auto add_step = [&](Bundle bundle, std::optional<std::uint32_t> next) {
        const Seconds above = next ? tree.steps[*next].latency : Seconds{0};
        tree.width = std::min(tree.width, bundle.width);
        tree.steps.push_back({std::move(bundle.links), next, above + bundle.latency});
        return static_cast<std::uint32_t>(tree.steps.size() - 1);
    };
    // The step from a switch to the next one on its way to the top: none from the top itself.
    const auto step_from = [&](VertexId vertex) -> std::optional<std::uint32_t> {
        std::vector<VertexId> way;
        for (VertexId at = vertex; at != *top && !step_of.contains(at); at = from_top.found.at(at).before) {
            way.push_back(at);
        }
        for (auto at = way.rbegin(); at != way.rend(); ++at) {
            const VertexId above = from_top.found.at(*at).before;
            const auto next = above == *top ? std::nullopt : std::optional(step_of.at(above));
            step_of[*at] = add_step(bundle_of(*fabric_, fabric_->links_out_of(*at), above), next);
        }
        return vertex == *top ? std::nullopt : std::optional(step_of.at(vertex));
    };
    const auto distance = [&](VertexId vertex) {
        return from_top.reaches(vertex) ? from_top.found.at(vertex).distance
                                        : std::numeric_limits<std::uint32_t>::max();
    };
    for (const Entry& entry : entries) {
        const VertexId first = *std::min_element(entry.switches.begin(), entry.switches.end(),
                                                 [&](VertexId a, VertexId b) { return distance(a) < distance(b); });
        std::uint32_t step = add_step(bundle_of(*fabric_, entry.up, first), step_from(first));
        tree.tier = fabric_->link(tree.steps[step].up.front().link).tier;
        for (auto link = entry.access.rbegin(); link != entry.access.rend(); ++link) {
            step = add_step(bundle_of(*fabric_, std::span(&*link, 1), fabric_->to(*link)), step);
        }
        tree.leaves.push_back(step);
    }
    return tree;
}

std::vector<ReductionTree> ReductionTrees::joining(std::span<const VertexId> members) {
    std::vector<ReductionTree> trees;
    const auto shared = shared_reducers(*fabric_, members);
    const auto by_cable = entries_by_cable(members);
    for (const VertexId plane : shared) {
        std::vector<Entry> entries;
        for (const auto& of_member : by_cable) {
            entries.push_back(*std::find_if(of_member.begin(), of_member.end(),
                                            [&](const Entry& entry) { return entry.switches.front() == plane; }));
        }
        trees.push_back(*tree_over(entries, 0));
    }
    const auto join = [&](const std::vector<std::vector<Entry>>& by_member) {
        const auto has = [](const std::vector<Entry>& of_member, std::size_t i) {
            return i < of_member.size() && !of_member[i].switches.empty();
        };
        const std::size_t most = by_member.empty() ? 0 : by_member.front().size();
        for (std::size_t i = 0; i < most; ++i) {
            if (!std::all_of(by_member.begin(), by_member.end(), [&](const auto& m) { return has(m, i); })) {
                continue;
            }
            std::vector<Entry> entries;
            for (const auto& of_member : by_member) {
                entries.push_back(of_member[i]);
            }
            const auto first = *std::min_element(members.begin(), members.end());
            if (auto tree = tree_over(entries, index(first) + i)) {
                trees.push_back(std::move(*tree));
            }
        }
    };
    if (trees.empty()) {
        join(by_cable);
    }
    if (trees.empty()) {
        join(entries_by_nic(members));
    }
    return trees;
}

Route ReductionTrees::route(InSwitch operation, std::span<const VertexId> members, VertexId root) {
    std::vector<VertexId> sorted(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        throw std::invalid_argument("an in-switch operation needs members, each named once");
    }
    std::vector<VertexId> all(members.begin(), members.end());
    if (!std::binary_search(sorted.begin(), sorted.end(), root)) {
        all.push_back(root);
    }
    const auto root_at = static_cast<std::size_t>(std::find(all.begin(), all.end(), root) - all.begin());
    const std::vector<ReductionTree> trees = joining(all);
    if (trees.empty()) {
        throw SimulationError(
            fmt::format("no switch that can reduce is cabled to all of {}, nor do several such switches join them",
                        some_names(*fabric_, all)));
    }
    Bandwidth total;
    for (const ReductionTree& tree : trees) {
        total += tree.width;
    }
    std::map<LinkId, double> shares;
    Seconds latency;
    for (const ReductionTree& tree : trees) {
        enum class Way : std::uint8_t { up, down };
        // Adds the links between the top and some leaves, each once; returns the longest latency.
        const auto add = [&](std::span<const std::uint32_t> leaves, Way way) {
            std::vector<bool> added(tree.steps.size(), false);
            Seconds slowest;
            for (const std::uint32_t leaf : leaves) {
                slowest = std::max(slowest, tree.steps[leaf].latency);
                for (std::optional at = leaf; at && !added[*at]; at = tree.steps[*at].next) {
                    added[*at] = true;
                    for (const RouteShare& part : tree.steps[*at].up) {
                        shares[way == Way::up ? part.link : fabric_->reverse(part.link)] +=
                            tree.width / total * part.share;
                    }
                }
            }
            return slowest;
        };
        const std::span leaves = std::span(tree.leaves).first(members.size());
        const std::span root_leaf = std::span(tree.leaves).subspan(root_at, 1);
        const Seconds up = add(operation == InSwitch::multicast ? root_leaf : leaves, Way::up);
        const Seconds down = add(operation == InSwitch::reduction ? root_leaf : leaves, Way::down);
        latency = std::max(latency, up + down);
    }
    Route route{.links = {}, .latency = latency};
    route.links.reserve(shares.size());
    for (const auto& [link, share] : shares) {
        route.links.push_back({link, share});
    }
    return route;
}

std::vector<std::optional<Tier>> reducing_tiers(const Fabric& fabric, std::span<const std::vector<VertexId>> groups) {
    NodeSearch near(fabric);
    FabricSearch across(fabric);
    Gateways gateways(fabric, near, across);
    ReductionTrees search(fabric, across, gateways);
    std::vector<std::optional<Tier>> tiers;
    for (const auto& group : groups) {
        const auto trees = search.joining(group);
        tiers.push_back(trees.empty() ? std::nullopt : std::optional(trees.front().tier));
    }
    return tiers;
}

}  // namespace lockstep::fabric
