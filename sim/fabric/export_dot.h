#pragma once

#include <ostream>

#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// Writes the whole fabric as an undirected graph for Graphviz: an edge for each full-duplex link, labelled with the
/// bandwidth of one direction; GPUs are boxes, NICs ellipses, switches hexagons, hosts plain. Cost: linear.
void write_dot(std::ostream& out, const Fabric& fabric);

}  // namespace lockstep::fabric
