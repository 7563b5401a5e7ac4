#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace lockstep::engine {

namespace {

// Where paths that rest are not used again, one in so many still rests.
constexpr std::uint32_t distrusted_per_trial = 32;

const std::vector<double>& required(const std::vector<double>& capacities) {
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        if (!(capacities[link] > 0) || !std::isfinite(capacities[link])) {
            throw std::invalid_argument(fmt::format("link {} has a capacity of {} B/s", link, capacities[link]));
        }
    }
    return capacities;
}

}  // namespace

SharedLinks::SharedLinks(const std::vector<double>& capacities, std::size_t patience)
    : bundles_(required(capacities)), free_places_(32), loads_(capacities.size(), 0), patience_(patience) {}

void SharedLinks::add(std::uint32_t flow, RouteId route, const KnownRoutes& routes) {
    if (index(route) >= vacant_.size()) {
        vacant_.resize(routes.count(), none);
    }
    std::uint32_t number = vacant_[index(route)];
    if (number == none) {
        number = lay(route, routes.at(route));
        laid_.push_back(number);
    } else {
        vacant_[index(route)] = paths_[number].next_vacant;
        if (rates_[number] > 0) {  // its flow has only just ended
            followers_.push_back(flow);
        } else {
            resumed_.push_back(number);
            trust_ = std::min(trust_ + 1, most_trust);
        }
    }
    for (const Crossing& crossing : crossings_of(paths_[number])) {
        count_flows(crossing.link, 1);
    }
    if (flow >= path_of_.size()) {
        path_of_.resize(static_cast<std::size_t>(flow) + 1, none);
    }
    path_of_[flow] = number;
    paths_[number].flow = flow;
}

void SharedLinks::remove(std::uint32_t flow) {
    const std::uint32_t number = path_of_[flow];
    Path& path = paths_[number];
    for (const Crossing& crossing : crossings_of(path)) {
        count_flows(crossing.link, static_cast<std::uint32_t>(-1));
    }
    path.flow = none;
    path.next_vacant = std::exchange(vacant_[path.route], number);
    vacated_.push_back(number);
}

std::span<const std::uint32_t> SharedLinks::settle() {
    ++round_;
    changed_.assign(followers_.begin(), followers_.end());
    followers_.clear();
    if (vacated_.empty() && laid_.empty() && resumed_.empty()) {
        return changed_;
    }
    steps_ = 0;
    moved_.clear();
    vacate_paths();
    send_away_resting();
    start_paths();
    unsettle_left_links();
    if (end_unsettled_ > 0) {
        ++work_.settled;
        if (!repair()) {
            share_afresh();
        }
        next_unsettled_ = 0;
        end_unsettled_ = 0;
        assert(is_max_min());
    }
    list_changed();
    return changed_;
}

/// Puts the paths that nobody followed on to rest. Where flows do not come back to their routes resting only makes
/// links longer to look through: then but a few do, to see whether that changes.
void SharedLinks::vacate_paths() {
    std::size_t kept = 0;
    for (const std::uint32_t number : vacated_) {
        Path& path = paths_[number];
        if (path.flow != none) {
            continue;
        }
        if (path.shared_links > 0) {
            for (const Crossing& crossing : crossings_of(path)) {
                Link& link = links_[crossing.link];
                link.room += crossing.share * rates_[number];
                if (link.count > 1) {
                    lay_to_rest(crossing);
                }
            }
        }
        path.is_at_rest = true;
        rates_[number] = 0.0;
        path.told = 0.0;
        if (trust_ > 0 || ++distrusted_ % distrusted_per_trial == 0) {
            vacated_[kept++] = number;
        } else {
            take_up(number);
        }
    }
    vacated_.resize(kept);
}

/// Clears the links of new paths of those that rest there.
void SharedLinks::send_away_resting() {
    for (const std::uint32_t number : laid_) {
        for (const Crossing& crossing : crossings_of(paths_[number])) {
            Link& link = links_[crossing.link];
            for (std::uint32_t at = link.count; link.count > flows_[crossing.link] && at-- > 0;) {
                const std::uint32_t other = occupants_[link.first + at].path;
                if (paths_[other].flow == none) {
                    take_up(other);  // fills its place with one that was looked at
                    trust_ = std::max(trust_ - 1, 0);
                }
            }
        }
    }
}

/// Gives the flows of new and resumed paths the rate that levels as they are allow, and unsettles the links they share.
void SharedLinks::start_paths() {
    for (const std::uint32_t number : laid_) {
        for (const Crossing& crossing : crossings_of(paths_[number])) {
            Link& link = links_[crossing.link];
            if (link.count == 1) {
                set_alone(link, crossing.share);
            }
        }
    }
    laid_.insert(laid_.end(), resumed_.begin(), resumed_.end());
    for (const std::uint32_t number : laid_) {
        Path& path = paths_[number];
        const double rate = allowed_elsewhere(path, none);
        const bool is_woken = std::exchange(path.is_at_rest, false);
        rates_[number] = rate;
        note_moved(number);
        if (path.shared_links == 0) {
            continue;
        }
        const double taken = rate < infinity ? rate : 0.0;
        for (const Crossing& crossing : crossings_of(path)) {
            Link& link = links_[crossing.link];
            link.room -= crossing.share * taken;
            if (is_woken && link.count > 1) {
                wake(crossing);
            }
            if (link.is_idle != 0 && (link.room < link.wake_at || rate == infinity)) {
                unsettle(crossing.link);
            }
        }
    }
    laid_.clear();
    resumed_.clear();
}

/// Links that were full and lost a flow have more for the others. Where nobody is left the level stays what it was: the
/// next step of a collective will want the same.
void SharedLinks::unsettle_left_links() {
    for (const std::uint32_t number : vacated_) {
        const Path& path = paths_[number];
        if (path.first == none || path.shared_links == 0) {
            continue;
        }
        for (const Crossing& crossing : crossings_of(path)) {
            const Link& link = links_[crossing.link];
            if (link.is_idle != 0 && link.level < infinity && flows_[crossing.link] > 0) {
                unsettle(crossing.link);
            }
        }
    }
    vacated_.clear();
}

/// Lists the flows whose rate differs from what it was when they were listed last.
void SharedLinks::list_changed() {
    for (const std::uint32_t number : moved_) {
        Path& path = paths_[number];
        const double rate = rates_[number];
        if (rate != path.told) {
            path.told = rate;
            changed_.push_back(path.flow);
            ++work_.rates_moved;
        }
    }
}

}  // namespace lockstep::engine
