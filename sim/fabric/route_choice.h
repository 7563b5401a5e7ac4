#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route_fabric.h"

namespace lockstep::fabric {

/// Chooses the hops of one path by its destination alone: d-mod-k routing, carried over to any fabric.
///
/// The first place with several next switches is decided by the port of the destination on its leaf, later ones by what
/// is left of that number and by the leaf (LeafOrder): with w next switches, number x takes switch x mod w, and x / w
/// goes on to the next level; among parallel cables to that switch it takes cable (x / w) mod cables. On the way down,
/// parallel cables follow the number that was in force on the same level on the way up. So the flows of a shift
/// permutation share no link of a non-blocking tree. In a torus of relaying GPUs the first link in the order of the
/// file is taken: one dimension after the other. Source: Zahavi, "D-Mod-K routing providing non-blocking traffic for
/// shift permutations on real life fat trees", 2010.
class StaticChoice {
  public:
    explicit StaticChoice(const Endpoint& to);

    /// hops: at least one; number and left as FabricSearch::append_path counts them.
    Hop operator()(VertexId at, std::span<const Hop> hops, std::uint32_t number, std::uint32_t left);

  private:
    struct Level {
        std::uint32_t number;
        std::uint64_t rest;
    };
    const Endpoint* to_;
    std::uint64_t number_;  // what decides next
    bool by_port_ = true;   // number_ is still the port
    boost::container::small_vector<Level, 4> decided_;
    std::vector<Hop> sorted_;  // hops, where they are not in order
};

/// Chooses among hops by a hash of (seed, from, to, flow, vertex), as switches hash the header of a packet. The hash is
/// a chain of splitmix64 finalisers, so that it is the same on every platform.
class EcmpChoice {
  public:
    EcmpChoice(std::uint64_t seed, VertexId from, VertexId to, std::uint32_t flow);

    Hop operator()(VertexId at, std::span<const Hop> hops, std::uint32_t number, std::uint32_t left) const;

  private:
    std::uint64_t hash_;
};

}  // namespace lockstep::fabric
