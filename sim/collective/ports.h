#pragma once

#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// The NICs that traffic of each GPU of a node uses, in the order of Fabric::gpus_of: those the fewest links away
/// without another GPU between; GPUs that share their nearest NICs divide them as the router does. NICs without a cable
/// do not count. Cost: O(GPUs * links) of the node.
std::vector<std::vector<VertexId>> own_nics(const fabric::Fabric& fabric, NodeId node);

/// What the links of one GPU can carry, one direction.
struct PortRates {
    Bandwidth scale_up;   ///< scale-up links
    Bandwidth machine;    ///< other links that stay in the node (PCIe)
    Bandwidth scale_out;  ///< other links, to what is outside the node
};
PortRates port_rates(const fabric::Fabric& fabric, VertexId gpu);

/// What the links from a vertex to what is outside its node can carry. All links of a vertex without a node.
Bandwidth rate_out_of_node(const fabric::Fabric& fabric, VertexId vertex);

}  // namespace lockstep::collective
