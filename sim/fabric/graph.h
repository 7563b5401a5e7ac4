#pragma once

#include <cstdint>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>

#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// The Boost.Graph type of the fabric, for the algorithms of that library. Vertex descriptors are the values of
/// VertexId, edge indices those of LinkId, and `csr[descriptor]` is the Vertex or the Link. The edges of a vertex stand
/// in the order in which they were connected. Heavy to compile: include it in .cpp files only.
struct Graph {
    using Csr = boost::compressed_sparse_row_graph<boost::directedS, Vertex, Link, boost::no_property, std::uint32_t,
                                                   std::uint32_t>;
    using Edge = boost::graph_traits<Csr>::edge_descriptor;

    Csr csr;
};

/// The id of an edge descriptor.
inline LinkId link_id(const Graph& graph, const Graph::Edge& edge) {
    return id_at<LinkId>(get(boost::edge_index, graph.csr, edge));
}

}  // namespace lockstep::fabric
