#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/communicator.h"

namespace lockstep::collective {

/// Which of the two trees: leaves of one are inner vertices of the other (all of them when the number is even).
enum class Twin : std::uint8_t { first, second };

/// The parent of `vertex` in a binary tree over 0 .. size - 1; none at the root.
/// Source: NCCL 2.30, src/graph/trees.cc; Sanders, Speck and Träff (2009), "Two-tree algorithms for full bandwidth
/// broadcast, reduction and scan".
std::optional<std::uint32_t> tree_parent(std::uint32_t vertex, std::uint32_t size, Twin twin);

/// Where a rank stands in a tree of ranks. The children that are heads of other nodes come first.
struct TreePlace {
    std::optional<RankId> parent;
    std::vector<RankId> children;
};

/// Trees over all ranks, by rank: twins for each ring of the communicator. Between nodes they are binary trees, joined
/// at one GPU of each node (the head: the GPU of the ring's rail); inside a node a chain leads away from the head.
std::vector<std::vector<TreePlace>> rank_trees(const Communicator& communicator);

/// Hops from the deepest rank to the root, at most.
std::size_t tree_depth(const Communicator& communicator);

}  // namespace lockstep::collective
