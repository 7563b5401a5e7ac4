#include <fmt/format.h>

#include "sim/fabric/builders.h"

namespace lockstep::fabric {

namespace {

/// The size of a dragonfly, in the letters of Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly
/// Topology", ISCA 2008: a switches in each group, p endpoints and h global cables on each switch.
struct Size {
    std::uint32_t groups;
    std::uint32_t a;
    std::uint32_t p;
    std::uint32_t h;

    /// Cables between each two groups.
    std::uint64_t between_groups() const { return groups > 1 ? std::uint64_t{a} * h / (groups - 1) : 0; }
};

Size read_size(YamlMap& map, const Endpoints& endpoints) {
    const YamlValue groups = map.require("groups");
    const Size size{.groups = read_count(groups, 1, 65'536),
                    .a = read_count(map.require("switches"), 1, 65'536),
                    .p = read_count(map.require("hosts"), 1, 65'536),
                    .h = read_count(map.require("global_links"), 0, 65'536)};
    if (size.groups > 1 && size.between_groups() == 0) {
        groups.fail(fmt::format(
            "{} groups do not reach each other: {} switches with {} global links each have {} in all, enough "
            "for {} groups; {} global links each would do",
            size.groups, size.a, size.h, std::uint64_t{size.a} * size.h, std::uint64_t{size.a} * size.h + 1,
            (size.groups - 1 + size.a - 1) / size.a));
    }
    const std::uint64_t room = std::uint64_t{size.groups} * size.a * size.p;
    if (endpoints.all.size() > room) {
        const std::uint64_t group = std::uint64_t{size.a} * size.p;
        groups.fail(fmt::format(
            "{} endpoints do not fit: there is room for {} ({} x {} switches x {} hosts); {} groups would do",
            endpoints.all.size(), room, size.groups, size.a, size.p, (endpoints.all.size() + group - 1) / group));
    }
    return size;
}

}  // namespace

void add_dragonfly(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const Size size = read_size(map, endpoints);
    const YamlValue switch_value = map.require("switch");
    const SwitchModel model = read_switch(switch_value, catalogue);
    const YamlValue link_value = map.require("link");
    const LinkSpec link = read_link(link_value, catalogue, Tier::scale_out);
    const auto local_value = map.find("local_link");
    const auto global_value = map.find("global_link");
    const LinkSpec local = local_value ? read_link(*local_value, catalogue, Tier::scale_out) : link;
    const LinkSpec global = global_value ? read_link(*global_value, catalogue, Tier::scale_out) : link;
    require_port_rate(link, model, link_value);
    require_port_rate(local, model, local_value.value_or(link_value));
    require_port_rate(global, model, global_value.value_or(link_value));
    for (const NicModel& nic : endpoints.nics) {
        require_nic_rate(link, nic, link_value);
    }
    const std::uint64_t ports = std::uint64_t{size.p} * link.cables + std::uint64_t{size.a - 1} * local.cables +
                                std::uint64_t{size.h} * global.cables;
    if (model.ports && ports > *model.ports) {
        switch_value.fail(fmt::format(
            "a switch needs {} ports ({} to endpoints, {} within its group, {} global), but {} has {}", ports,
            std::uint64_t{size.p} * link.cables, std::uint64_t{size.a - 1} * local.cables,
            std::uint64_t{size.h} * global.cables, model.name.empty() ? "the switch" : model.name, *model.ports));
    }

    assembly.require_room_for_devices(std::uint64_t{size.groups} * size.a, switch_value);
    std::vector<VertexId> switches;
    for (std::uint32_t g = 0; g < size.groups; ++g) {
        for (std::uint32_t s = 0; s < size.a; ++s) {
            switches.push_back(assembly.add({.name = fmt::format("group{}.switch{}", g, s),
                                             .kind = VertexKind::switch_,
                                             .device = model.name,
                                             .reduces = model.reduces},
                                            sockets_of(model), switch_value));
        }
    }
    for (std::size_t e = 0; e < endpoints.all.size(); ++e) {
        assembly.connect(endpoints.all[e], switches[e / size.p], link, link.cables, link_value);
    }
    for (std::uint32_t g = 0; g < size.groups; ++g) {
        for (std::uint32_t s = 0; s < size.a; ++s) {
            for (std::uint32_t t = s + 1; t < size.a; ++t) {
                assembly.connect(switches[std::size_t{g} * size.a + s], switches[std::size_t{g} * size.a + t], local,
                                 local.cables, local_value.value_or(link_value));
            }
        }
    }
    // Seen from a group, the peers stand in a circle. The m-th cable to the peer o places on leaves from the group's
    // global port (o - 1) * n + m, and ports go round over the switches: every switch has its share, and cables to one
    // peer start apart.
    const std::uint64_t n = size.between_groups();
    for (std::uint32_t g = 0; g < size.groups; ++g) {
        for (std::uint32_t peer = g + 1; peer < size.groups; ++peer) {
            const std::uint32_t there = peer - g;
            const std::uint32_t back = size.groups - there;
            for (std::uint64_t m = 0; m < n; ++m) {
                const std::uint64_t s = ((there - 1) * n + m) % size.a;
                const std::uint64_t t = ((back - 1) * n + m) % size.a;
                assembly.connect(switches[std::size_t{g} * size.a + s], switches[std::size_t{peer} * size.a + t],
                                 global, global.cables, global_value.value_or(link_value));
            }
        }
    }
}

}  // namespace lockstep::fabric
