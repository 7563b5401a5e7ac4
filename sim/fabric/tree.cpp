#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/fabric/builders.h"
#include "sim/fabric/tree_tiers.h"

namespace lockstep::fabric {

namespace {

/// The smallest divisor of `ports` that is at least `least`: that many switches can share the ports evenly.
/// Requires: least <= ports.
std::uint32_t even_share(std::uint32_t ports, std::uint32_t least) {
    std::uint32_t share = std::max(least, 1U);
    while (ports % share != 0) {
        ++share;
    }
    return share;
}

std::uint32_t ceil_div(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint32_t>((a + b - 1) / b); }

std::vector<VertexId> add_switches(Assembly& assembly, const SwitchModel& model, std::string_view name,
                                   std::uint64_t count, const YamlValue& cause) {
    assembly.require_room_for_devices(count, cause);
    std::vector<VertexId> switches;
    for (std::uint64_t i = 0; i < count; ++i) {
        switches.push_back(assembly.add({.name = fmt::format("{}{}", name, i),
                                         .kind = VertexKind::switch_,
                                         .device = model.name,
                                         .reduces = model.reduces},
                                        sockets_of(model), cause));
    }
    return switches;
}

/// Connects every switch of `lower` to every one of `upper` with `up` cables of each lower switch shared evenly.
void interconnect(Assembly& assembly, std::span<const VertexId> lower, std::span<const VertexId> upper,
                  std::uint32_t up, const LinkSpec& link, const YamlValue& cause) {
    const std::uint32_t each = up / static_cast<std::uint32_t>(upper.size());
    for (const VertexId low : lower) {
        for (const VertexId high : upper) {
            assembly.connect(low, high, link, each, cause);
        }
    }
}

/// Notes what became of the oversubscription that the file asked of the switches of a tier, which begin with `first`,
/// if it asked any. down: what hangs on the fullest of them.
void note(Assembly& assembly, const TreeTiers::Tier& tier, VertexId first, std::uint64_t down) {
    if (tier.oversubscription) {
        const auto below = static_cast<std::uint32_t>(down) * tier.below.cables;
        const std::uint32_t up = tier.up(down);
        assembly.builder().note_oversubscription({.at = first,
                                                  .asked = *tier.oversubscription,
                                                  .built = below * tier.rates() / up,
                                                  .down = below,
                                                  .up = up});
    }
}

/// Switches of a tier in groups of as many. What hangs on a group is reached by way of each of its switches, which
/// therefore belong to planes: the j-th of every group can meet above, others cannot.
struct Groups {
    std::vector<VertexId> switches = {};  ///< group by group
    std::uint32_t count = 0;
    std::uint64_t planes = 1;  ///< switches of a group
    std::uint32_t up = 0;      ///< ports of each to the tier above

    std::vector<VertexId> of_plane(std::uint64_t plane, std::uint32_t first, std::uint32_t last) const {
        std::vector<VertexId> found;
        for (std::uint32_t group = first; group < last; ++group) {
            found.push_back(switches[group * planes + plane]);
        }
        return found;
    }
};

/// How many groups go together below `level`, not the last: as many as there is room for, evenly.
/// align: groups that should stay together, where there is room for them.
std::uint32_t groups_in_pod(const TreeTiers& tiers, std::uint32_t level, std::uint32_t levels, std::uint32_t groups,
                            std::uint32_t align) {
    std::uint32_t room = tiers.at(level).room();
    const bool aligned = room >= align && ceil_div(groups, room - room % align) <= tiers.most_below(level + 1, levels);
    room -= aligned ? room % align : 0;
    const std::uint32_t pod = ceil_div(groups, ceil_div(groups, room));
    return std::min(aligned ? ceil_div(pod, align) * align : pod, groups);
}

/// Adds a tier that is not the last: over each pod of groups as many switches as their own have ports to it, in each
/// plane. Returns: the pods.
Groups add_tier_of_pods(Assembly& assembly, const TreeTiers& tiers, std::uint32_t level, const Groups& lower,
                        std::uint32_t pod) {
    const TreeTiers::Tier& tier = tiers.at(level);
    Groups upper{.count = ceil_div(lower.count, pod), .planes = lower.planes * lower.up, .up = tier.up(pod)};
    upper.switches = add_switches(assembly, tier.model, tier.name, upper.count * upper.planes, tiers.fabric());
    for (std::uint32_t p = 0; p < upper.count; ++p) {
        for (std::uint64_t plane = 0; plane < lower.planes; ++plane) {
            const auto members = lower.of_plane(plane, p * pod, std::min((p + 1) * pod, lower.count));
            const std::size_t first = p * upper.planes + plane * lower.up;
            interconnect(assembly, members, std::span(upper.switches).subspan(first, lower.up), lower.up, tier.below,
                         tiers.fabric());
        }
    }
    return upper;
}

/// Adds the last tier: in each plane as few switches as will do, or `asked`, over all groups.
void add_last_tier(Assembly& assembly, const TreeTiers& tiers, std::uint32_t level, const Groups& lower,
                   std::optional<std::uint32_t> asked) {
    const TreeTiers::Tier& tier = tiers.at(level);
    const std::uint32_t least = ceil_div(std::uint64_t{lower.count} * lower.up, tier.ports());
    if (asked && (*asked < least || lower.up % *asked != 0)) {
        tiers.fabric().fail(
            fmt::format("{} spines of {} ports do not share the {} uplinks of each of {} leaves evenly; {} would",
                        *asked, tier.ports(), lower.up, lower.count, even_share(lower.up, least)));
    }
    const std::uint32_t each = asked.value_or(even_share(lower.up, least));
    const auto switches = add_switches(assembly, tier.model, tier.name, lower.planes * each, tiers.fabric());
    for (std::uint32_t group = 0; group < lower.count; ++group) {
        for (std::uint64_t plane = 0; plane < lower.planes; ++plane) {
            interconnect(assembly, lower.of_plane(plane, group, group + 1),
                         std::span(switches).subspan(plane * each, each), lower.up, tier.below, tiers.fabric());
        }
    }
}

/// What hangs on each leaf.
using Leaves = std::vector<std::vector<VertexId>>;

/// What a file asks of a tree.
struct Asked {
    std::optional<std::uint32_t> levels = {};  ///< none: as few as will do
    std::optional<std::uint32_t> spines = {};  ///< of a tree of two levels; none: as few as will do
};

/// align: leaves that should stay in one pod together.
void add_tree(Assembly& assembly, const TreeTiers& tiers, const Leaves& leaves, const Asked& asked,
              std::size_t endpoints, std::uint32_t align) {
    const std::uint32_t levels = asked.levels.value_or(tiers.sufficient_levels(leaves.size()));
    if (leaves.size() > tiers.most_leaves(levels)) {
        const std::uint32_t sufficient = tiers.sufficient_levels(leaves.size());
        tiers.fabric().fail(fmt::format(
            "{} endpoints make {} leaves, but {} levels of {}-port switches connect at most {}; switches with {} "
            "ports{} would do",
            endpoints, leaves.size(), levels, tiers.at(1).ports(), tiers.most_leaves(levels),
            tiers.sufficient_ports(levels, endpoints),
            leaves.size() <= tiers.most_leaves(sufficient) ? fmt::format(" or {} levels", sufficient) : ""));
    }
    std::size_t down = 0;
    Groups groups{
        .switches = add_switches(assembly, tiers.leaf().model, tiers.leaf().name, leaves.size(), tiers.fabric()),
        .count = static_cast<std::uint32_t>(leaves.size())};
    for (std::size_t l = 0; l < leaves.size(); ++l) {
        down = std::max(down, leaves[l].size());
        for (const VertexId end : leaves[l]) {
            assembly.connect(end, groups.switches[l], tiers.leaf().below, tiers.leaf().below.cables, tiers.fabric());
        }
    }
    if (levels == 1) {
        return;
    }
    note(assembly, tiers.leaf(), groups.switches.front(), down);
    groups.up = tiers.leaf().up(down);
    for (std::uint32_t level = 1; level + 1 < levels; ++level) {
        const std::uint32_t pod = groups_in_pod(tiers, level, levels, groups.count, level == 1 ? align : 1);
        groups = add_tier_of_pods(assembly, tiers, level, groups, pod);
        note(assembly, tiers.at(level), groups.switches.front(), pod);
    }
    add_last_tier(assembly, tiers, levels - 1, groups, asked.spines);
}

/// Fills the leaves with the endpoints in their order.
void add_filled_tree(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const TreeTiers& tiers,
                     const Asked& asked) {
    const TreeTiers::Tier& leaf = tiers.leaf();
    std::uint32_t down = leaf.room();
    if (const auto value = map.find("down")) {
        down = read_count(*value, 1, 1'000'000);
        const std::uint64_t needed = std::uint64_t{down} * leaf.below.cables + leaf.up(down);
        if (needed > leaf.ports()) {
            value->fail(fmt::format("a leaf needs {} ports for {} endpoints and {} uplinks, but {} has {}", needed,
                                    down, leaf.up(down), leaf.model.name.empty() ? "the switch" : leaf.model.name,
                                    leaf.ports()));
        }
    }
    if (down == 0) {
        tiers.fabric().fail(
            fmt::format("a leaf of {} ports has no room for an endpoint and its uplinks", leaf.ports()));
    }
    Leaves leaves(ceil_div(endpoints.all.size(), down));
    for (std::size_t e = 0; e < endpoints.all.size(); ++e) {
        leaves[e / down].push_back(endpoints.all[e]);
    }
    add_tree(assembly, tiers, leaves, asked, endpoints.all.size(), 1);
}

std::optional<std::uint32_t> read_levels(YamlMap& map) {
    static const std::vector<std::string> known{"auto", "2", "3", "4"};
    const auto value = map.find("levels");
    const std::string levels = value ? value->one_of(known) : "auto";
    if (levels == "auto") {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(levels.front() - '0');
}

}  // namespace

void add_leaf_spine(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const TreeTiers tiers(map, endpoints, catalogue);
    Asked asked{.levels = 2};
    if (const auto value = map.find("spines")) {
        asked.spines = read_count(*value, 1, 1'000'000);
    }
    add_filled_tree(assembly, endpoints, map, tiers, asked);
}

void add_fat_tree(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const TreeTiers tiers(map, endpoints, catalogue);
    add_filled_tree(assembly, endpoints, map, tiers, {.levels = read_levels(map)});
}

void add_rail_optimized(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const TreeTiers tiers(map, endpoints, catalogue);
    const Asked asked{.levels = read_levels(map)};
    std::uint32_t per_node = 0;
    for (std::size_t n = 0; n < endpoints.nodes(); ++n) {
        per_node = std::max(per_node, endpoints.node_start[n + 1] - endpoints.node_start[n]);
    }
    std::uint32_t rails = per_node;
    if (const auto value = map.find("rails")) {
        rails = read_count(*value, 1, per_node);
    }
    const auto unit_value = map.find("unit");
    const std::uint32_t room = tiers.leaf().room();
    if (room == 0) {
        tiers.fabric().fail(
            fmt::format("a leaf of {} ports has no room for an endpoint and its uplinks", tiers.leaf().ports()));
    }
    const std::uint32_t per_rail = ceil_div(per_node, rails);
    const std::uint32_t unit = unit_value ? read_count(*unit_value, 1, Limits::gpus) : std::max(1U, room / per_rail);

    // A rail of a unit has as many leaves as its endpoints need, filled one after the other.
    Leaves leaves;
    for (std::size_t first = 0; first < endpoints.nodes(); first += unit) {
        const std::size_t last = std::min(first + unit, endpoints.nodes());
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            std::vector<VertexId> members;
            for (std::size_t n = first; n < last; ++n) {
                for (std::uint32_t e = endpoints.node_start[n] + rail; e < endpoints.node_start[n + 1]; e += rails) {
                    members.push_back(endpoints.all[e]);
                }
            }
            for (std::size_t begin = 0; begin < members.size(); begin += room) {
                const std::size_t end = std::min<std::size_t>(begin + room, members.size());
                leaves.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(begin),
                                    members.begin() + static_cast<std::ptrdiff_t>(end));
            }
        }
    }
    const std::uint32_t align =
        ceil_div(std::uint64_t{std::min<std::uint64_t>(unit, endpoints.nodes())} * per_rail, room) * rails;
    add_tree(assembly, tiers, leaves, asked, endpoints.all.size(), align);
}

}  // namespace lockstep::fabric
