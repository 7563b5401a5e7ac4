#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::engine {

namespace {

// How far from full a bottleneck may be, and how much faster another flow on it, before it counts as broken: wide
// enough for the rounding of sums over thousands of flows, far below the 1e-6 that results are held to.
constexpr double tolerance = 1e-11;

// A rate that moved by less than this did not move.
constexpr double same_rate = 1e-13;

// How many leavers with the same first link are looked at for one with the same route.
constexpr int most_leavers_tried = 8;

// Past this many rounds a region takes in everything it is connected to: chains of bottlenecks must not be followed hop
// by hop.
constexpr int most_rounds = 16;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

SharedLinks::SharedLinks(std::vector<double> capacities) : links_(capacities.size()), loads_(capacities.size(), 0) {
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        if (!(capacities[link] > 0) || !std::isfinite(capacities[link])) {
            throw std::invalid_argument(fmt::format("link {} has a capacity of {} B/s", link, capacities[link]));
        }
        links_[link].capacity = capacities[link];
    }
}

std::span<SharedLinks::Crossing> SharedLinks::crossings_of(std::uint32_t flow) {
    return std::span(crossings_).subspan(members_[flow].first, members_[flow].count);
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

void SharedLinks::add(std::uint32_t flow, const fabric::Route& route) {
    if (flow >= members_.size()) {
        members_.resize(static_cast<std::size_t>(flow) + 1);
    }
    for (const fabric::RouteShare& part : route.links) {
        ++loads_[index(part.link)];
    }
    if (take_over(flow, route)) {
        successors_.push_back(flow);
        return;
    }
    Member& member = members_[flow];
    member.count = static_cast<std::uint32_t>(route.links.size());
    member.first = take_block(member.count);
    member.rate = 0.0;
    member.bottleneck = none;
    for (std::uint32_t part = 0; part < member.count; ++part) {
        const auto number = static_cast<std::uint32_t>(index(route.links[part].link));
        std::vector<Occupant>& occupants = links_[number].occupants;
        const double share = route.links[part].share;
        crossings_[member.first + part] = {number, static_cast<std::uint32_t>(occupants.size()), share};
        occupants.push_back({flow, member.first + part, share});
    }
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
        const std::span<const Crossing> crossings = crossings_of(*leaver);
        if (std::equal(crossings.begin(), crossings.end(), route.links.begin(), route.links.end(), same)) {
            *leaver = left.next_leaver;
            members_[flow] = left;
            left.first = none;
            for (const Crossing& crossing : crossings_of(flow)) {
                links_[crossing.link].occupants[crossing.position].flow = flow;
            }
            return true;
        }
        leaver = &left.next_leaver;
    }
    return false;
}

void SharedLinks::remove(std::uint32_t flow) {
    const std::span<const Crossing> crossings = crossings_of(flow);
    for (const Crossing& crossing : crossings) {
        --loads_[crossing.link];
    }
    Link& first = links_[crossings.front().link];
    members_[flow].next_leaver = first.leaver;
    first.leaver = flow;
    leavers_.push_back(flow);
}

void SharedLinks::touch(std::uint32_t link) {
    if (links_[link].touched_in != region_) {
        links_[link].touched_in = region_;
        touched_.push_back(link);
    }
}

void SharedLinks::unlink_leavers() {
    for (const std::uint32_t flow : leavers_) {
        Member& member = members_[flow];
        if (member.first == none) {
            continue;  // another took its place
        }
        links_[crossings_[member.first].link].leaver = none;
        for (const Crossing& crossing : crossings_of(flow)) {
            std::vector<Occupant>& occupants = links_[crossing.link].occupants;
            occupants[crossing.position] = occupants.back();
            crossings_[occupants.back().crossing].position = crossing.position;
            occupants.pop_back();
            if (!occupants.empty()) {
                touch(crossing.link);
            }
        }
        free_blocks_[member.count].push_back(member.first);
        member.first = none;
    }
    leavers_.clear();
}

/// Gives the flow its rate if no other crosses any of its links. Returns: whether so.
bool SharedLinks::settle_alone(std::uint32_t flow) {
    double rate = infinity;
    std::uint32_t bottleneck = none;
    for (const Crossing& crossing : crossings_of(flow)) {
        const Link& link = links_[crossing.link];
        if (link.occupants.size() > 1) {
            return false;
        }
        const double bound = link.capacity / crossing.share;
        if (bound < rate) {
            rate = bound;
            bottleneck = crossing.link;
        }
    }
    members_[flow].rate = rate;
    members_[flow].bottleneck = bottleneck;
    return true;
}

std::span<const std::uint32_t> SharedLinks::settle() {
    ++region_;
    touched_.clear();
    changed_.assign(successors_.begin(), successors_.end());
    successors_.clear();
    unlink_leavers();
    for (const std::uint32_t flow : newcomers_) {
        if (settle_alone(flow)) {
            changed_.push_back(flow);
        } else {
            for (const Crossing& crossing : crossings_of(flow)) {
                touch(crossing.link);
            }
        }
    }
    start_region();
    newcomers_.clear();
    if (region_flows_.empty()) {
        return changed_;
    }
    for (int round = 1;; ++round) {
        if (round == most_rounds) {
            take_in_all_reachable();
        }
        solve_region();
        find_broken();
        if (broken_.empty()) {
            break;
        }
        for (const std::uint32_t flow : broken_) {
            take_into_region(flow);
        }
    }
    commit_region();
    assert(is_within_capacity());
    return changed_;
}

/// The region starts with the newcomers that are not alone and the flows whose bottleneck gained or lost a flow.
void SharedLinks::start_region() {
    region_flows_.clear();
    region_links_.clear();
    problem_.clear();
    for (const std::uint32_t flow : newcomers_) {
        if (members_[flow].bottleneck == none) {
            take_into_region(flow);
        }
    }
    for (const std::uint32_t link : touched_) {
        for (const Occupant& occupant : links_[link].occupants) {
            if (members_[occupant.flow].bottleneck == link) {
                take_into_region(occupant.flow);
            }
        }
    }
}

void SharedLinks::take_into_region(std::uint32_t flow) {
    if (is_in_region(flow)) {
        return;
    }
    members_[flow].in_region = region_;
    region_flows_.push_back(flow);
    problem_.add_flow();
    for (const Crossing& crossing : crossings_of(flow)) {
        Link& link = links_[crossing.link];
        if (link.in_region != region_) {
            link.in_region = region_;
            link.number = problem_.add_link(0.0);
            region_links_.emplace_back().link = crossing.link;
        }
        region_links_[link.number].is_changed = true;
        problem_.add_crossing(link.number, crossing.share);
    }
}

void SharedLinks::take_in_all_reachable() {
    std::size_t number = 0;
    while (number < region_links_.size()) {  // grows on the way
        for (const Occupant& occupant : links_[region_links_[number++].link].occupants) {
            take_into_region(occupant.flow);
        }
    }
}

/// Shares among the region's flows what the others leave of its links.
void SharedLinks::solve_region() {
    for (std::uint32_t number = 0; number < region_links_.size(); ++number) {
        Frontier& frontier = region_links_[number];
        if (!frontier.is_changed) {
            continue;
        }
        const Link& link = links_[frontier.link];
        frontier = {frontier.link, false, 0, 0.0, infinity, 0.0, infinity};
        double left = link.capacity;
        for (const Occupant& occupant : link.occupants) {
            const Member& member = members_[occupant.flow];
            if (member.in_region == region_) {
                continue;
            }
            left -= occupant.share * member.rate;
            ++frontier.outsiders;
            frontier.fastest_outsider = std::max(frontier.fastest_outsider, member.rate);
            if (member.bottleneck == frontier.link) {
                frontier.slowest_bound = std::min(frontier.slowest_bound, member.rate);
            }
        }
        problem_.set_capacity(number, left);
    }
    problem_.solve();
}

/// Lists the flows outside the region that either are slowed down by their bottleneck no more, or hold back a flow of
/// the region that is slower.
void SharedLinks::find_broken() {
    broken_.clear();
    for (Frontier& frontier : region_links_) {
        frontier.fastest = 0.0;
        frontier.level = infinity;
    }
    for (std::uint32_t flow = 0; flow < problem_.flow_count(); ++flow) {
        const double rate = problem_.rate(flow);
        for (const MaxMin::Crossing& crossing : problem_.crossings_of(flow)) {
            region_links_[crossing.link].fastest = std::max(region_links_[crossing.link].fastest, rate);
        }
        region_links_[problem_.bottleneck(flow)].level = rate;
    }
    for (std::uint32_t number = 0; number < region_links_.size(); ++number) {
        const Frontier& frontier = region_links_[number];
        if (frontier.outsiders == 0) {
            continue;
        }
        const Link& link = links_[frontier.link];
        const bool is_full = problem_.left(number) <= link.capacity * tolerance;
        // Outsiders with this bottleneck stay so if the link is full and they are as fast as any inside; the others if
        // they are no faster than those that the link slows down inside.
        const double least = is_full ? frontier.fastest * (1 - tolerance) : infinity;
        const double most = frontier.level * (1 + tolerance);
        if (frontier.slowest_bound >= least && frontier.fastest_outsider <= most) {
            continue;
        }
        for (const Occupant& occupant : link.occupants) {
            const Member& member = members_[occupant.flow];
            const bool is_bound = member.bottleneck == frontier.link;
            if (member.in_region != region_ && ((is_bound && member.rate < least) || member.rate > most)) {
                broken_.push_back(occupant.flow);
            }
        }
    }
}

void SharedLinks::commit_region() {
    for (std::uint32_t number = 0; number < region_flows_.size(); ++number) {
        Member& member = members_[region_flows_[number]];
        const double rate = problem_.rate(number);
        member.bottleneck = region_links_[problem_.bottleneck(number)].link;
        if (std::abs(rate - member.rate) > same_rate * rate) {
            member.rate = rate;
            changed_.push_back(region_flows_[number]);
        }
    }
}

bool SharedLinks::is_within_capacity() const {
    return std::all_of(region_links_.begin(), region_links_.end(), [this](const Frontier& frontier) {
        double used = 0.0;
        for (const Occupant& occupant : links_[frontier.link].occupants) {
            used += occupant.share * members_[occupant.flow].rate;
        }
        return used <= links_[frontier.link].capacity * (1 + 1e-9);
    });
}

}  // namespace lockstep::engine
