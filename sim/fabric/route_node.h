#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route_dag.h"

namespace lockstep::fabric {

/// How far a search near a GPU may go.
enum class Reach : std::uint8_t {
    rack,     ///< scale-up links only, over switches, also those outside the node
    island,   ///< as rack, and over what else relays in the same node
    machine,  ///< every link and whatever relays in the same node
};

/// Searches near one machine. Scratch space is kept between searches, so that a search costs what it visits.
class NodeSearch {
  public:
    explicit NodeSearch(const Fabric& fabric);

    /// All paths of fewest links from one GPU to another; empty (no vertices) if there is none.
    PathDag minimal_paths(VertexId from, VertexId to, Reach reach);

    /// Whether scale-up links lead from one to the other at all, GPUs between them counted as relaying: a quick
    /// refusal.
    bool share_island(VertexId a, VertexId b) const { return island_[index(a)] == island_[index(b)]; }

    /// Something found near a GPU, and the first of the paths of fewest links that lead there.
    struct Found {
        VertexId vertex{};
        std::vector<LinkId> path;
    };
    /// Which GPUs a path may cross on its way.
    enum class Through : std::uint8_t { no_gpu, relaying_gpus };
    /// Those of `wanted` inside the GPU's node that it can reach, nearest first, then in order of id. Scale-up links
    /// are tried before others of the same distance.
    std::vector<Found> reachable(VertexId gpu, std::span<const VertexId> wanted, Through through);

  private:
    bool crosses(VertexId vertex, VertexId near, Reach reach) const;
    bool allows(LinkId link, VertexId near, Reach reach) const;
    bool same_node(VertexId a, VertexId b) const;

    struct Mark {
        std::uint32_t search = 0;    ///< the search that wrote the rest
        std::uint32_t distance = 0;  ///< in links
        std::uint32_t place = 0;     ///< its vertex in the PathDag, once it has one
        LinkId parent{};             ///< the link that leads here
    };
    struct Place {
        std::optional<NodeId> node;
        VertexKind kind = VertexKind::gpu;
        bool relays = false;
    };

    const Fabric* fabric_;
    std::vector<Place> places_;  // what a search reads of a vertex, without its strings
    std::vector<std::uint32_t> island_;
    std::vector<Mark> marks_;
    std::uint32_t search_ = 0;
    std::vector<VertexId> queue_;
    std::vector<LinkId> steps_;
};

}  // namespace lockstep::fabric
