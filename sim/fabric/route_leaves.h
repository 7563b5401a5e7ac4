#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::fabric {

/// How the switches of a fabric hang together.
struct LeafOrder {
    /// Per switch: the same number for all that paths connect.
    std::vector<std::uint32_t> component;
    /// Per switch that meets machines: its place when they are lined up as a tree would be drawn: those that share
    /// switches one level up stand together, then those that share switches two levels up, and so on; else in order of
    /// number. 0 for others. Counting destinations this way spreads the leaves below any one switch evenly, however the
    /// file numbers them: the leaves of one rail of a rail-optimised fabric are every eighth in the file, and
    /// neighbours here.
    std::vector<std::uint32_t> rank;
};

/// first, neighbours: switch s is cabled to neighbours[first[s] .. first[s + 1]), in both directions.
/// meets_machines: whether NICs or GPUs are cabled to the switch, or it is itself a GPU.
/// Cost: O((switches + links) log switches) per level, of which there are at most eight.
LeafOrder order_leaves(std::span<const std::uint32_t> first, std::span<const std::uint32_t> neighbours,
                       const std::vector<bool>& meets_machines);

}  // namespace lockstep::fabric
