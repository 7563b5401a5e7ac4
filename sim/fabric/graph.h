#pragma once

#include <cstdint>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// The Boost.Graph type of the fabric, for the algorithms of that library. Vertex descriptors are the values of
/// VertexId, edge indices those of LinkId; `csr[vertex]` is the Vertex and `links[csr[edge].link]` the Link, as
/// millions of cables are of a handful of kinds. The edges of a vertex stand in the order in which they were connected.
/// Heavy to compile: include it in .cpp files only.
struct Graph {
    struct EdgeKind {
        std::uint32_t link = 0;
    };
    using Csr = boost::compressed_sparse_row_graph<boost::directedS, Vertex, EdgeKind, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;
    using Edge = boost::graph_traits<Csr>::edge_descriptor;

    Csr csr;
    std::vector<Link> links;
};

/// The id of an edge descriptor.
inline LinkId link_id(const Graph& graph, const Graph::Edge& edge) {
    return id_at<LinkId>(get(boost::edge_index, graph.csr, edge));
}

}  // namespace lockstep::fabric
