#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/binomial.h"
#include "sim/collective/hypercube.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// Of the vector: the part of the corners without or with the highest bit.
enum class Half : std::uint8_t { lower, upper };
constexpr Half opposite(Half half) { return half == Half::lower ? Half::upper : Half::lower; }

/// Exchanges of ever smaller or larger parts of a vector, of one chunk for each corner, between the corners of a
/// hypercube of ranks. Where a corner has two ranks (a pair), they first exchange halves, so that each has the sum of
/// both for one half. The half that the corner gives away in the first step goes straight from the one that has it to
/// the partner corner; the other, the corner's keeper, goes on alone. So a pair costs α + S/2B on the way in and the
/// same on the way out. (Thakur, Rabenseifner and Gropp merge the halves in one rank first, which costs as much again.)
/// Corners without a pair would run ahead, and what they send would share a port with what pairs still wait for: while
/// halving, they receive from a partner that is behind before they send to it.
struct CubeExchange {
    Hypercube cube;
    Rotation rotation;

    /// The place of the corner that takes part throughout.
    std::uint32_t keeper(std::uint32_t corner) const;
    /// The chunks of `count` corners from `corner` on, in one message.
    Instruction message(Verb verb, std::uint32_t peer_place, std::uint32_t corner, std::uint32_t count) const;

    /// What `place` does in a reduce-scatter by recursive halving. Afterwards each corner's keeper has the sum of the
    /// corner's chunk.
    std::vector<Instruction> halving(std::uint32_t place) const;
    /// The same backwards, an all-gather by recursive doubling: every place ends with everything.
    std::vector<Instruction> doubling(std::uint32_t place) const;

    /// Messages of all ranks in one of them.
    double messages() const;

  private:
    std::uint32_t holder(std::uint32_t corner, Half half) const;
    bool has_met_pair(std::uint32_t corner, std::uint32_t d) const;
    Half half_of(std::uint32_t corner) const;
    Instruction half(Verb verb, std::uint32_t peer_place, Half which) const;
};

}  // namespace lockstep::collective
