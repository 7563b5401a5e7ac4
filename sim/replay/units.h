#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/refinement.h"

namespace lockstep::replay {

/// What is folded as a whole: the nodes that ranks are placed on, and GPUs without a node, each for itself. Numbered in
/// the order of their first rank. Things of alike units correspond by their places in them.
class Units {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// placement: rank -> GPU. Cost: linear in ranks and in the vertices of the fabric, which must outlive it.
    Units(const fabric::Fabric& fabric, std::span<const VertexId> placement);
    Units(const Units&) = delete;
    Units& operator=(const Units&) = delete;

    std::size_t size() const { return vertices_.size(); }
    /// In the order of their places, so that those of alike units correspond.
    std::span<const RankId> ranks(std::uint32_t unit) const { return ranks_[unit]; }
    std::uint32_t of(VertexId vertex) const { return unit_of_[index(vertex)]; }
    std::uint32_t of(RankId rank) const { return of(gpu(rank)); }
    std::uint32_t place(VertexId vertex) const { return place_of_[index(vertex)]; }
    std::uint32_t place(RankId rank) const { return place(gpu(rank)); }
    VertexId gpu(RankId rank) const { return placement_[index(rank)]; }
    std::size_t rank_count() const { return placement_.size(); }

    /// The unit that a link is counted to: the sender's, else the receiver's, else none.
    std::uint32_t owner(LinkId link) const;
    /// Which link of its owner it is. Alike units have alike links at the same places.
    std::uint64_t place(LinkId link) const;
    /// The link at a place of a unit.
    LinkId link_at(std::uint32_t unit, std::uint64_t place) const;

    /// What is in the unit, devices and links, in order; and at which of the places there is a rank.
    const Digest& digest(std::uint32_t unit) const { return digests_[unit]; }
    /// What is in it, whoever uses it.
    const Digest& hardware(std::uint32_t unit) const { return hardware_[unit]; }

  private:
    void add(const VertexId& gpu);  // of placement_
    Digest hardware_of(std::uint32_t unit) const;

    const fabric::Fabric* fabric_;
    std::vector<VertexId> placement_;
    std::vector<std::uint32_t> unit_of_;
    std::vector<std::uint32_t> place_of_;
    std::vector<std::span<const VertexId>> vertices_;
    std::vector<std::vector<RankId>> ranks_;
    std::vector<Digest> hardware_;
    std::vector<Digest> digests_;
};

}  // namespace lockstep::replay
