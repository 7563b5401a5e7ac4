#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::report {

/// Which part of a move travels a path: a switch adds up before it hands the sum on.
enum class Leg : std::uint8_t { whole, to_switch, from_switch };

/// One way that a part of a flow takes, link by link.
struct RoutePath {
    std::vector<LinkId> links = {};
    double share = 1;  ///< of the flow
    Leg leg = Leg::whole;
};

/// The paths that make up the links of a route from one vertex to another, the first in the order of links first. Where
/// there are more than `most`, only those. Cost: O(most * links of the route).
std::vector<RoutePath> paths_of(const fabric::Fabric& fabric, const fabric::Route& route, VertexId from, VertexId to,
                                std::size_t most = 16);

/// The paths of an in-switch operation: from each of `from` to the switches, and from there to each of `to`.
std::vector<RoutePath> switch_paths(const fabric::Fabric& fabric, const fabric::Route& route,
                                    std::span<const VertexId> from, std::span<const VertexId> to);

}  // namespace lockstep::report
