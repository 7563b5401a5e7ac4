#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.h"

namespace lockstep::collective {

/// Ranks counted on from the root, which is place 0, round in a circle.
struct Rotation {
    std::uint32_t ranks = 1;
    RankId root{};

    std::uint32_t place_of(RankId rank) const {
        return (static_cast<std::uint32_t>(rank) + ranks - static_cast<std::uint32_t>(root)) % ranks;
    }
    RankId rank_at(std::uint32_t place) const {
        return id_at<RankId>((std::size_t{place} + static_cast<std::uint32_t>(root)) % ranks);
    }
};

/// The smallest k with 2^k >= ranks. Requires: ranks >= 1.
std::uint32_t ceil_log2(std::uint32_t ranks);

/// A child in a binomial tree, with everything below it: places `place` .. `place + size - 1`.
struct Subtree {
    std::uint32_t place = 0;
    std::uint32_t size = 1;
};

/// Where a place stands in the binomial tree over places 0 .. size - 1 with root 0.
struct BinomialPlace {
    std::optional<std::uint32_t> parent;  ///< the place without its lowest set bit; none at the root
    std::vector<Subtree> children;        ///< at distances 1, 2, 4, ...: smallest subtree first
    std::uint32_t size = 1;               ///< of the subtree: this place and all below
};

/// Requires: place < size.
/// Source: the tree of MPICH's broadcast and reduction (Thakur, Rabenseifner and Gropp 2005, sections 3.2 and 3.4).
BinomialPlace binomial_place(std::uint32_t place, std::uint32_t size);

}  // namespace lockstep::collective
