#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collective/direct_links.h"

namespace lockstep::collective {

/// Hamiltonian cycles are searched for among at most so many GPUs; larger meshes are walked (walk.h).
inline constexpr std::size_t most_searched = 16;

/// A Hamiltonian cycle along direct links whose narrowest link is as wide as possible, starting at place 0; the first
/// in the order of the search among equals. None if there is none or the search, which is bounded, does not find one.
/// Requires: 2 <= size <= most_searched.
std::optional<std::vector<std::uint32_t>> widest_cycle(const DirectLinks& links);

/// Directed Hamiltonian cycles along direct links that together use no direction of a link beyond its capacity, each
/// cycle taking the bandwidth of the narrowest link: as many as a bounded search finds. On a full mesh of 8 that is 7,
/// on the cube mesh of a DGX-1 6, so that every link is used in full. Requires: 2 <= size <= most_searched. Source of
/// the question: Tillson (1980), "A Hamiltonian decomposition of K*_2m, 2m >= 8".
std::vector<std::vector<std::uint32_t>> packed_cycles(const DirectLinks& links);

}  // namespace lockstep::collective
