#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/communicator.h"

namespace lockstep::collective {

/// Which ranks can send to which at all: directly, or over vertices that relay. Where every GPU is cabled to something
/// other than a GPU the fabric is taken to be connected (the router names the pair if it is not), so that asking is
/// cheap; in a mesh whose GPUs do not relay, most pairs cannot. Cost: O(links of the ranks); in such a mesh O(links of
/// the fabric).
class Reach {
  public:
    explicit Reach(const Communicator& communicator);

    /// Whether all pairs are joined for one common reason. False says nothing.
    bool joins_all() const { return all_joined_; }
    bool joins(RankId a, RankId b) const;
    /// The first pair in rank order that nothing joins. Cost: O(1) where all are joined, else up to O(ranks^2).
    std::optional<std::pair<RankId, RankId>> unjoined_pair() const;
    /// "no path leads from rank 0 (gpu0) to rank 5 (gpu5)", and that GPUs do not relay where that might help.
    std::string complaint(RankId a, RankId b) const;

  private:
    const Communicator* communicator_;
    bool all_joined_ = true;
    std::vector<std::vector<std::uint32_t>>
        parts_;  ///< by rank: the connected sets of relaying vertices it is cabled to, sorted
};

}  // namespace lockstep::collective
