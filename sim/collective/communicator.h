#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// The GPUs of `fabric` in the order in which ranks are placed by default: node by node in natural order, and inside a
/// node so that GPUs with direct links are neighbours (a Hamiltonian cycle of the widest direct links where the island
/// is a mesh). Meshes that span the whole fabric (a torus) are walked so that consecutive ranks are neighbours where
/// that is possible. ranks: how many GPUs to place, taken from the front; all if absent.
std::vector<VertexId> default_placement(const fabric::Fabric& fabric, std::optional<std::size_t> ranks);

/// The ranks that take part in a collective and what their places on the fabric offer to algorithms. The fabric must
/// outlive it.
class Communicator {
  public:
    /// gpus: rank -> GPU, each GPU once. Throws: std::invalid_argument otherwise.
    Communicator(const fabric::Fabric& fabric, std::vector<VertexId> gpus);

    std::size_t size() const { return gpus_.size(); }
    const fabric::Fabric& fabric() const { return *fabric_; }
    VertexId gpu(RankId rank) const { return gpus_[index(rank)]; }
    std::span<const VertexId> gpus() const { return gpus_; }

    /// The ranks of each node, nodes in the order of their first rank, ranks in rank order. GPUs without a node are
    /// alone.
    const std::vector<std::vector<RankId>>& nodes() const { return nodes_; }
    std::size_t node_of(RankId rank) const { return node_of_[index(rank)]; }

    /// Rings over all ranks, one per channel: inside a node along direct links where there is no switch, across nodes
    /// so that each ring enters and leaves a node on one rail and all rails are used. Found once. Always at least one.
    const std::vector<std::vector<RankId>>& rings() const { return rings_; }

    /// Whether a switch that can reduce joins all the ranks given.
    bool can_reduce_in_switch(std::span<const RankId> ranks) const;

  private:
    const fabric::Fabric* fabric_;
    std::vector<VertexId> gpus_;
    std::vector<std::vector<RankId>> nodes_;
    std::vector<std::size_t> node_of_;
    std::vector<std::vector<RankId>> rings_;
};

}  // namespace lockstep::collective
