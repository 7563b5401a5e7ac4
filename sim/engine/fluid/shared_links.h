#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/fluid/max_min.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// The links of a fabric and the flows under way across them, with the max-min fair rate of each flow. Flows have small
/// dense numbers chosen by the caller. Changes are collected and take effect together in settle().
///
/// Only the flows that a change can reach are looked at. Rates are max-min fair exactly when each flow has a
/// bottleneck: a full link on which no flow is faster. So settle() starts with the flows that lost or may lose theirs,
/// shares what the others leave, and takes in those of the others whose bottleneck that breaks, until all have one.
/// Source of the criterion: Bertsekas and Gallager, "Data Networks", 2nd ed., section 6.5.2.
class SharedLinks {
  public:
    /// capacities: by LinkId, in bytes per second. Throws: std::invalid_argument unless each is above 0 and finite.
    explicit SharedLinks(std::vector<double> capacities);

    /// Requires: the flow is not under way; if it was, settle() came between. `route` has links and stays valid while
    /// under way. Throws: std::invalid_argument for a link that does not exist or a share that is not above 0.
    void add(std::uint32_t flow, const fabric::Route& route);
    void remove(std::uint32_t flow);

    /// Returns: the flows that are new or whose rate changed, some perhaps twice; valid until the next call.
    /// Cost: O(its links) for a flow alone on its links and for a flow that takes the place of one removed since with
    /// the same route, else that of progressive filling over the flows that the changes reach.
    std::span<const std::uint32_t> settle();

    /// Bytes per second; meaningful after settle().
    double rate(std::uint32_t flow) const { return members_[flow].rate; }
    /// Flows under way across each link, by LinkId.
    std::span<const std::uint32_t> loads() const { return loads_; }

  private:
    static constexpr std::uint32_t none = MaxMin::no_link;

    /// One link of one flow; a flow's crossings are neighbours.
    struct Crossing {
        std::uint32_t link;
        std::uint32_t position;  ///< among the link's occupants
        double share;
    };
    /// The same, seen from the link.
    struct Occupant {
        std::uint32_t flow;
        std::uint32_t crossing;
        double share;
    };
    struct Member {
        double rate = 0.0;
        std::uint32_t bottleneck = none;
        std::uint32_t in_region = 0;  ///< the region it was last taken into
        std::uint32_t first = none;   ///< of its crossings
        std::uint32_t count = 0;
        std::uint32_t next_leaver = none;  ///< of those whose route starts with the same link
    };
    struct Link {
        double capacity = 0.0;
        std::vector<Occupant> occupants;  ///< the leavers among them
        std::uint32_t leaver = none;      ///< a flow removed since the last settle() whose route starts here
        std::uint32_t touched_in = 0;     ///< the region that began with it
        std::uint32_t in_region = 0;
        std::uint32_t number = 0;  ///< in the region
    };
    /// What matters of a link of the region: the flows that cross it outside of the region, then those inside as last
    /// shared.
    struct Frontier {
        std::uint32_t link = none;
        bool is_changed = true;         ///< flows were taken in since the rest was found out
        std::uint32_t outsiders = 0;    ///< how many flows are outside
        double fastest_outsider = 0.0;  ///< their largest rate
        double slowest_bound = 0.0;     ///< the smallest rate of those whose bottleneck this is, infinite if none is
        double fastest = 0.0;           ///< the largest rate inside
        double level = 0.0;             ///< the rate of those inside whose bottleneck this is, infinite if none is
    };

    std::span<Crossing> crossings_of(std::uint32_t flow);
    std::uint32_t take_block(std::uint32_t count);
    bool take_over(std::uint32_t flow, const fabric::Route& route);
    void unlink_leavers();
    void touch(std::uint32_t link);
    bool settle_alone(std::uint32_t flow);
    void start_region();
    bool is_in_region(std::uint32_t flow) const { return members_[flow].in_region == region_; }
    void take_into_region(std::uint32_t flow);
    void take_in_all_reachable();
    void solve_region();
    void find_broken();
    void commit_region();
    bool is_within_capacity() const;

    std::vector<Link> links_;
    std::vector<std::uint32_t> loads_;
    std::vector<Member> members_;
    std::vector<Crossing> crossings_;
    std::vector<std::vector<std::uint32_t>> free_blocks_;  // by number of crossings

    std::vector<std::uint32_t> newcomers_;
    std::vector<std::uint32_t> successors_;  // flows that took the place of another
    std::vector<std::uint32_t> leavers_;
    std::vector<std::uint32_t> touched_;  // links that lost a flow or got one that is not alone
    std::vector<std::uint32_t> changed_;

    std::uint32_t region_ = 0;  // how many regions there were: marks who is in the present one
    std::vector<std::uint32_t> region_flows_;
    std::vector<Frontier> region_links_;
    std::vector<std::uint32_t> broken_;  // flows outside the region that lost their bottleneck to it
    MaxMin problem_;
};

}  // namespace lockstep::engine
