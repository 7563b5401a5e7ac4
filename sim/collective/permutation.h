#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"

namespace lockstep::collective {

/// How the traffic of a permutation is drawn.
struct RandomTraffic {
    std::uint32_t messages = 1;  ///< in which each rank sends its vector, 1 to 1,000,000
    std::uint64_t seed = 1;
};

/// A permutation: every rank sends its vector to another, and receives another's. The partners make one cycle, each
/// cycle being equally likely; the same on every platform. Source: Sattolo (1986), "An algorithm to generate a random
/// cyclic permutation". Of several messages each takes a share of the vector that is drawn evenly between a tenth of
/// the largest and the largest, so that ranks soon go out of step.
class Permutation {
  public:
    /// ranks: at least 1; a single one has nobody to send to, and is its own partner. Cost: O(ranks).
    Permutation(std::uint32_t ranks, const RandomTraffic& traffic);

    const RandomTraffic& traffic() const { return traffic_; }
    RankId to(RankId rank) const { return to_[index(rank)]; }
    RankId from(RankId rank) const { return from_[index(rank)]; }

    /// Into how many chunks the vector is cut, on whose borders messages begin and end.
    std::uint32_t chunks() const;
    /// By message of a sender: how many chunks, at least one. They add up to all. Cost: O(messages).
    std::vector<std::uint32_t> message_chunks(RankId sender) const;

  private:
    RandomTraffic traffic_;
    std::vector<RankId> to_;
    std::vector<RankId> from_;
};

}  // namespace lockstep::collective
