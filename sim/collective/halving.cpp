#include "sim/collective/halving.h"

namespace lockstep::collective {

/// Of a pair the first rank has the sums of the lower half of the vector, the last those of the upper half.
std::uint32_t CubeExchange::holder(std::uint32_t corner, Half half) const {
    return half == Half::lower ? cube.first_of(corner) : cube.last_of(corner);
}

Half CubeExchange::half_of(std::uint32_t corner) const {
    return corner < cube.corners() / 2 ? Half::lower : Half::upper;
}

std::uint32_t CubeExchange::keeper(std::uint32_t corner) const { return holder(corner, half_of(corner)); }

Instruction CubeExchange::message(Verb verb, std::uint32_t peer_place, std::uint32_t corner,
                                  std::uint32_t count) const {
    return {.verb = verb, .peer = rotation.rank_at(peer_place), .chunk = {.offset = corner}, .count = count};
}

Instruction CubeExchange::half(Verb verb, std::uint32_t peer_place, Half which) const {
    const std::uint32_t corners = cube.corners() / 2;
    return message(verb, peer_place, which == Half::lower ? 0 : corners, corners);
}

/// Whether, before the step over d, what the corner has depends on a pair's exchange: that of any corner whose number
/// agrees with its own in the bits not yet used.
bool CubeExchange::has_met_pair(std::uint32_t corner, std::uint32_t d) const {
    return cube.has_pair_among(corner, 2 * d);
}

std::vector<Instruction> CubeExchange::halving(std::uint32_t place) const {
    std::vector<Instruction> steps;
    const std::uint32_t corner = cube.corner_of(place);
    const std::uint32_t keeps = keeper(corner);
    const bool is_pair = cube.is_pair(corner);
    const std::uint32_t other = cube.first_of(corner) + cube.last_of(corner) - place;
    if (is_pair) {
        const Half mine = place == cube.first_of(corner) ? Half::lower : Half::upper;
        steps.push_back(half(Verb::send, other, opposite(mine)));
        steps.push_back(half(Verb::receive_reduce, other, mine));
    }
    for (std::uint32_t d = cube.corners() / 2; d > 0; d /= 2) {
        const std::uint32_t partner = corner ^ d;
        const bool is_first = d == cube.corners() / 2;
        // In the first step of a pair, the half that goes is with the one that does not stay.
        const std::uint32_t gives = is_first ? holder(corner, opposite(half_of(corner))) : keeps;
        const Instruction give = message(Verb::send, keeper(partner), partner / d * d, d);
        const std::uint32_t giver = is_first ? holder(partner, half_of(corner)) : keeper(partner);
        const Instruction take = message(Verb::receive_reduce, giver, corner / d * d, d);
        if (place == gives && place == keeps) {
            const bool is_ahead = !has_met_pair(corner, d) && has_met_pair(partner, d);
            steps.push_back(is_ahead ? take : give);
            steps.push_back(is_ahead ? give : take);
        } else if (place == gives || place == keeps) {
            steps.push_back(place == gives ? give : take);
        }
    }
    return steps;
}

std::vector<Instruction> CubeExchange::doubling(std::uint32_t place) const {
    std::vector<Instruction> steps;
    const std::uint32_t corner = cube.corner_of(place);
    const std::uint32_t keeps = keeper(corner);
    const bool is_pair = cube.is_pair(corner);
    const std::uint32_t other = cube.first_of(corner) + cube.last_of(corner) - place;
    for (std::uint32_t d = 1; d < cube.corners(); d *= 2) {
        const std::uint32_t partner = corner ^ d;
        const bool is_last = d == cube.corners() / 2;
        const std::uint32_t takes = is_last ? holder(corner, opposite(half_of(corner))) : keeps;
        if (place == keeps) {
            const std::uint32_t taker = is_last ? holder(partner, half_of(corner)) : keeper(partner);
            steps.push_back(message(Verb::send, taker, corner / d * d, d));
        }
        if (place == takes) {
            steps.push_back(message(Verb::receive, keeper(partner), partner / d * d, d));
        }
    }
    if (is_pair) {
        const Half mine = place == cube.first_of(corner) ? Half::lower : Half::upper;
        steps.push_back(half(Verb::send, other, mine));
        steps.push_back(half(Verb::receive, other, opposite(mine)));
    }
    return steps;
}

double CubeExchange::messages() const {
    return static_cast<double>(cube.corners()) * cube.dimensions() + 2.0 * cube.pairs();
}

}  // namespace lockstep::collective
