#include "sim/collective/hypercube.h"

#include <bit>
#include <numeric>

namespace lockstep::collective {

Hypercube::Hypercube(std::uint32_t places) : places_(places), corners_(std::bit_floor(places)) {}

std::uint32_t Hypercube::dimensions() const { return static_cast<std::uint32_t>(std::bit_width(corners_) - 1); }

std::uint32_t Hypercube::first_of(std::uint32_t corner) const {
    return static_cast<std::uint32_t>(std::uint64_t{corner} * places_ / corners_);
}

std::uint32_t Hypercube::corner_of(std::uint32_t place) const {
    // The last corner whose first place is not beyond: corner * places / corners < place + 1.
    const std::uint64_t beyond = (std::uint64_t{place} + 1) * corners_;
    return static_cast<std::uint32_t>((beyond + places_ - 1) / places_ - 1);
}

// Corner c has two places if a multiple of corners / pairs is in (c, c + 1]; the one farthest from it if one is in
// [c, c + 1). As these multiples are at least 1 apart, both are so only where one is inside, not at an end: if corners
// / pairs is not a whole number.
bool Hypercube::has_opposite_pairs() const { return pairs() > 0 && corners_ % pairs() != 0; }

// Corner c has two places if (c * pairs) mod corners is among the last `pairs` numbers below corners. For the corners
// that are c modulo m these numbers are all that agree with c * pairs modulo gcd(m * pairs, corners).
bool Hypercube::has_pair_among(std::uint32_t corner, std::uint32_t modulus) const {
    if (pairs() == 0) {
        return false;
    }
    const std::uint64_t apart = std::gcd(std::uint64_t{modulus} * pairs(), std::uint64_t{corners_});
    return std::uint64_t{corner} * pairs() % apart + pairs() >= apart;
}

}  // namespace lockstep::collective
