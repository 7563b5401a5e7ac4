#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/fabric/route.h"

namespace lockstep::engine {

/// Links that all routes so far cross together, in equal shares: the planes between a GPU and the switches of its
/// island, a NIC and its only cable. As they carry the same flows only the narrowest of them can hold these back, so
/// that a bundle counts as one link with the capacity of that. Bundles have dense numbers. They are found as routes
/// come up, and split for good when a route crosses only some of the links, or those in different shares.
class LinkBundles {
  public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    /// A route's share on a bundle.
    struct Part {
        std::uint32_t bundle;
        double share;
    };
    /// What was one bundle became two: `into` is new and has some of the links of `from`.
    struct Split {
        std::uint32_t from;
        std::uint32_t into;
    };

    /// capacities: by LinkId.
    explicit LinkBundles(std::vector<double> capacities);

    /// Returns: the bundles that the route crosses, each once, in the order of the route's first link of each; valid
    /// until the next call. Cost: O(links of the route), and that of the bundles it splits. Throws:
    /// std::invalid_argument for a link that does not exist or a share that is not above 0 and finite.
    std::span<const Part> parts_of(const fabric::Route& route);
    /// The splits that this made, in their order.
    std::span<const Split> splits() const { return splits_; }

    /// The bundle of a link, none until a route has crossed it.
    std::uint32_t bundle_of(std::uint32_t link) const { return bundle_of_[link]; }
    std::size_t count() const { return bundles_.size(); }
    /// Of its narrowest link.
    double capacity(std::uint32_t bundle) const { return bundles_[bundle].capacity; }
    /// How many links it has.
    std::uint32_t size(std::uint32_t bundle) const { return sizes_[bundle]; }
    /// A link of the bundle; next(link) leads through all of them and back to the first.
    std::uint32_t link_of(std::uint32_t bundle) const { return bundles_[bundle].link; }
    std::uint32_t next(std::uint32_t link) const { return next_[link]; }

  private:
    struct Bundle {
        double capacity = 0.0;
        double share = 0.0;  ///< of the route asked for last that crosses it
        std::uint32_t link = none;
        std::uint32_t narrowest = 0;   ///< how many of its links have no more than the capacity
        std::uint32_t group = none;    ///< of those that refine() found in it first
        std::uint64_t crossed_in = 0;  ///< the call that the route was asked for in
        std::uint64_t grouped_in = 0;
    };

    /// Links that were together and have the same share on a route: they stay together.
    struct Group {
        std::uint32_t from;  ///< none: no bundle
        double share;
        std::uint32_t next;  ///< another from the same, in another share
        std::vector<std::uint32_t> links;
    };

    bool cross(const fabric::Route& route);
    void refine(const fabric::Route& route);
    std::uint32_t group_of(std::vector<Group>& groups, std::uint32_t& first, std::uint32_t from, double share);
    std::uint32_t add_bundle();
    void move(std::uint32_t link, std::uint32_t into);
    void leave(std::uint32_t link);
    void find_narrowest(Bundle& bundle);

    std::vector<double> capacities_;
    std::vector<std::uint32_t> bundle_of_;  // by link; none until a route crosses it
    std::vector<std::uint32_t> next_;       // by link, around the bundle
    std::vector<std::uint32_t> before_;
    std::vector<Bundle> bundles_;
    std::vector<std::uint32_t> sizes_;  // by bundle
    std::uint64_t call_ = 0;
    std::vector<Part> parts_;
    std::vector<Split> splits_;
};

}  // namespace lockstep::engine
