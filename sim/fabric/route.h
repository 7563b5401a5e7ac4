#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// A link of a route and the part of the flow that crosses it: 1 on a single path, 1/k over k sprayed paths.
struct RouteShare {
    LinkId link;
    double share = 1.0;
};

/// The links a flow crosses, each listed once, and the time its first byte takes from end to end. All shares move together: a flow
/// of rate r uses share * r of each link.
struct Route {
    std::vector<RouteShare> links;
    Seconds latency;  ///< of the slowest of its paths
};

/// How many flows cross each link now, by LinkId; what `adaptive` looks at.
using LinkLoads = std::span<const std::uint32_t>;

/// Finds routes lazily and remembers them. Inside a node, traffic takes the fastest tier that connects the two GPUs and is striped
/// over equal paths (NVSwitch planes); between nodes it is striped over the GPU's own NICs, and each stripe follows the policy:
///   static    one minimal path, chosen by the destination (as d-mod-k routing of fat trees: port on its leaf, then leaf)
///   ecmp      one minimal path, hashed from seed, endpoints and flow
///   spray     even over all minimal paths
///   adaptive  the minimal path whose busiest link carries the fewest flows when the flow starts, ties to the first
/// Cost: searches are over the switches (and relaying GPUs) once per destination's point of attachment; nothing is quadratic in GPUs.
class Router {
  public:
    Router(const Fabric& fabric, RoutingPolicy policy, std::uint64_t seed);
    ~Router();
    Router(Router&&) noexcept;

    RoutingPolicy policy() const;

    /// The route of one flow between two GPUs. `flow` tells flows of the same pair apart (a connection of a channel); `loads` is
    /// read by `adaptive` only and may be empty otherwise. The reference stays valid as long as the router.
    /// Throws: SimulationError naming both ends when there is no path (and that relaying through GPUs is off, where it would help).
    const Route& route(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads);

    /// The links of an in-switch reduction: from every member up to a switch that all share and that can reduce, once down to
    /// `root`; striped over the planes. Throws: SimulationError when no such switch joins them all.
    const Route& reduction_route(std::span<const VertexId> members, VertexId root);
    /// The same for a multicast from `root` to every member (root included).
    const Route& multicast_route(std::span<const VertexId> members, VertexId root);
    /// Whether the two above would find a switch for these members.
    bool can_reduce_in_switch(std::span<const VertexId> members) const;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace lockstep::fabric
