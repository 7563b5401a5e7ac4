#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/engine/arguments.h"

namespace lockstep::engine {

namespace {

// A rate that moved by less than this part of itself did not move.
constexpr double same_rate = 1e-13;

// How many paths without a flow that start with the same link are looked at for one along the same route.
constexpr int most_vacant_tried = 8;

// Where paths that rest are not used again, one in so many still rests.
constexpr std::uint32_t distrusted_per_trial = 32;

}  // namespace

SharedLinks::SharedLinks(const std::vector<double>& capacities, std::size_t patience)
    : free_places_(32), loads_(capacities.size(), 0), patience_(patience) {
    links_.reserve(capacities.size());
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        const double capacity = capacities[link];
        if (!(capacity > 0) || !std::isfinite(capacity)) {
            throw std::invalid_argument(fmt::format("link {} has a capacity of {} B/s", link, capacity));
        }
        links_.push_back({.capacity = capacity});
        set_unused(links_.back());
    }
}

std::uint32_t SharedLinks::take_block(std::uint32_t count) {
    if (count >= free_blocks_.size()) {
        free_blocks_.resize(static_cast<std::size_t>(count) + 1);
    }
    auto& free = free_blocks_[count];
    if (free.empty()) {
        const auto first = static_cast<std::uint32_t>(crossings_.size());
        crossings_.resize(crossings_.size() + count);
        return first;
    }
    const std::uint32_t first = free.back();
    free.pop_back();
    return first;
}

/// Twice as many places for the link's occupants, elsewhere.
void SharedLinks::grow(Link& link) {
    const std::uint32_t places = link.places == 0 ? 4 : 2 * link.places;
    auto& free = free_places_[static_cast<std::size_t>(std::countr_zero(places))];
    if (free.empty()) {
        free.push_back(static_cast<std::uint32_t>(occupants_.size()));
        occupants_.resize(occupants_.size() + places);
    }
    const std::uint32_t first = free.back();
    free.pop_back();
    std::copy_n(occupants_.begin() + link.first, link.count, occupants_.begin() + first);
    if (link.places > 0) {
        free_places_[static_cast<std::size_t>(std::countr_zero(link.places))].push_back(link.first);
    }
    link.first = first;
    link.places = places;
}

/// The only one to occupy a link has it for itself, and its level stays whatever the path's flow gets.
void SharedLinks::set_alone(Link& link, double share) {
    link.level = link.capacity / share;
    link.wake_at = infinity;
    link.is_idle = 0;
}

/// Lays a path along the route. Returns: its number.
std::uint32_t SharedLinks::lay(const fabric::Route& route) {
    if (free_paths_.empty()) {
        free_paths_.push_back(static_cast<std::uint32_t>(paths_.size()));
        paths_.emplace_back();
        rates_.push_back(0.0);
    }
    const std::uint32_t number = free_paths_.back();
    free_paths_.pop_back();
    const auto count = static_cast<std::uint32_t>(route.links.size());
    Path& path = paths_[number];
    path = {.full_rate = infinity, .first = take_block(count), .count = count};
    for (std::uint32_t part = 0; part < count; ++part) {
        const auto link_number = static_cast<std::uint32_t>(index(route.links[part].link));
        const double share = route.links[part].share;
        Link& link = links_[link_number];
        if (link.count == link.places) {
            grow(link);
        }
        crossings_[path.first + part] = {link_number, link.count, share};
        occupants_[link.first + link.count] = {number, path.first + part, share};
        ++link.count;
        if (link.count == 2) {
            const Occupant& other = occupants_[link.first];
            link.is_idle = 1;
            link.room = link.capacity - other.share * rates_[other.path];  // not kept while a path has it for itself
            ++paths_[other.path].shared_links;
        }
        path.shared_links += link.count > 1 ? 1 : 0;
        path.full_rate = std::min(path.full_rate, link.capacity / share);
    }
    crossings_laid_ += count;
    return number;
}

/// Takes a path without a flow off its links, of which those where that leaves more for others are unsettled.
void SharedLinks::take_up(std::uint32_t number) {
    Path& path = paths_[number];
    forget_vacant(number);
    for (const Crossing& crossing : crossings_of(path)) {
        Link& link = links_[crossing.link];
        --link.count;
        const Occupant last = occupants_[link.first + link.count];
        occupants_[link.first + crossing.position] = last;
        crossings_[last.crossing].position = crossing.position;
        if (link.count == 0) {
            set_unused(link);
            continue;
        }
        const Occupant& left = occupants_[link.first];
        if (link.count == 1) {
            --paths_[left.path].shared_links;
        }
        if (link.count == 1 && rates_[left.path] == 0.0) {  // nobody's rate depends on it yet
            set_alone(link, left.share);
        } else if (link.is_idle != 0 && (link.count == 1 || link.level < infinity)) {
            unsettle(crossing.link);
        }
    }
    free_blocks_[path.count].push_back(path.first);
    path.first = none;
    free_paths_.push_back(number);
    crossings_laid_ -= path.count;
}

/// A path without a flow along this route, none if there is none; then it is among those no more.
std::uint32_t SharedLinks::vacant_path(const fabric::Route& route) {
    const auto same = [](const Crossing& crossing, const fabric::RouteShare& part) {
        return crossing.link == index(part.link) && crossing.share == part.share;
    };
    std::uint32_t* next = &links_[index(route.links.front().link)].vacant;
    for (int tried = 0; *next != none && tried < most_vacant_tried; ++tried) {
        const std::uint32_t number = *next;
        Path& path = paths_[number];
        const std::span<const Crossing> crossings = crossings_of(path);
        if (std::equal(crossings.begin(), crossings.end(), route.links.begin(), route.links.end(), same)) {
            *next = path.next_vacant;
            return number;
        }
        next = &path.next_vacant;
    }
    return none;
}

void SharedLinks::forget_vacant(std::uint32_t number) {
    std::uint32_t* next = &links_[crossings_[paths_[number].first].link].vacant;
    while (*next != number) {
        next = &paths_[*next].next_vacant;
    }
    *next = paths_[number].next_vacant;
}

void SharedLinks::add(std::uint32_t flow, const fabric::Route& route) {
    if (index(route.links.front().link) >= links_.size()) {
        require_route(route, links_.size());
    }
    std::uint32_t number = vacant_path(route);
    if (number == none) {
        require_route(route, links_.size());
        number = lay(route);
        laid_.push_back(number);
    } else if (paths_[number].vacant_since == round_) {
        followers_.push_back(flow);
    } else {
        resumed_.push_back(number);
        trust_ = std::min(trust_ + 1, most_trust);
    }
    for (const fabric::RouteShare& part : route.links) {
        ++loads_[index(part.link)];
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
        --loads_[crossing.link];
    }
    Link& first = links_[crossings_[path.first].link];
    path.flow = none;
    path.vacant_since = round_;
    path.next_vacant = first.vacant;
    first.vacant = number;
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
                links_[crossing.link].room += crossing.share * rates_[number];
            }
        }
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
            for (std::uint32_t at = link.count; link.count > loads_[crossing.link] && at-- > 0;) {
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
        note_moved(number);
        if (path.shared_links == 0) {
            rates_[number] = path.full_rate;
            continue;
        }
        const double rate = allowed_elsewhere(path, none);
        rates_[number] = rate;
        const double taken = rate < infinity ? rate : 0.0;
        for (const Crossing& crossing : crossings_of(path)) {
            Link& link = links_[crossing.link];
            link.room -= crossing.share * taken;
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
            if (link.is_idle != 0 && link.level < infinity && loads_[crossing.link] > 0) {
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
        if (std::abs(rate - path.told) > same_rate * rate) {
            path.told = rate;
            changed_.push_back(path.flow);
            ++work_.rates_moved;
        }
    }
}

}  // namespace lockstep::engine
