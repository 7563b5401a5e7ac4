#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/route_cache.h"

namespace lockstep::fabric {

/// A link of the fabric and the slot it leads to. Slots number the vertices that carry the traffic of others between
/// machines (the switches outside every node, and relaying GPUs that are cabled to GPUs of other machines, as in a
/// torus), so that a search touches nothing else.
struct Hop {
    LinkId link;
    std::uint32_t to;

    /// Stands for the end of the path where that has no slot.
    static constexpr std::uint32_t beyond = std::numeric_limits<std::uint32_t>::max();
};

/// Slots and the hops between them.
struct SlotGraph {
    std::vector<std::uint32_t> first_hop{0};  ///< by slot, and one more
    std::vector<Hop> hops{};                  ///< by slot, in link order

    std::size_t size() const { return first_hop.size() - 1; }
    std::span<const Hop> hops_from(std::uint32_t slot) const {
        return std::span(hops).subspan(first_hop[slot], first_hop[slot + 1] - first_hop[slot]);
    }
};

/// How many links lead from a slot to a set of slots.
class Distances {
  public:
    static constexpr std::uint16_t unseen = std::numeric_limits<std::uint16_t>::max();

    /// by_slot: to a twin of `slot`, or to itself.
    Distances(std::span<const std::uint16_t> by_slot, std::uint32_t slot, std::uint32_t twin)
        : by_slot_(by_slot), slot_(slot), twin_(twin) {}

    /// `unseen` where no path leads, or nobody asked yet.
    std::uint16_t from(std::uint32_t slot) const {
        return by_slot_[slot == slot_ ? twin_ : slot == twin_ ? slot_ : slot];
    }
    std::uint16_t from_nearest_of(std::span<const std::uint32_t> slots) const {
        std::uint16_t least = unseen;
        for (const std::uint32_t slot : slots) {
            least = std::min(least, from(slot));
        }
        return least;
    }

  private:
    std::span<const std::uint16_t> by_slot_;
    std::uint32_t slot_;
    std::uint32_t twin_;
};

/// Breadth-first searches for distances, each only as far as somebody asked, kept within a fixed budget of memory.
/// Slots that are cabled to the same ones are twins (the leaves of a pod): all others are equally far from either, so
/// that one search serves both.
class DistanceSearch {
  public:
    /// Over no slots.
    DistanceSearch() : DistanceSearch(SlotGraph{}) {}
    explicit DistanceSearch(SlotGraph graph);

    const SlotGraph& graph() const { return graph_; }

    /// Distances to `targets`, known at least for those slots that are not farther than the nearest of `from`.
    /// number: of the set of targets. Valid until the next call.
    /// Throws: SimulationError for more than 65,534 links.
    Distances distances(std::span<const std::uint32_t> from, std::span<const std::uint32_t> targets,
                        std::uint32_t number);

  private:
    struct Field {
        std::vector<std::uint16_t> of;     // by slot
        std::vector<std::uint32_t> queue;  // all slots written so far; empty once every reachable one is
        std::size_t head = 0;
    };

    Field& field_to(std::span<const std::uint32_t> targets, std::uint64_t key);

    SlotGraph graph_;
    std::vector<std::uint32_t> twin_;  // by slot: the first of its twins, itself if it has none
    RouteCache<Field> fields_;
};

}  // namespace lockstep::fabric
