#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::engine {

namespace {

// A rate that moved by less than this part of itself did not move.
constexpr double same_rate = 1e-13;

// How many leavers with the same first link are looked at for one with the same route.
constexpr int most_leavers_tried = 8;

}  // namespace

SharedLinks::SharedLinks(const std::vector<double>& capacities, std::size_t patience)
    : free_places_(32), loads_(capacities.size(), 0), patience_(patience) {
    links_.reserve(capacities.size());
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        const double capacity = capacities[link];
        if (!(capacity > 0) || !std::isfinite(capacity)) {
            throw std::invalid_argument(fmt::format("link {} has a capacity of {} B/s", link, capacity));
        }
        links_.push_back({.capacity = capacity, .room = capacity});
        set_open(links_.back());
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

void SharedLinks::add(std::uint32_t flow, const fabric::Route& route) {
    if (flow >= members_.size()) {
        const auto size = static_cast<std::size_t>(flow) + 1;
        members_.resize(size);
        told_rates_.resize(size);
        next_leaver_.resize(size);
    }
    for (const fabric::RouteShare& part : route.links) {
        ++loads_[index(part.link)];
    }
    if (take_over(flow, route)) {
        successors_.push_back(flow);
        return;
    }
    const auto count = static_cast<std::uint32_t>(route.links.size());
    Member& member = members_[flow];
    member.rate = infinity;
    member.first = take_block(count);
    member.count = count;
    told_rates_[flow] = 0.0;
    for (std::uint32_t part = 0; part < count; ++part) {
        const auto number = static_cast<std::uint32_t>(index(route.links[part].link));
        Link& link = links_[number];
        if (link.count == link.places) {
            grow(link);
        }
        const double share = route.links[part].share;
        crossings_[member.first + part] = {number, link.count, share};
        occupants_[link.first + link.count] = {flow, member.first + part, share};
        ++link.count;
    }
    crossings_under_way_ += count;
    newcomers_.push_back(flow);
}

/// Whether a flow that was removed since the last settle() had the same route: then the new one inherits its crossings
/// and rate, and to the other flows nothing happened.
bool SharedLinks::take_over(std::uint32_t flow, const fabric::Route& route) {
    const auto same = [](const Crossing& crossing, const fabric::RouteShare& part) {
        return crossing.link == index(part.link) && crossing.share == part.share;
    };
    std::uint32_t* leaver = &links_[index(route.links.front().link)].leaver;
    for (int tried = 0; *leaver != none && tried < most_leavers_tried; ++tried) {
        Member& left = members_[*leaver];
        const std::span<const Crossing> crossings = crossings_of(left);
        if (std::equal(crossings.begin(), crossings.end(), route.links.begin(), route.links.end(), same)) {
            for (const Crossing& crossing : crossings) {
                occupants_[links_[crossing.link].first + crossing.position].flow = flow;
            }
            members_[flow] = left;
            left.first = none;
            told_rates_[flow] = told_rates_[*leaver];
            *leaver = next_leaver_[*leaver];
            return true;
        }
        leaver = &next_leaver_[*leaver];
    }
    return false;
}

void SharedLinks::remove(std::uint32_t flow) {
    const std::span<const Crossing> crossings = crossings_of(members_[flow]);
    for (const Crossing& crossing : crossings) {
        --loads_[crossing.link];
    }
    Link& first = links_[crossings.front().link];
    next_leaver_[flow] = first.leaver;
    first.leaver = flow;
    leavers_.push_back(flow);
}

std::span<const std::uint32_t> SharedLinks::settle() {
    ++round_;
    changed_.assign(successors_.begin(), successors_.end());
    successors_.clear();
    if (leavers_.empty() && newcomers_.empty()) {
        return changed_;
    }
    steps_ = 0;
    moved_.clear();
    unlink_leavers();
    welcome_newcomers();
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

/// Keeps of the leavers those whose place none took.
void SharedLinks::unlink_leavers() {
    std::size_t kept = 0;
    for (const std::uint32_t flow : leavers_) {
        const Member& member = members_[flow];
        if (member.first == none) {
            continue;
        }
        leavers_[kept++] = flow;
        links_[crossings_[member.first].link].leaver = none;
        for (const Crossing& crossing : crossings_of(member)) {
            Link& link = links_[crossing.link];
            --link.count;
            const Occupant last = occupants_[link.first + link.count];
            occupants_[link.first + crossing.position] = last;
            crossings_[last.crossing].position = crossing.position;
            link.room += crossing.share * member.rate;
        }
        crossings_under_way_ -= member.count;
    }
    leavers_.resize(kept);
}

/// Gives new flows the rate that levels as they are allow, and unsettles the links they share.
void SharedLinks::welcome_newcomers() {
    for (const std::uint32_t flow : newcomers_) {
        for (const Crossing& crossing : crossings_of(members_[flow])) {
            Link& link = links_[crossing.link];
            if (link.count == 1) {  // its level is known, and stays whatever the flow gets
                link.level = link.capacity / crossing.share;
                link.wake_at = infinity;
                link.is_idle = 0;
            } else {
                link.is_idle = 1;
            }
        }
    }
    for (const std::uint32_t flow : newcomers_) {
        Member& member = members_[flow];
        member.rate = allowed_elsewhere(member, none);
        const double taken = member.rate < infinity ? member.rate : 0.0;
        for (const Crossing& crossing : crossings_of(member)) {
            Link& link = links_[crossing.link];
            link.room -= crossing.share * taken;
            if (link.is_idle != 0 && (link.room < link.wake_at || member.rate == infinity)) {
                unsettle(crossing.link);
            }
        }
        note_moved(flow);
    }
    newcomers_.clear();
}

/// A link that lost a flow has another level now if it was full, or if one flow is left, which is alone.
void SharedLinks::unsettle_left_links() {
    for (const std::uint32_t flow : leavers_) {
        Member& member = members_[flow];
        for (const Crossing& crossing : crossings_of(member)) {
            Link& link = links_[crossing.link];
            if (link.count == 0) {
                set_open(link);
                link.is_idle = 0;
            } else if (link.is_idle != 0 && (link.level < infinity || link.count == 1)) {
                unsettle(crossing.link);
            }
        }
        free_blocks_[member.count].push_back(member.first);
        member.first = none;
    }
    leavers_.clear();
}

/// Lists the flows whose rate differs from what it was when they were listed last.
void SharedLinks::list_changed() {
    for (const std::uint32_t flow : moved_) {
        const double rate = members_[flow].rate;
        if (std::abs(rate - told_rates_[flow]) > same_rate * rate) {
            told_rates_[flow] = rate;
            changed_.push_back(flow);
            ++work_.rates_moved;
        }
    }
}

}  // namespace lockstep::engine
