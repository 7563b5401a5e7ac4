#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// The switches of one height: 1 next to the endpoints (leaves), 2 above them (spines), and so on.
struct SwitchTier {
    std::uint32_t height = 1;
    std::vector<VertexId> switches = {};
    Bandwidth down = {};    ///< of all links to the height below, together
    Bandwidth up = {};      ///< to the height above
    Bandwidth across = {};  ///< among switches of this height, each direction counted
    /// The largest down / up of one switch of the tier, and that switch; none if no switch has links up.
    std::optional<double> oversubscription = {};
    std::optional<VertexId> most_oversubscribed = {};
};

/// The switches outside the nodes that endpoints reach over scale-out links, by height, lowest first.
/// Cost: linear in the fabric.
std::vector<SwitchTier> switch_tiers(const Fabric& fabric);

}  // namespace lockstep::fabric
