#include "sim/collective/hypercube.h"

#include <bit>

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

bool Hypercube::has_opposite_pairs() const {
    for (std::uint32_t corner = 0; corner < corners_ / 2; ++corner) {
        if (is_pair(corner) && is_pair(corners_ - 1 - corner)) {
            return true;
        }
    }
    return false;
}

}  // namespace lockstep::collective
