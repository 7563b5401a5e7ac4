#include "sim/fabric/export_dot.h"

#include <stdexcept>
#include <string>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>

namespace lockstep::fabric {

namespace {

struct DrawnVertex {
    std::string name = {};
    const char* shape = "";
};
struct DrawnLink {
    std::string label = {};
};
using Drawing = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, DrawnVertex, DrawnLink>;

const char* shape_of(VertexKind kind) {
    switch (kind) {
        case VertexKind::gpu:
            return "box";
        case VertexKind::nic:
            return "ellipse";
        case VertexKind::switch_:
            return "hexagon";
        case VertexKind::host:
            return "plaintext";
    }
    throw std::invalid_argument("shape_of: no such kind of vertex");
}

}  // namespace

void write_dot(std::ostream& out, const Fabric& fabric) {
    Drawing drawing;
    for (std::size_t at = 0; at < fabric.vertex_count(); ++at) {
        const Vertex& vertex = fabric.vertex(id_at<VertexId>(at));
        add_vertex(DrawnVertex{vertex.name, shape_of(vertex.kind)}, drawing);
    }
    for (std::size_t at = 0; at < fabric.link_count(); ++at) {
        const auto link = id_at<LinkId>(at);
        if (at < index(fabric.reverse(link))) {
            add_edge(index(fabric.from(link)), index(fabric.to(link)), DrawnLink{to_text(fabric.link(link).bandwidth)},
                     drawing);
        }
    }
    const auto quoted = [](const std::string& text) { return boost::escape_dot_string(text); };
    boost::write_graphviz(
        out, drawing,
        [&](std::ostream& to, Drawing::vertex_descriptor vertex) { to << "[shape=" << drawing[vertex].shape << ']'; },
        [&](std::ostream& to, const Drawing::edge_descriptor& edge) {
            to << "[label=" << quoted(drawing[edge].label) << ']';
        },
        [&](std::ostream& to) { to << "label=" << quoted(fabric.name()) << ";\n"; }, get(&DrawnVertex::name, drawing));
}

}  // namespace lockstep::fabric
