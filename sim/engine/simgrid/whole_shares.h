#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/fabric/route.h"

namespace lockstep::engine {

/// A route's shares as ratios of whole numbers: share i = parts[i] / whole.
struct WholeShares {
    std::vector<std::uint32_t> parts;  ///< in the order of the route's links, without a common divisor
    double whole = 1.0;  ///< the common denominator; below 1 where all shares are multiples of a number above 1
};

/// Finds the smallest whole numbers whose ratios are the shares of `route` to 1e-9 relative.
/// Returns: none if they would add up to more than `most` in all.
/// Source: best rational approximation by continued fractions (Knuth, "The Art of Computer Programming", vol.
/// 2, 4.5.3).
std::optional<WholeShares> whole_shares(const fabric::Route& route, std::uint32_t most);

}  // namespace lockstep::engine
