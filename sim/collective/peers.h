#pragma once

#include <optional>
#include <string>

#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The complaint (of Reach) about the first message of the schedule, rank by rank, whose two ends no path joins; none
/// if all are joined. Cost: O(links of the ranks) where every pair is joined, else that of making all programs.
std::optional<std::string> unjoined_peers(const Communicator& communicator, const Schedule& schedule);

}  // namespace lockstep::collective
