#pragma once

#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::fabric {

/// The switches that can reduce and to which every one of `members` is cabled directly, in order of id: the planes of
/// an NVSwitch system. Empty if there is none or no member.
std::vector<VertexId> shared_reducers(const Fabric& fabric, std::span<const VertexId> members);

/// Which way the data of an in-switch operation flows.
enum class InSwitch : std::uint8_t {
    reduction,  ///< from every member, to the root
    multicast,  ///< from the root, to every member
    sum,        ///< from every member, to every member; the root, one of them, is of no account
};

/// The links of one in-switch operation, striped over the planes in proportion to the bandwidth that the
/// worst-connected participant has to each. Throws: SimulationError naming the members when no switch joins them and
/// the root, std::invalid_argument for no members or one named twice.
Route in_switch_route(const Fabric& fabric, InSwitch operation, std::span<const VertexId> members, VertexId root);

}  // namespace lockstep::fabric
