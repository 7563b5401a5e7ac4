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
    LinkId link{};
    double share = 1.0;
};

/// The links a flow crosses, each listed once, and the time its first byte takes from end to end. All shares move
/// together: a flow of rate r uses share * r of each link.
struct Route {
    std::vector<RouteShare> links;
    Seconds latency;  ///< of the slowest of its paths
};

/// How many flows cross each link now, by LinkId; what `adaptive` looks at.
using LinkLoads = std::span<const std::uint32_t>;

/// Finds routes lazily and remembers them. The GPUs of one node are joined by the fastest tier that connects them:
/// scale-up links before PCIe before leaving the node. Scale-up traffic is striped over all paths of fewest links
/// (NVSwitch planes) in proportion to their bandwidth, whatever the policy, as the hardware interleaves addresses; so
/// is traffic between nodes of a rack that share scale-up switches. Other traffic between nodes is striped over the
/// GPU's own NICs, the i-th to the i-th of the destination, and each stripe takes paths of fewest links by policy:
///
///   static:   one, chosen by the destination (as d-mod-k routing of fat trees: port on its leaf, then leaf)
///
///   ecmp:     one, by a hash of seed, the two NICs, flow and each switch
///
///   spray:    all, evenly; parallel cables count as paths of their own
///
///   adaptive: one whose busiest link carries the fewest flows as the flow starts, ties to the first in link order
///
/// NICs whose networks do not meet (rails without a spine) are reached by another NIC of the sender's node, over PCIe
/// or over GPUs that relay.
///
/// Cost: distances are searched once per destination's switch, over switches (and relaying
/// GPUs) only and as far as needed; nothing is quadratic in GPUs. A route that is known costs one probe of a hash
/// table, two for ecmp; adaptive weighs all links of the minimal paths each time. The links of a sprayed route are as
/// many as those of all its paths.
class Router {
  public:
    /// The fabric must outlive it.
    Router(const Fabric& fabric, RoutingPolicy policy, std::uint64_t seed);
    ~Router();
    Router(Router&&) noexcept;

    RoutingPolicy policy() const;
    std::uint64_t seed() const;

    /// The route of one flow between two GPUs. `flow` tells flows of the same pair apart (a connection of a channel);
    /// `loads` is read by `adaptive` only and may be empty otherwise. The reference stays valid as long as the router.
    /// Throws: SimulationError naming both ends when there is no path (and that relaying through GPUs is off, where it
    /// would help), std::invalid_argument if one is no GPU, both are the same, or `loads` is due and of another size.
    const Route& route(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads);
    /// The same, written to `route` and not remembered: for who looks once at many.
    void find_route(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route);

    /// The links of an in-switch reduction: from every member up a tree of switches that can reduce, over any depth,
    /// each link once; then down to `root`. Striped over planes and NICs: see ReductionTrees in route_in_switch.h.
    /// Throws: SimulationError when no such switches join them all.
    const Route& reduction_route(std::span<const VertexId> members, VertexId root);
    /// The same for a multicast from `root` to every member (root included).
    const Route& multicast_route(std::span<const VertexId> members, VertexId root);
    /// The links of an in-switch reduction whose sum goes to every member: up from each of them and down to each.
    const Route& sum_route(std::span<const VertexId> members);
    /// Whether the three above would find switches for these members.
    bool can_reduce_in_switch(std::span<const VertexId> members) const;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace lockstep::fabric
