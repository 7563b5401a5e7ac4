#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fabric/check.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// `gpu0, gpu1, gpu2, gpu3 and 5 more`.
std::string names(const Fabric& fabric, std::span<const VertexId> vertices);
/// `1 cable`, `2 cables`.
std::string plural(std::size_t count, std::string_view one, std::string_view many);

/// What looks wrong in how a fabric is cabled, whoever can reach whom: NICs that lead nowhere or wait for their bus,
/// oversubscription and its rounding, unlike cables, unlike nodes.
void find_in_wiring(const Fabric& fabric, std::vector<Finding>& findings);

}  // namespace lockstep::fabric
