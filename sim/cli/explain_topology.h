#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/algorithm.h"

namespace lockstep::cli {

/// A shipped topology to show an algorithm on.
struct ShowPlace {
    std::string topology;
    std::vector<std::string> settings = {};  ///< name=value
    std::uint32_t ranks = 4;
    /// How many ranks are placed on each node, the first GPUs of it; none: the topology's GPUs in their order.
    std::optional<std::uint32_t> ranks_per_node = {};
};

/// Where to try showing an algorithm if nobody says where: first what shows best what it is for, then one switch, and
/// one that reduces. ranks: as asked for; if not, as many as are good to look at.
std::vector<ShowPlace> show_places(const collective::Algorithm& algorithm, std::optional<std::uint32_t> ranks);

}  // namespace lockstep::cli
