#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/route.h"

namespace lockstep::fabric {

/// Adds up a route from its parts: a link that several parts cross is listed once, with the sum of their shares, at the
/// place where it first came.
class RouteSum {
  public:
    explicit RouteSum(std::size_t link_count) : places_(link_count) {}

    /// Requires: restart() was called before the first part.
    void add(LinkId link, double share) {
        Place& place = places_[index(link)];
        if (place.sum != sum_) {
            place = {sum_, static_cast<std::uint32_t>(links_.size())};
            links_.push_back({link, share});
        } else {
            links_[place.position].share += share;
        }
    }

    /// Forgets what was added.
    void restart() {
        links_.clear();
        ++sum_;
    }

    /// The sum since the last restart.
    const std::vector<RouteShare>& links() const { return links_; }

  private:
    struct Place {
        std::uint32_t sum = 0;  ///< the sum that wrote the position
        std::uint32_t position = 0;
    };
    std::vector<Place> places_;  // by LinkId
    std::vector<RouteShare> links_;
    std::uint32_t sum_ = 0;
};

}  // namespace lockstep::fabric
