#include "sim/fabric/load_fabric.h"

#include <array>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/fabric/assembly.h"
#include "sim/fabric/builders.h"
#include "sim/fabric/node_plan.h"

namespace lockstep::fabric {

namespace {

RoutingPolicy read_routing(const YamlValue& value) {
    constexpr std::array policies{RoutingPolicy::static_, RoutingPolicy::ecmp, RoutingPolicy::spray,
                                  RoutingPolicy::adaptive};
    std::vector<std::string> words;
    words.reserve(policies.size());
    for (const RoutingPolicy policy : policies) {
        words.emplace_back(name_of(policy));
    }
    const std::string word = value.one_of(words);
    std::size_t place = 0;
    while (name_of(policies[place]) != word) {
        ++place;
    }
    return policies[place];
}

Endpoints add_nodes(Assembly& assembly, const YamlValue& value, const Catalogue& catalogue) {
    Endpoints endpoints;
    endpoints.node_start.push_back(0);
    const std::vector<YamlValue> templates = value.is_list() ? value.list() : std::vector{value};
    for (const YamlValue& item : templates) {
        stamp(read_node(item, catalogue), assembly, endpoints, item);
    }
    return endpoints;
}

}  // namespace

Fabric load_fabric(const YamlFile& file, const DataFiles& data) {
    const Catalogue catalogue(data);
    YamlMap root = file.root();
    Assembly assembly(std::filesystem::path(file.name()).stem().string());
    if (const auto summary = root.find("summary")) {
        summary->text();
    }
    if (const auto routing = root.find("routing")) {
        assembly.builder().set_routing(read_routing(*routing));
    }
    const auto node = root.find("node");
    const auto fabric = root.find("fabric");
    const auto vertices = root.find("vertices");
    const auto links = root.find("links");
    root.finish();
    if (!node && !vertices) {
        root.self().fail("a topology needs a `node`, or `vertices` and `links`");
    }
    if (fabric && !node) {
        fabric->fail("there is no `node` to connect");
    }
    if (node) {
        const Endpoints endpoints = add_nodes(assembly, *node, catalogue);
        if (fabric) {
            add_fabric(assembly, endpoints, *fabric, catalogue);
        }
    }
    if (vertices) {
        add_vertices(assembly, *vertices, catalogue);
    }
    if (links) {
        add_links(assembly, *links, catalogue);
    }
    assembly.require_ports();
    try {
        Fabric built = assembly.builder().build();
        if (built.gpus().empty()) {
            vertices->fail("a topology needs at least one vertex of kind `gpu`");
        }
        return built;
    } catch (const std::invalid_argument& error) {  // two templates whose names run into one: node + 10, node1 + 0
        root.self().fail(error.what());
    }
}

}  // namespace lockstep::fabric
