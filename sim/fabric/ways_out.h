#pragma once

#include <vector>

#include "sim/base/units.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// How a GPU gets out of its node without crossing a GPU that does not relay.
struct WayOut {
    bool node_has_one = false;  ///< whether any vertex of the node has a link out of it
    bool exists = false;        ///< whether this GPU reaches such a vertex
    Bandwidth scale_out = {};   ///< its part of the scale-out links out of the node that it reaches: each is divided
                                ///< evenly among the GPUs that reach it
};

/// Of every GPU, in the order of Fabric::gpus. A GPU without a node is out of it by any link. Cost: linear in the
/// fabric.
std::vector<WayOut> ways_out(const Fabric& fabric);

}  // namespace lockstep::fabric
