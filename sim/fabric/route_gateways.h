#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route_fabric.h"
#include "sim/fabric/route_node.h"

namespace lockstep::fabric {

/// A way for a GPU out of its machine.
struct Gateway {
    std::uint32_t endpoint = 0;  ///< of the NIC, or of the GPU itself
    std::vector<LinkId> access;  ///< the links from the GPU to it
    Bandwidth bandwidth;         ///< of its links out of the machine, together
};

/// Which NICs belong to which GPU. A GPU that is cabled to the fabric itself needs none. Else it owns the NICs nearest
/// to it, by links; where several GPUs are equally near to the same NICs they divide them in order, as NCCL does: of n
/// NICs and g GPUs, GPU i takes ceil(n / g) from number floor(i n / g) on. NICs without a cable do not count. A machine
/// without NICs may leave by any other vertex that is cabled to the outside. Source: NCCL 2.2x, ncclTopoGetLocalNet.
class Gateways {
  public:
    /// Both must outlive it.
    Gateways(const Fabric& fabric, NodeSearch& near, FabricSearch& fabric_search);

    /// Worked out for the GPU's whole node on first use; empty if no way leads out.
    std::span<const Gateway> owned_by(VertexId gpu);

    /// Every way out of the GPU's machine, whoever owns it, nearest first.
    std::vector<Gateway> within_reach(VertexId gpu);

  private:
    std::vector<VertexId> exits_of(NodeId node) const;
    void assign(NodeId node);
    Gateway gateway(NodeSearch::Found found);
    bool leaves_machine(LinkId link) const;

    const Fabric* fabric_;
    NodeSearch* near_;
    FabricSearch* fabric_search_;
    std::vector<bool> assigned_;               // by NodeId
    std::vector<std::vector<Gateway>> owned_;  // by VertexId
};

}  // namespace lockstep::fabric
