#include "sim/interop/export_graph.h"

#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

namespace lockstep::interop {

using Json = nlohmann::ordered_json;

namespace {

/// Calls `visit` with each full-duplex link: the direction that was connected first.
template <class Visit>
void for_each_cable(const fabric::Fabric& fabric, Visit visit) {
    for (std::size_t at = 0; at < fabric.link_count(); ++at) {
        const auto link = id_at<LinkId>(at);
        if (index(link) < index(fabric.reverse(link))) {
            visit(link);
        }
    }
}

Json vertex_json(const fabric::Vertex& vertex) {
    Json json{{"id", vertex.name}, {"kind", fabric::name_of(vertex.kind)}};
    if (vertex.node) {
        json["node"] = index(*vertex.node);
    }
    if (!vertex.device.empty()) {
        json["device"] = vertex.device;
    }
    json["relays"] = vertex.relays;
    json["reduces"] = vertex.reduces;
    return json;
}

Json link_json(const fabric::Fabric& fabric, LinkId id) {
    const fabric::Link& link = fabric.link(id);
    return {{"source", fabric.vertex(fabric.from(id)).name},
            {"target", fabric.vertex(fabric.to(id)).name},
            {"kind", fabric::name_of(link.kind)},
            {"tier", fabric::name_of(link.tier)},
            {"bandwidth_Bps", link.bandwidth.value},
            {"line_rate_Bps", link.line_rate.value},
            {"efficiency", link.efficiency},
            {"cables", link.cables},
            {"latency_s", link.latency.value}};
}

/// A kind of data in GraphML.
struct Key {
    const char* element;
    const char* name;
    const char* type;
};
constexpr std::array keys{Key{"node", "kind", "string"},          Key{"node", "node", "int"},
                          Key{"node", "device", "string"},        Key{"node", "relays", "boolean"},
                          Key{"node", "reduces", "boolean"},      Key{"edge", "kind", "string"},
                          Key{"edge", "tier", "string"},          Key{"edge", "bandwidth_Bps", "double"},
                          Key{"edge", "line_rate_Bps", "double"}, Key{"edge", "efficiency", "double"},
                          Key{"edge", "cables", "int"},           Key{"edge", "latency_s", "double"}};

/// Data of an element under the same names as in JSON.
void append_data(pugi::xml_node element, const Json& json) {
    for (const Key& key : keys) {
        if (key.element == std::string_view(element.name()) && json.contains(key.name)) {
            const Json& value = json.at(key.name);
            pugi::xml_node data = element.append_child("data");
            data.append_attribute("key") = fmt::format("{}_{}", key.element, key.name).c_str();
            data.text().set((value.is_string() ? value.get<std::string>() : value.dump()).c_str());
        }
    }
}

}  // namespace

void write_graphml(std::ostream& out, const fabric::Fabric& fabric) {
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("graphml");
    root.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
    for (const Key& key : keys) {
        pugi::xml_node node = root.append_child("key");
        node.append_attribute("id") = fmt::format("{}_{}", key.element, key.name).c_str();
        node.append_attribute("for") = key.element;
        node.append_attribute("attr.name") = key.name;
        node.append_attribute("attr.type") = key.type;
    }
    pugi::xml_node graph = root.append_child("graph");
    graph.append_attribute("id") = fabric.name().c_str();
    graph.append_attribute("edgedefault") = "undirected";
    for (std::size_t at = 0; at < fabric.vertex_count(); ++at) {
        const fabric::Vertex& vertex = fabric.vertex(id_at<VertexId>(at));
        pugi::xml_node node = graph.append_child("node");
        node.append_attribute("id") = vertex.name.c_str();
        append_data(node, vertex_json(vertex));
    }
    for_each_cable(fabric, [&](LinkId link) {
        const Json json = link_json(fabric, link);
        pugi::xml_node edge = graph.append_child("edge");
        edge.append_attribute("source") = json.at("source").get_ref<const std::string&>().c_str();
        edge.append_attribute("target") = json.at("target").get_ref<const std::string&>().c_str();
        append_data(edge, json);
    });
    document.save(out, "  ", pugi::format_indent, pugi::encoding_utf8);
}

void write_graph_json(std::ostream& out, const fabric::Fabric& fabric) {
    const auto text = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
    out << "{\n  \"schema\": \"lockstep.graph/1\",\n  \"directed\": false,\n  \"multigraph\": true,\n  \"graph\": "
        << text({{"name", fabric.name()}, {"routing", fabric::name_of(fabric.routing())}}) << ",\n  \"nodes\": [";
    for (std::size_t at = 0; at < fabric.vertex_count(); ++at) {
        out << (at == 0 ? "\n    " : ",\n    ") << text(vertex_json(fabric.vertex(id_at<VertexId>(at))));
    }
    out << "\n  ],\n  \"edges\": [";
    bool first = true;
    for_each_cable(fabric, [&](LinkId link) {
        out << (first ? "\n    " : ",\n    ") << text(link_json(fabric, link));
        first = false;
    });
    out << "\n  ]\n}\n";
}

}  // namespace lockstep::interop
