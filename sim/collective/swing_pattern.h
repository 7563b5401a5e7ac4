#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::collective {

/// Who meets whom in Swing along one dimension, and whose blocks change hands: an all-gather, which takes its steps in
/// descending order. Seen from an even coordinate, all places being offsets from it; odd ones see the mirror image. The
/// reduce-scatter is the same backwards in time.
struct SwingPattern {
    std::uint32_t extent = 2;
    std::vector<std::uint32_t> partner = {};             ///< by step: 1, -1, 3, -5, 11, ... places on
    std::vector<std::vector<std::uint32_t>> given = {};  ///< by step: whose blocks the partner gets, as it lacks them
    /// By step t, up to steps(): whose blocks are there when steps t and later are done.
    std::vector<std::vector<std::uint32_t>> had = {};

    std::uint32_t steps() const { return static_cast<std::uint32_t>(partner.size()); }
};

/// Requires: an even extent. Cost: O(extent * log extent). Source: De Sensi, Bonato, Saam and Hoefler (2024), equation
/// 2.
SwingPattern swing_pattern(std::uint32_t extent);

}  // namespace lockstep::collective
