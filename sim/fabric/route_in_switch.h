#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/fabric/route_fabric.h"
#include "sim/fabric/route_gateways.h"

namespace lockstep::fabric {

/// The switches that can reduce and to which every one of `members` is cabled directly, in order of id: the planes of
/// an NVSwitch system. Empty if there is none or no member.
std::vector<VertexId> shared_reducers(const Fabric& fabric, std::span<const VertexId> members);

/// Which way the data of an in-switch operation flows.
enum class InSwitch : std::uint8_t {
    reduction,  ///< from every member, to the root
    multicast,  ///< from the root, to every member
    sum,        ///< from every member, to every member; the root, one of them, is of no account
};

/// One tree of switches that add up and copy, with GPUs for leaves. Every link of it carries the data once up, and once
/// down.
struct ReductionTree {
    /// A vertex and the links that lead from it one step up. Parallel ones share the data in proportion to their
    /// bandwidth.
    struct Step {
        std::vector<RouteShare> up = {};
        std::optional<std::uint32_t> next = {};  ///< the step from where they lead to; none at the top
        Seconds latency{};                       ///< from here to the top
    };
    std::vector<Step> steps = {};
    std::vector<std::uint32_t> leaves = {};  ///< by member: its step
    Bandwidth width{};                       ///< of its narrowest step
    Tier tier = Tier::scale_out;             ///< of the links by which members reach the first switch
};

/// Finds the trees of switches that serve in-switch operations.
///
/// Where every member is cabled to one switch that can reduce, or to several (planes), each of these is a tree. Else
/// members enter the network by their links to such switches, or by their NICs and the links from there, and
/// switches that can reduce are joined to trees of any depth: one tree for each NIC or link that all members have, the
/// i-th of each in the i-th. The top is the switch with the shortest longest way down to a member; among equals the
/// choice goes by the first member, so that groups side by side (one for each rail) use different ones.
class ReductionTrees {
  public:
    /// All must outlive it.
    ReductionTrees(const Fabric& fabric, FabricSearch& across, Gateways& gateways);

    /// Empty if nothing joins the members. Cost: O(links of the network) for each switch that members are cabled to.
    std::vector<ReductionTree> joining(std::span<const VertexId> members);

    /// The links of one in-switch operation, striped over the trees in proportion to their widths.
    /// Throws: SimulationError naming the members when nothing joins them and the root, std::invalid_argument for no
    /// members or one named twice.
    Route route(InSwitch operation, std::span<const VertexId> members, VertexId root);

  private:
    struct Entry;
    struct Search;
    std::vector<std::vector<Entry>> entries_by_cable(std::span<const VertexId> members) const;
    std::vector<std::vector<Entry>> entries_by_nic(std::span<const VertexId> members);
    std::optional<VertexId> top_over(std::span<const Entry> entries, std::size_t choice) const;
    std::optional<ReductionTree> tree_over(std::span<const Entry> entries, std::size_t choice) const;

    const Fabric* fabric_;
    FabricSearch* across_;
    Gateways* gateways_;
};

/// The tier of the links by which the switches that would add up for each of the groups are reached: scale_up for those
/// of an island, scale_out for those of the network between machines; none where no such switches join the group.
/// Cost: O(fabric), and a search for each group.
std::vector<std::optional<Tier>> reducing_tiers(const Fabric& fabric, std::span<const std::vector<VertexId>> groups);

}  // namespace lockstep::fabric
