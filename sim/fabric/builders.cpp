#include "sim/fabric/builders.h"

#include <fmt/format.h>

#include "sim/fabric/grid.h"

namespace lockstep::fabric {

void add_single_switch(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const YamlValue switch_value = map.require("switch");
    const SwitchModel model = read_switch(switch_value, catalogue);
    const YamlValue link_value = map.require("link");
    const LinkSpec link = read_link(link_value, catalogue, Tier::scale_out);
    require_port_rate(link, model, link_value);
    for (const NicModel& nic : endpoints.nics) {
        require_nic_rate(link, nic, link_value);
    }
    const std::uint64_t needed = std::uint64_t{link.cables} * endpoints.all.size();
    if (model.ports && needed > *model.ports) {
        switch_value.fail(fmt::format("{} endpoints need {} ports, but {} has {}", endpoints.all.size(), needed,
                                      model.name.empty() ? "the switch" : model.name, *model.ports));
    }
    assembly.require_room_for_links(needed, link_value);
    const VertexId centre =
        assembly.add({.name = "switch0", .kind = VertexKind::switch_, .device = model.name, .reduces = model.reduces},
                     sockets_of(model), switch_value);
    for (const VertexId end : endpoints.all) {
        assembly.connect(end, centre, link, link.cables, link_value);
    }
}

void add_torus(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue) {
    const YamlValue link_value = map.require("link");
    const LinkSpec link = read_link(link_value, catalogue, Tier::scale_out);
    const Grid grid = read_grid(map, endpoints.all.size(), endpoints.nics.empty() ? "GPUs" : "NICs");
    if (!endpoints.gpus_relay) {
        map.self().fail("the GPUs of a torus forward each other's traffic: they need `relay: true`");
    }
    for (const Grid::Step& step : grid.steps()) {
        assembly.connect(endpoints.all[step.from], endpoints.all[step.to], link, link.cables * step.cables, link_value);
    }
}

void add_fabric(Assembly& assembly, const Endpoints& endpoints, const YamlValue& value, const Catalogue& catalogue) {
    static const std::vector<std::string> kinds{"single-switch", "leaf-spine", "rail-optimized",
                                                "fat-tree",      "torus",      "dragonfly"};
    YamlMap map = value.map();
    const std::string kind = map.require("kind").one_of(kinds);
    if (kind == "single-switch") {
        add_single_switch(assembly, endpoints, map, catalogue);
    } else if (kind == "leaf-spine") {
        add_leaf_spine(assembly, endpoints, map, catalogue);
    } else if (kind == "rail-optimized") {
        add_rail_optimized(assembly, endpoints, map, catalogue);
    } else if (kind == "fat-tree") {
        add_fat_tree(assembly, endpoints, map, catalogue);
    } else if (kind == "torus") {
        add_torus(assembly, endpoints, map, catalogue);
    } else {
        add_dragonfly(assembly, endpoints, map, catalogue);
    }
    map.finish();
}

}  // namespace lockstep::fabric
