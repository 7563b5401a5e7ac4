#pragma once

#include <string_view>
#include <vector>

#include "sim/collective/algorithm.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/replay.h"
#include "sim/replay/result.h"

namespace lockstep::replay {

/// Messages go at the links' own rates, without a library's flags and fences: what NCCL calls Simple.
inline constexpr std::string_view protocol_name = "simple";

/// The algorithm of that name, or for `auto` the candidate with the least simulated time.
/// Throws: as run_collective.
const collective::Algorithm& chosen_algorithm(const collective::Communicator& communicator,
                                              const collective::Request& request, std::string_view name,
                                              const Settings& settings);

/// The links that carried something, with their utilisation over `time`. bytes: by LinkId.
std::vector<LinkUse> link_uses(const fabric::Fabric& fabric, const std::vector<double>& bytes, Seconds time);

}  // namespace lockstep::replay
