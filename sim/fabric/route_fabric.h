#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/fabric/route_cache.h"
#include "sim/fabric/route_dag.h"
#include "sim/fabric/route_distance.h"

namespace lockstep::fabric {

/// Where a NIC (or a GPU that needs none) meets the fabric.
struct Endpoint {
    VertexId vertex{};
    std::optional<std::uint32_t> slot;  ///< its own, if it relays
    std::uint32_t attachment = 0;       ///< number of the set of slots below; endpoints of one leaf share it
    std::uint32_t port = 0;             ///< its ordinal among the endpoints of its first switch
    std::uint32_t ports = 1;            ///< how many those are
    std::uint32_t leaf = 0;             ///< rank of that switch, siblings in the tree standing together
    std::vector<Hop> up;                ///< the links into the fabric; none if it has a slot itself
    std::vector<LinkId> direct;         ///< links to other machines' endpoints without a switch between
};

/// Minimal paths between endpoints, over switches. Distances are searched once per destination's set of switches and
/// only as far as somebody asked, and kept within a fixed budget of memory.
class FabricSearch {
  public:
    explicit FabricSearch(const Fabric& fabric);

    /// The number of a NIC's or GPU's endpoint, made on first use; none if no link leads from it out of its machine.
    std::optional<std::uint32_t> endpoint(VertexId vertex);
    const Endpoint& at(std::uint32_t endpoint) const { return endpoints_[endpoint]; }

    /// Whether any path leads from one to the other.
    bool connects(const Endpoint& from, const Endpoint& to) const;

    /// Appends one minimal path. `pick(vertex, hops, number, left)` chooses among the hops out of a vertex, of which
    /// there is at least one; it is hop `number`, counted from 1, and `left` are still to come, this one included.
    /// Requires: connects(from, to).
    template <class Pick>
    void append_path(const Endpoint& from, const Endpoint& to, Pick pick, std::vector<LinkId>& path);

    /// Appends the minimal path that fabric::append_least_loaded chooses. Returns: whether there was a choice.
    /// Requires: connects(from, to).
    bool append_least_loaded(const Endpoint& from, const Endpoint& to, LinkLoads loads, std::vector<LinkId>& path);

    /// All minimal paths. Requires: connects(from, to).
    PathDag minimal_paths(const Endpoint& from, const Endpoint& to);

  private:
    // The minimal paths between two sets of slots. Its vertices are slots; the first `entries` stand at the source's
    // end.
    struct Core {
        PathDag dag;
        std::vector<std::uint32_t> slots;
        std::size_t entries = 0;
    };

    const std::vector<std::uint32_t>& slots_of(std::uint32_t attachment) const { return attachments_[attachment]; }
    const std::vector<VertexId>& endpoints_of(std::uint32_t slot);
    std::uint32_t attachment_of(std::vector<std::uint32_t> slots);

    Distances distances(const Endpoint& from, const Endpoint& to) {
        return search_.distances(slots_of(from.attachment), slots_of(to.attachment), to.attachment);
    }
    const Core& core(const Endpoint& from, const Endpoint& to);
    std::vector<LinkId> direct_links(const Endpoint& from, const Endpoint& to) const;
    void hops_to(const Endpoint& to, std::uint32_t slot, const Distances& distances, std::vector<Hop>& hops) const;

    const Fabric* fabric_;
    std::vector<std::uint32_t> slot_of_;        // by VertexId; Hop::beyond for what has none
    std::vector<VertexId> vertex_of_;           // by slot
    std::vector<std::uint32_t> component_;      // by slot
    std::vector<std::uint32_t> leaf_rank_;      // by slot
    std::vector<std::vector<VertexId>> below_;  // by slot: its endpoints in order of id, once asked for
    std::vector<Endpoint> endpoints_;
    std::unordered_map<std::uint32_t, std::uint32_t> endpoint_of_;  // by VertexId; looked up only
    std::vector<std::vector<std::uint32_t>> attachments_;
    std::unordered_map<std::string, std::uint32_t> attachment_number_;  // by the bytes of the set; looked up only
    std::vector<Hop> hops_on_path_;                                     // of the path that is being found
    DistanceSearch search_;
    RouteCache<Core> cores_;
};

template <class Pick>
void FabricSearch::append_path(const Endpoint& from, const Endpoint& to, Pick pick, std::vector<LinkId>& path) {
    std::vector<Hop>& hops = hops_on_path_;
    hops.clear();
    for (const LinkId link : direct_links(from, to)) {
        hops.push_back({link, Hop::beyond});
    }
    if (!hops.empty()) {
        path.push_back(pick(from.vertex, hops, std::uint32_t{1}, std::uint32_t{1}).link);
        return;
    }
    const Distances field = distances(from, to);
    const std::uint16_t start = field.from_nearest_of(slots_of(from.attachment));
    std::uint32_t number = 1;
    std::uint32_t left = start + (from.slot ? 0U : 1U) + (to.slot ? 0U : 1U);
    std::uint32_t slot = from.slot.value_or(Hop::beyond);
    if (!from.slot) {
        for (const Hop& hop : from.up) {
            if (field.from(hop.to) == start) {
                hops.push_back(hop);
            }
        }
        const Hop hop = pick(from.vertex, hops, number++, left--);
        path.push_back(hop.link);
        slot = hop.to;
    }
    while (left > 0) {
        hops_to(to, slot, field, hops);
        const Hop hop = pick(vertex_of_[slot], hops, number++, left--);
        path.push_back(hop.link);
        slot = hop.to;
    }
}

}  // namespace lockstep::fabric
