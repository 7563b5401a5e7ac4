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

/// The same for operations with a root, which feeds both twins: they join the nodes other than the root's, and their
/// own roots hang on the root's node. There the root hands the data to the head first, if it is not the head itself;
/// where the node's GPUs are joined by links between neighbours, the chain grows from the root both ways instead.
std::vector<std::vector<TreePlace>> rooted_rank_trees(const Communicator& communicator, RankId root);

/// Whether trees have a given root.
enum class TreeRoot : std::uint8_t { given, any };

/// Hops from the deepest rank to the root of its tree, at most.
std::size_t tree_depth(const Communicator& communicator, TreeRoot root);

}  // namespace lockstep::collective
