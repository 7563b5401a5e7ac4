#pragma once

#include <string>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// Says for people why no route leads from one GPU to another: nothing connects them, or only paths that cross GPUs
/// which do not relay, or only paths through the inside of another machine. Cost: O(links); for the error message only.
std::string why_no_path(const Fabric& fabric, VertexId from, VertexId to);

}  // namespace lockstep::fabric
