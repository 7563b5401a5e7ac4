#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collective/direct_links.h"

namespace lockstep::collective {

/// A Hamiltonian path along direct links, closing to a cycle where it can: for meshes too large to search. Grids and
/// tori whose GPUs are numbered dimension by dimension are recognised and walked back and forth, which closes when some
/// dimension is even; others are walked greedily, always to the neighbour with the fewest ways on (Warnsdorff's rule),
/// with a bounded number of steps back. None if that fails. Cost: O(GPUs + links) for grids; greedy steps are bounded
/// by a multiple of the number of GPUs.
std::optional<std::vector<std::uint32_t>> long_walk(const DirectLinks& links);

}  // namespace lockstep::collective
