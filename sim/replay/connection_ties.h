#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sim/fabric/route.h"
#include "sim/replay/connection_table.h"
#include "sim/replay/units.h"

namespace lockstep::replay {

/// How a connection holds on to a unit or a link.
struct ConnectionRole {
    std::uint32_t at;  ///< number of the unit, or of the link
    bool is_link;
    std::uint64_t label;
};

/// Gets to know a connection as what the refinement calls a tie.
using UseTie = std::function<void(const Digest& kind, std::span<const ConnectionRole> roles)>;

/// Tells `use` of each connection between units, in their order and on this thread: it ties together the sender's and
/// the receiver's units, other units that it passes through, and links between units.
/// router: over the fabric; threads: on how many at most routes are looked for, each but the first with a router of its
/// own. Cost: O(links of all routes). Throws: SimulationError where no path joins two GPUs.
void for_each_tie(const fabric::Fabric& fabric, const Units& units, fabric::Router& router,
                  std::span<const ConnectionTable::Entry> connections, std::size_t threads, const UseTie& use);

}  // namespace lockstep::replay
