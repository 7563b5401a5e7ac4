#pragma once

#include <ostream>

#include "sim/fabric/fabric.h"

namespace lockstep::interop {

// Both write the whole fabric as an undirected multigraph: an edge for each full-duplex link, with the bandwidth of one
// direction. Cost: linear.

/// GraphML, as yEd, Gephi, igraph and NetworkX read it. Vertices have their names as ids and the data `kind`, `node`,
/// `device`, `relays`, `reduces`; edges `kind`, `tier`, `bandwidth_Bps`, `line_rate_Bps`, `efficiency`, `cables`,
/// `latency_s`. Source: graphml.graphdrawing.org, version 1.0.
void write_graphml(std::ostream& out, const fabric::Fabric& fabric);

/// `lockstep.graph/1` of docs/json.md: the same data in the node-link form of NetworkX (version 3.4 on).
void write_graph_json(std::ostream& out, const fabric::Fabric& fabric);

}  // namespace lockstep::interop
