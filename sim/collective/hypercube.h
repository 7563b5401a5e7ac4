#pragma once

#include <cstdint>

#include "sim/base/ids.h"

namespace lockstep::collective {

/// Any number of places on the corners of a hypercube, of which there is a power of two: the largest that is not more
/// than the places. Where there are fewer corners than places, some corners have two, next to each other, spread evenly
/// so that both halves of the cube have as many places as nearly as can be. Corner 0 always has one.
/// Source: Thakur, Rabenseifner and Gropp (2005), section 4.5, where the pairs are those of the first places.
class Hypercube {
  public:
    /// Requires: places >= 1.
    explicit Hypercube(std::uint32_t places);

    std::uint32_t places() const { return places_; }
    std::uint32_t corners() const { return corners_; }
    std::uint32_t dimensions() const;                           ///< log2 of the corners
    std::uint32_t pairs() const { return places_ - corners_; }  ///< corners with two places
    std::uint32_t corner_of(std::uint32_t place) const;
    /// The first place of a corner; of `corners()` the number of places.
    std::uint32_t first_of(std::uint32_t corner) const;
    std::uint32_t last_of(std::uint32_t corner) const { return first_of(corner + 1) - 1; }
    bool is_pair(std::uint32_t corner) const { return first_of(corner) != last_of(corner); }
    /// Whether some corner and the one farthest from it both have two places.
    bool has_opposite_pairs() const;
    /// Whether a corner that is `corner` modulo `modulus` has two places. Requires: `modulus` divides corners().
    bool has_pair_among(std::uint32_t corner, std::uint32_t modulus) const;

  private:
    std::uint32_t places_;
    std::uint32_t corners_;
};

}  // namespace lockstep::collective
