#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/engine/fluid/link_bundles.h"
#include "sim/engine/fluid/max_min.h"
#include "sim/engine/known_routes.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// The links of a fabric and the flows under way across them, with the max-min fair rate of each flow. Flows have small
/// dense numbers chosen by the caller. Changes are collected and take effect together in settle().
///
/// Every link has a level: the rate it grants to each flow that nothing else holds back, infinite while the link is not
/// full. A flow's rate is the least level on its route. Levels are right, and the rates max-min fair, exactly when each
/// link's level is the one to which its own flows fill it, given the levels of the other links. So settle() fills the
/// links anew that lost or gained flows, moves the rates of their flows, and goes on with those links only whose level
/// the moved rates can reach, until no level moves. Where that takes too long everything connected to the changes is
/// shared afresh.
///
/// Links that all routes cross together count as one (LinkBundles), and flows that follow one another on a route share
/// a path, so that a step of a collective that looks like the one before costs little.
///
/// Source of the criterion: Bertsekas and Gallager, "Data Networks", 2nd ed., section 6.5.2; of how far a change
/// reaches: Ros-Giralt et al., "On the bottleneck structure of congestion-controlled networks", SIGMETRICS 2020.
class SharedLinks {
  public:
    /// What sharing took so far.
    struct Work {
        std::uint64_t settled = 0;        ///< calls of settle() that found a change
        std::uint64_t links_filled = 0;   ///< how often the level of a link was worked out, one link at a time
        std::uint64_t levels_moved = 0;   ///< how often that moved it
        std::uint64_t rates_moved = 0;    ///< flows whose rate differed after settle(), new ones included
        std::uint64_t shared_afresh = 0;  ///< how often everything connected was shared afresh
        std::uint64_t most_afresh = 0;    ///< the most flows that this took in
    };

    /// capacities: by LinkId, in bytes per second. patience: how many times the crossings under way may be looked at
    /// link by link before everything connected is shared afresh. Throws: std::invalid_argument unless each capacity is
    /// above 0 and finite.
    explicit SharedLinks(const std::vector<double>& capacities, std::size_t patience = 16);

    /// Requires: the flow is not under way; if it was, settle() came between. `route` is one of `routes`, those of all
    /// flows, and has links.
    void add(std::uint32_t flow, RouteId route, const KnownRoutes& routes);
    void remove(std::uint32_t flow);

    /// Returns: the flows that are new or whose rate changed, some perhaps twice; valid until the next call.
    /// Cost: constant for a flow that follows another on its route at once, or later alone on its links; else as many
    /// steps as there are crossings of the links that the change reaches, and no more than a few times those of
    /// everything connected to it.
    std::span<const std::uint32_t> settle();

    /// Bytes per second; meaningful after settle().
    double rate(std::uint32_t flow) const { return paths_[path_of_[flow]].told; }
    /// Flows under way across each link, by LinkId.
    std::span<const std::uint32_t> loads() const;
    /// Of the fabric.
    std::size_t link_count() const { return loads_.size(); }
    const Work& work() const { return work_; }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr int most_trust = 1024;

    /// One link of one path; a path's crossings are neighbours.
    struct Crossing {
        std::uint32_t link;
        std::uint32_t position;  ///< among the link's occupants
        double share;
    };
    /// The same, seen from the link.
    struct Occupant {
        std::uint32_t path;
        std::uint32_t crossing;
        double share;
    };
    /// A flow's way through the links. When its flow has ended a path rests where it is, for the flows of a collective
    /// come back to the same routes: it uses nothing, and stands behind those in use among a link's occupants. A new
    /// path on a link sends away those that rest there.
    struct Path {
        double told = 0.0;           ///< the rate when settle() last listed its flow
        std::uint32_t first = none;  ///< of its crossings
        std::uint32_t count = 0;     ///< of its crossings
        std::uint32_t route = 0;     ///< its RouteId
        bool is_at_rest = false;
        std::uint32_t flow = none;         ///< none while it rests
        std::uint32_t shared_links = 0;    ///< links of it that others occupy, too
        std::uint32_t next_vacant = none;  ///< another without a flow along the same route
        std::uint32_t moved_in = none;     ///< the round in which its rate last moved
        std::uint32_t reached_in = none;   ///< the round in which it was last shared afresh
    };
    /// A bundle of links that all routes cross together, by its number in bundles_; mostly one link.
    struct alignas(64) Link {  // a cache line: all that a step looks at
        double capacity = 0.0;
        double level = infinity;
        double room = 0.0;     ///< capacity that the rates leave, but for rounding since it was last added up
        double wake_at = 0.0;  ///< with less room than this, a moved rate may move the level
        std::uint32_t first = 0;
        std::uint32_t places = 0;  ///< of its occupants, a power of two
        std::uint32_t count = 0;   ///< of its occupants, those at rest among them
        std::uint32_t active = 0;  ///< of its occupants, which come before those at rest; kept while there are several
        /// 1 if a moved rate has to put it among the unsettled: it is shared and not there yet; else 0.
        std::uint32_t is_idle = 0;
        std::uint32_t reached_in = none;  ///< the round in which it was last shared afresh
    };
    /// A path that a link holds back, or would if its level fell.
    struct Contender {
        std::uint32_t path;
        double share;
        double elsewhere;  ///< the rate that its other links allow, infinite if it does not matter
    };

    /// A sum that does not depend on the order of its terms, so that links with the same flows have the same level to
    /// the last bit: what rounding loses is kept beside it. Source: Knuth, "The Art of Computer Programming", vol.
    /// 2, 4.2.2.
    struct Sum {
        double sum = 0.0;
        double lost = 0.0;

        void add(double term) {
            const double before = sum;
            sum += term;
            const double taken = sum - before;
            lost += (before - (sum - taken)) + (term - taken);
        }
        double total() const { return sum + lost; }
        double left_of(double whole) const { return (whole - sum) - lost; }
    };

    std::span<const Crossing> crossings_of(const Path& path) const {
        return {crossings_.data() + path.first, path.count};
    }
    std::span<const Occupant> occupants_of(const Link& link) const {
        return {occupants_.data() + link.first, link.count};
    }
    /// Those that are not at rest.
    std::span<const Occupant> active_occupants_of(const Link& link) const {
        return {occupants_.data() + link.first, link.count > 1 ? link.active : link.count};
    }
    void exchange_places(const Link& link, std::uint32_t position, std::uint32_t other);
    /// Requires: the link has several occupants.
    void lay_to_rest(const Crossing& crossing) {
        Link& link = links_[crossing.link];
        exchange_places(link, crossing.position, --link.active);
    }
    void wake(const Crossing& crossing) {
        Link& link = links_[crossing.link];
        exchange_places(link, crossing.position, link.active++);
    }
    std::uint32_t take_block(std::uint32_t count);
    void grow(Link& link);
    void occupy(std::uint32_t link, std::uint32_t path, std::uint32_t crossing, double share);
    std::uint32_t lay(RouteId route, const fabric::Route& links);
    void take_up(std::uint32_t path);
    void split(LinkBundles::Split split);
    void lengthen(std::uint32_t path, std::uint32_t link, double share);
    /// more: modulo 2^32.
    void count_flows(std::uint32_t link, std::uint32_t more) {
        flows_[link] += more;
        if (is_stale_[link] == 0) {
            is_stale_[link] = 1;
            stale_.push_back(link);
        }
    }
    void forget_vacant(std::uint32_t path);

    void vacate_paths();
    void send_away_resting();
    void start_paths();
    void unsettle_left_links();
    void unsettle(std::uint32_t link);
    void make_room(std::size_t more) {
        if (unsettled_.size() < end_unsettled_ + more) {
            unsettled_.resize(2 * (end_unsettled_ + more));
        }
    }

    bool repair();
    double filled_level(std::uint32_t number);
    double level_among_all(std::uint32_t number);
    double level_among_contenders(const Link& link, Sum fixed, double guess);
    double allowed_elsewhere(const Path& path, std::uint32_t but);
    void set_level(std::uint32_t number, double level);
    void note_moved(std::uint32_t path);
    static void set_unused(Link& link);
    static void set_alone(Link& link, double share);

    void share_afresh();
    void reach(std::uint32_t link);
    void list_changed();
    bool is_max_min() const;
    bool is_right(const Link& link) const;

    LinkBundles bundles_;
    std::vector<Link> links_;
    std::vector<Occupant> occupants_;
    std::vector<std::vector<std::uint32_t>> free_places_;  // by the logarithm of their number
    std::vector<std::uint32_t> flows_;            // by link: under way, those counted that settle() has not seen yet
    mutable std::vector<std::uint32_t> loads_;    // by the fabric's link, brought up to date when asked for
    mutable std::vector<std::uint32_t> stale_;    // links whose flows changed since
    mutable std::vector<std::uint8_t> is_stale_;  // by link

    std::vector<Path> paths_;
    std::vector<double> rates_;  // by path: the least level on it; 0 while it rests
    std::vector<std::uint32_t> free_paths_;
    std::vector<Crossing> crossings_;
    std::vector<std::vector<std::uint32_t>> free_blocks_;  // by number of places
    std::size_t crossings_laid_ = 0;
    int trust_ = most_trust;        // that a path that rests is used again
    std::uint32_t distrusted_ = 0;  // paths that found none

    std::vector<std::uint32_t> path_of_;    // by flow
    std::vector<std::uint32_t> vacant_;     // by route: a path along it without a flow
    std::vector<std::uint32_t> laid_;       // paths that are new in this round
    std::vector<std::uint32_t> resumed_;    // paths that rested until this round
    std::vector<std::uint32_t> vacated_;    // paths whose flow ended in this round; another may have followed at once
    std::vector<std::uint32_t> followers_;  // flows that took over the path of one that ended in this round
    std::vector<std::uint32_t> changed_;

    std::uint32_t round_ = 0;               // how often settle() was called
    std::vector<std::uint32_t> unsettled_;  // links whose level may be wrong, in the order in which that was noticed
    std::size_t next_unsettled_ = 0;
    std::size_t end_unsettled_ = 0;
    std::vector<std::uint32_t> moved_;  // paths whose rate moved in this round
    std::vector<Contender> contenders_;
    std::size_t contender_count_ = 0;
    std::size_t patience_;
    std::size_t steps_ = 0;  // crossings looked at in this round
    Work work_;

    MaxMin problem_;
    std::vector<std::uint32_t> reached_links_;
    std::vector<std::uint32_t> number_of_;  // by link: in the problem
    std::vector<std::uint32_t> reached_paths_;
};

}  // namespace lockstep::engine
