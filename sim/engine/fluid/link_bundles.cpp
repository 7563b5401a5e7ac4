#include "sim/engine/fluid/link_bundles.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/engine/arguments.h"

namespace lockstep::engine {

LinkBundles::LinkBundles(std::vector<double> capacities)
    : capacities_(std::move(capacities)),
      bundle_of_(capacities_.size(), none),
      next_(capacities_.size(), none),
      before_(capacities_.size(), none) {}

std::span<const LinkBundles::Part> LinkBundles::parts_of(const fabric::Route& route) {
    splits_.clear();
    if (!cross(route)) {
        require_route(route, capacities_.size());
        refine(route);
        [[maybe_unused]] const bool is_whole = cross(route);
        assert(is_whole);
    }
    return parts_;
}

/// Lists the parts. Returns: whether the route crosses the bundles that it does as wholes, in one share each.
bool LinkBundles::cross(const fabric::Route& route) {
    ++call_;
    parts_.clear();
    std::size_t crossed = 0;  // of the links of the parts
    for (const fabric::RouteShare& part : route.links) {
        const std::size_t link = index(part.link);
        if (link >= bundle_of_.size() || bundle_of_[link] == none || !(part.share > 0) ||
            part.share == std::numeric_limits<double>::infinity()) {
            return false;
        }
        const std::uint32_t number = bundle_of_[link];
        const std::uint32_t size = sizes_[number];
        if (size > 1) {
            Bundle& bundle = bundles_[number];
            if (bundle.crossed_in == call_) {
                if (bundle.share != part.share) {
                    return false;
                }
                continue;
            }
            bundle.crossed_in = call_;
            bundle.share = part.share;
        }
        parts_.push_back({number, part.share});
        crossed += size;
    }
    return crossed == route.links.size();
}

/// Splits bundles until the route crosses each as a whole and in one share, and bundles its links that no route crossed
/// before.
void LinkBundles::refine(const fabric::Route& route) {
    ++call_;
    std::vector<Group> groups;
    std::uint32_t first_unbundled = none;
    for (const fabric::RouteShare& part : route.links) {
        const auto link = static_cast<std::uint32_t>(index(part.link));
        const std::uint32_t from = bundle_of_[link];
        std::uint32_t* first = &first_unbundled;
        if (from != none) {
            Bundle& bundle = bundles_[from];
            if (bundle.grouped_in != call_) {
                bundle.grouped_in = call_;
                bundle.group = none;
            }
            first = &bundle.group;
        }
        groups[group_of(groups, *first, from, part.share)].links.push_back(link);
    }
    for (const Group& group : groups) {
        if (group.from != none && sizes_[group.from] == group.links.size()) {
            continue;  // all that is left of it
        }
        const std::uint32_t into = add_bundle();
        if (group.from != none) {
            splits_.push_back({group.from, into});
        }
        for (const std::uint32_t link : group.links) {
            move(link, into);
        }
    }
}

/// The group of this share among those that `first` leads to, made if there is none.
std::uint32_t LinkBundles::group_of(std::vector<Group>& groups, std::uint32_t& first, std::uint32_t from,
                                    double share) {
    for (std::uint32_t number = first; number != none; number = groups[number].next) {
        if (groups[number].share == share) {
            return number;
        }
    }
    const auto number = static_cast<std::uint32_t>(groups.size());
    groups.push_back({from, share, first, {}});
    first = number;
    return number;
}

std::uint32_t LinkBundles::add_bundle() {
    bundles_.emplace_back();
    sizes_.push_back(0);
    return static_cast<std::uint32_t>(bundles_.size() - 1);
}

void LinkBundles::move(std::uint32_t link, std::uint32_t into) {
    if (bundle_of_[link] != none) {
        leave(link);
    }
    Bundle& bundle = bundles_[into];
    if (sizes_[into] == 0) {
        bundle.link = link;
        next_[link] = link;
        before_[link] = link;
    } else {
        const std::uint32_t next = next_[bundle.link];
        next_[link] = next;
        before_[link] = bundle.link;
        next_[bundle.link] = link;
        before_[next] = link;
    }
    if (sizes_[into] == 0 || capacities_[link] < bundle.capacity) {
        bundle.capacity = capacities_[link];
        bundle.narrowest = 0;
    }
    bundle.narrowest += capacities_[link] == bundle.capacity ? 1 : 0;
    ++sizes_[into];
    bundle_of_[link] = into;
}

/// Requires: others stay in its bundle.
void LinkBundles::leave(std::uint32_t link) {
    Bundle& bundle = bundles_[bundle_of_[link]];
    next_[before_[link]] = next_[link];
    before_[next_[link]] = before_[link];
    bundle.link = next_[link];
    --sizes_[bundle_of_[link]];
    if (capacities_[link] == bundle.capacity && --bundle.narrowest == 0) {
        find_narrowest(bundle);
    }
}

void LinkBundles::find_narrowest(Bundle& bundle) {
    bundle.capacity = capacities_[bundle.link];
    bundle.narrowest = 1;
    for (std::uint32_t link = next_[bundle.link]; link != bundle.link; link = next_[link]) {
        if (capacities_[link] < bundle.capacity) {
            bundle.capacity = capacities_[link];
            bundle.narrowest = 0;
        }
        bundle.narrowest += capacities_[link] == bundle.capacity ? 1 : 0;
    }
}

}  // namespace lockstep::engine
