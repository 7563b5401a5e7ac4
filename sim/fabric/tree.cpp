#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/fabric/builders.h"

namespace lockstep::fabric {

namespace {

/// The switches and links of a tree, tier by tier.
struct Tiers {
    YamlValue fabric;  ///< where messages about the whole point
    SwitchModel leaf = {};
    SwitchModel spine = {};
    SwitchModel core = {};
    LinkSpec link = {};                           ///< endpoint to leaf
    LinkSpec uplink = {};                         ///< leaf to spine
    LinkSpec core_link = {};                      ///< spine to core
    std::optional<double> oversubscription = {};  ///< none: 1
    std::optional<double> core_oversubscription = {};
    std::optional<std::uint32_t> levels = {};  ///< none: as few as will do
    std::optional<std::uint32_t> spines = {};  ///< of a tree of two levels; none: as few as will do

    /// Ports of a leaf towards the spines when `down` endpoints hang on it.
    std::uint32_t up(std::uint64_t down) const {
        return ceiling(static_cast<double>(down * link.cables) * leaf_rates() / oversubscription.value_or(1));
    }
    /// Ports of a spine towards the cores when `down` of its ports go to leaves.
    std::uint32_t core_up(std::uint64_t down) const {
        return ceiling(static_cast<double>(down) * spine_rates() / core_oversubscription.value_or(1));
    }
    /// The rate of a cable from below a leaf or a spine over that of one to above it.
    double leaf_rates() const { return link.model.bandwidth / uplink.model.bandwidth; }
    double spine_rates() const { return uplink.model.bandwidth / core_link.model.bandwidth; }

    static std::uint32_t ceiling(double value) {
        // 21 * 1.0 / 3 must not become 8 by rounding.
        return std::max(1U, static_cast<std::uint32_t>(std::ceil(value * (1 - 1e-12))));
    }
};

std::uint32_t required_ports(const SwitchModel& model, const YamlValue& at) {
    if (!model.ports) {
        at.fail("a tree needs to know the number of `ports` of its switches");
    }
    return *model.ports;
}

LinkSpec read_uplink(YamlMap& map, std::string_view key, const LinkSpec& fallback, const Catalogue& catalogue) {
    const auto value = map.find(key);
    LinkSpec link = fallback;
    if (value) {
        link = read_link(*value, catalogue, Tier::scale_out);
        if (link.cables != 1) {
            value->fail("the number of cables between switches follows from `oversubscription`; leave `cables` out");
        }
    }
    link.cables = 1;
    link.striped = false;
    return link;
}

Tiers read_tiers(YamlMap& map, const Endpoints& endpoints, const Catalogue& catalogue) {
    Tiers tiers{.fabric = map.self()};
    const YamlValue switch_value = map.require("switch");
    const auto spine_value = map.find("spine");
    const auto core_value = map.find("core");
    tiers.leaf = read_switch(switch_value, catalogue);
    tiers.spine = spine_value ? read_switch(*spine_value, catalogue) : tiers.leaf;
    tiers.core = core_value ? read_switch(*core_value, catalogue) : tiers.spine;
    required_ports(tiers.leaf, switch_value);
    required_ports(tiers.spine, spine_value.value_or(switch_value));
    required_ports(tiers.core, core_value.value_or(switch_value));

    const YamlValue link_value = map.require("link");
    tiers.link = read_link(link_value, catalogue, Tier::scale_out);
    tiers.uplink = read_uplink(map, "uplink", tiers.link, catalogue);
    tiers.core_link = read_uplink(map, "core_link", tiers.uplink, catalogue);
    const YamlValue uplink_value = map.find("uplink").value_or(link_value);
    const YamlValue core_link_value = map.find("core_link").value_or(uplink_value);
    require_port_rate(tiers.link, tiers.leaf, link_value);
    require_port_rate(tiers.uplink, tiers.leaf, uplink_value);
    require_port_rate(tiers.uplink, tiers.spine, uplink_value);
    require_port_rate(tiers.core_link, tiers.spine, core_link_value);
    require_port_rate(tiers.core_link, tiers.core, core_link_value);
    for (const NicModel& nic : endpoints.nics) {
        require_nic_rate(tiers.link, nic, link_value);
    }
    if (const auto value = map.find("oversubscription")) {
        tiers.oversubscription = value->number(0.01, 1000);
    }
    if (const auto value = map.find("core_oversubscription")) {
        tiers.core_oversubscription = value->number(0.01, 1000);
    }
    return tiers;
}

/// The most endpoints that a leaf takes with as many uplinks as they need.
std::uint32_t room_below(const Tiers& tiers, std::uint32_t ports) {
    std::uint32_t down = ports / tiers.link.cables;
    while (down > 0 && std::uint64_t{down} * tiers.link.cables + tiers.up(down) > ports) {
        --down;
    }
    return down;
}

/// The most leaves that a pod of three levels takes: what a spine has below it.
std::uint32_t room_in_pod(const Tiers& tiers, std::uint32_t ports) {
    std::uint32_t down = ports;
    while (down > 0 && std::uint64_t{down} + tiers.core_up(down) > ports) {
        --down;
    }
    return down;
}

/// The most leaves that a tree of this many levels connects.
std::uint64_t most_leaves(const Tiers& tiers, std::uint32_t levels) {
    switch (levels) {
        case 1:
            return 1;
        case 2:
            return *tiers.spine.ports;
        default:
            return std::uint64_t{room_in_pod(tiers, *tiers.spine.ports)} * *tiers.core.ports;
    }
}

/// The smallest radix at which a tree of `levels` levels holds that many endpoints, all its switches having it.
std::uint64_t sufficient_ports(Tiers tiers, std::uint32_t levels, std::uint64_t endpoints) {
    for (std::uint32_t ports = 4; ports < 1'000'000; ++ports) {
        tiers.leaf.ports = tiers.spine.ports = tiers.core.ports = ports;
        if (room_below(tiers, ports) * most_leaves(tiers, levels) >= endpoints) {
            return ports;
        }
    }
    return 1'000'000;
}

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

/// Notes what became of the `asked` oversubscription of the switches that begin with `at`, if the file said any.
void note(Assembly& assembly, VertexId at, std::optional<double> asked, std::uint32_t down, std::uint32_t up,
          double rates) {
    if (asked) {
        assembly.builder().note_oversubscription(
            {.at = at, .asked = *asked, .built = down * rates / up, .down = down, .up = up});
    }
}

void add_two_levels(Assembly& assembly, const Tiers& tiers, std::span<const VertexId> leaves, std::uint32_t up) {
    const std::uint32_t ports = *tiers.spine.ports;
    const std::uint32_t least = ceil_div(std::uint64_t{up} * leaves.size(), ports);
    std::uint32_t spines = even_share(up, least);
    if (tiers.spines) {
        spines = *tiers.spines;
        if (spines < least || up % spines != 0) {
            tiers.fabric.fail(
                fmt::format("{} spines of {} ports do not share the {} uplinks of each of {} leaves evenly; {} would",
                            spines, ports, up, leaves.size(), even_share(up, least)));
        }
    }
    interconnect(assembly, leaves, add_switches(assembly, tiers.spine, "spine", spines, tiers.fabric), up, tiers.uplink,
                 tiers.fabric);
}

/// align: leaves that should stay in one pod together, where a pod has room for them.
void add_three_levels(Assembly& assembly, const Tiers& tiers, std::span<const VertexId> leaves, std::uint32_t up,
                      std::uint32_t align) {
    const auto leaf_count = static_cast<std::uint32_t>(leaves.size());
    std::uint32_t room = room_in_pod(tiers, *tiers.spine.ports);
    const bool aligned = room >= align && ceil_div(leaf_count, room - room % align) <= *tiers.core.ports;
    room -= aligned ? room % align : 0;
    std::uint32_t pod = ceil_div(leaf_count, ceil_div(leaf_count, room));
    if (aligned) {
        pod = ceil_div(pod, align) * align;
    }
    pod = std::min(pod, leaf_count);
    const std::uint32_t pods = ceil_div(leaf_count, pod);
    // One spine per uplink of a leaf. Spine j of every pod belongs to plane j, which has its own cores.
    const std::uint32_t core_up = tiers.core_up(pod);
    const std::uint32_t cores_per_plane =
        even_share(core_up, ceil_div(std::uint64_t{pods} * core_up, *tiers.core.ports));
    const auto spines = add_switches(assembly, tiers.spine, "spine", std::uint64_t{pods} * up, tiers.fabric);
    const auto cores = add_switches(assembly, tiers.core, "core", std::uint64_t{up} * cores_per_plane, tiers.fabric);
    note(assembly, spines.front(), tiers.core_oversubscription, pod, core_up, tiers.spine_rates());
    for (std::size_t p = 0; p < pods; ++p) {
        const auto members = leaves.subspan(p * pod, std::min<std::size_t>(pod, leaf_count - p * pod));
        const auto pod_spines = std::span(spines).subspan(p * up, up);
        interconnect(assembly, members, pod_spines, up, tiers.uplink, tiers.fabric);
        for (std::size_t j = 0; j < up; ++j) {
            interconnect(assembly, pod_spines.subspan(j, 1),
                         std::span(cores).subspan(j * cores_per_plane, cores_per_plane), core_up, tiers.core_link,
                         tiers.fabric);
        }
    }
}

/// What hangs on each leaf.
using Leaves = std::vector<std::vector<VertexId>>;

void add_tree(Assembly& assembly, const Tiers& tiers, const Leaves& leaves, std::size_t endpoints,
              std::uint32_t align) {
    std::uint32_t levels = tiers.levels.value_or(0);
    if (levels == 0) {
        levels = 1;
        while (levels < 3 && leaves.size() > most_leaves(tiers, levels)) {
            ++levels;
        }
    }
    if (leaves.size() > most_leaves(tiers, levels)) {
        tiers.fabric.fail(
            fmt::format("{} endpoints make {} leaves, but {} levels of {}-port switches connect at most {}; switches "
                        "with {} ports{} would do",
                        endpoints, leaves.size(), levels, *tiers.spine.ports, most_leaves(tiers, levels),
                        sufficient_ports(tiers, levels, endpoints),
                        levels < 3 && leaves.size() <= most_leaves(tiers, 3) ? " or 3 levels" : ""));
    }
    std::size_t down = 0;
    const auto ids = add_switches(assembly, tiers.leaf, "leaf", leaves.size(), tiers.fabric);
    for (std::size_t l = 0; l < leaves.size(); ++l) {
        down = std::max(down, leaves[l].size());
        for (const VertexId end : leaves[l]) {
            assembly.connect(end, ids[l], tiers.link, tiers.link.cables, tiers.fabric);
        }
    }
    if (levels > 1) {
        note(assembly, ids.front(), tiers.oversubscription, static_cast<std::uint32_t>(down) * tiers.link.cables,
             tiers.up(down), tiers.leaf_rates());
    }
    if (levels == 2) {
        add_two_levels(assembly, tiers, ids, tiers.up(down));
    } else if (levels == 3) {
        add_three_levels(assembly, tiers, ids, tiers.up(down), align);
    }
}

/// Fills the leaves with the endpoints in their order.
void add_filled_tree(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Tiers& tiers) {
    std::uint32_t down = room_below(tiers, *tiers.leaf.ports);
    if (const auto value = map.find("down")) {
        down = read_count(*value, 1, 1'000'000);
        const std::uint64_t needed = std::uint64_t{down} * tiers.link.cables + tiers.up(down);
        if (needed > *tiers.leaf.ports) {
            value->fail(fmt::format("a leaf needs {} ports for {} endpoints and {} uplinks, but {} has {}", needed,
                                    down, tiers.up(down), tiers.leaf.name.empty() ? "the switch" : tiers.leaf.name,
                                    *tiers.leaf.ports));
        }
    }
    if (down == 0) {
        tiers.fabric.fail(
            fmt::format("a leaf of {} ports has no room for an endpoint and its uplinks", *tiers.leaf.ports));
    }
    Leaves leaves(ceil_div(endpoints.all.size(), down));
    for (std::size_t e = 0; e < endpoints.all.size(); ++e) {
        leaves[e / down].push_back(endpoints.all[e]);
    }
    add_tree(assembly, tiers, leaves, endpoints.all.size(), 1);
}

void read_levels(YamlMap& map, Tiers& tiers) {
    static const std::vector<std::string> known{"auto", "2", "3"};
    if (const auto value = map.find("levels")) {
        const std::string levels = value->one_of(known);
        if (levels != "auto") {
            tiers.levels = levels == "2" ? 2 : 3;
        }
    }
}

}  // namespace

void add_leaf_spine(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    Tiers tiers = read_tiers(map, endpoints, catalogue);
    tiers.levels = 2;
    if (const auto value = map.find("spines")) {
        tiers.spines = read_count(*value, 1, 1'000'000);
    }
    add_filled_tree(assembly, endpoints, map, tiers);
}

void add_fat_tree(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    Tiers tiers = read_tiers(map, endpoints, catalogue);
    read_levels(map, tiers);
    add_filled_tree(assembly, endpoints, map, tiers);
}

void add_rail_optimized(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    Tiers tiers = read_tiers(map, endpoints, catalogue);
    read_levels(map, tiers);
    std::uint32_t per_node = 0;
    for (std::size_t n = 0; n < endpoints.nodes(); ++n) {
        per_node = std::max(per_node, endpoints.node_start[n + 1] - endpoints.node_start[n]);
    }
    std::uint32_t rails = per_node;
    if (const auto value = map.find("rails")) {
        rails = read_count(*value, 1, per_node);
    }
    const auto unit_value = map.find("unit");
    const std::uint32_t room = room_below(tiers, *tiers.leaf.ports);
    if (room == 0) {
        tiers.fabric.fail(
            fmt::format("a leaf of {} ports has no room for an endpoint and its uplinks", *tiers.leaf.ports));
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
    add_tree(assembly, tiers, leaves, endpoints.all.size(), align);
}

}  // namespace lockstep::fabric
