#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <cassert>
#include <cmath>
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
constexpr int most_rounds = 8;

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
        const std::uint32_t place = member.first + part;
        Link& link = links_[number];
        crossings_[place] = {flow, number, link.head, none, route.links[part].share};
        if (link.head != none) {
            crossings_[link.head].previous = place;
        }
        link.head = place;
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
            for (Crossing& crossing : crossings_of(flow)) {
                crossing.flow = flow;
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
            Link& link = links_[crossing.link];
            (crossing.previous == none ? link.head : crossings_[crossing.previous].next) = crossing.next;
            if (crossing.next != none) {
                crossings_[crossing.next].previous = crossing.previous;
            }
            if (link.head != none) {
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
    double rate = std::numeric_limits<double>::infinity();
    std::uint32_t bottleneck = none;
    for (const Crossing& crossing : crossings_of(flow)) {
        if (crossing.next != none || crossing.previous != none) {
            return false;
        }
        const double bound = links_[crossing.link].capacity / crossing.share;
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
        broken_.clear();
        for (const std::uint32_t link : region_links_) {
            list_broken(link);
        }
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
    for (const std::uint32_t flow : newcomers_) {
        if (members_[flow].bottleneck == none) {
            take_into_region(flow);
        }
    }
    for (const std::uint32_t link : touched_) {
        for (std::uint32_t place = links_[link].head; place != none; place = crossings_[place].next) {
            if (members_[crossings_[place].flow].bottleneck == link) {
                take_into_region(crossings_[place].flow);
            }
        }
    }
}

void SharedLinks::take_into_region(std::uint32_t flow) {
    if (is_in_region(flow)) {
        return;
    }
    members_[flow].in_region = region_;
    members_[flow].number = static_cast<std::uint32_t>(region_flows_.size());
    region_flows_.push_back(flow);
    for (const Crossing& crossing : crossings_of(flow)) {
        Link& link = links_[crossing.link];
        if (link.in_region != region_) {
            link.in_region = region_;
            link.number = static_cast<std::uint32_t>(region_links_.size());
            region_links_.push_back(crossing.link);
        }
    }
}

void SharedLinks::take_in_all_reachable() {
    for (std::size_t position = 0; position < region_links_.size(); ++position) {  // grows on the way
        for (std::uint32_t place = links_[region_links_[position]].head; place != none;
             place = crossings_[place].next) {
            take_into_region(crossings_[place].flow);
        }
    }
}

/// Shares among the region's flows what the others leave of its links.
void SharedLinks::solve_region() {
    problem_.clear();
    for (const std::uint32_t link : region_links_) {
        double left = links_[link].capacity;
        for (std::uint32_t place = links_[link].head; place != none; place = crossings_[place].next) {
            const Crossing& crossing = crossings_[place];
            if (!is_in_region(crossing.flow)) {
                left -= crossing.share * members_[crossing.flow].rate;
            }
        }
        problem_.add_link(left);
    }
    for (const std::uint32_t flow : region_flows_) {
        problem_.add_flow();
        for (const Crossing& crossing : crossings_of(flow)) {
            problem_.add_crossing(links_[crossing.link].number, crossing.share);
        }
    }
    problem_.solve();
}

/// Adds to `broken_` the flows on this link that are outside the region and either are slowed down here no more, or
/// hold back a flow of the region that is slower.
void SharedLinks::list_broken(std::uint32_t link) {
    const Link& shared = links_[link];
    double used = 0.0;
    double fastest = 0.0;  // of the region's flows
    double level = -1.0;   // of those whose bottleneck this is; none if negative
    bool are_others = false;
    for (std::uint32_t place = shared.head; place != none; place = crossings_[place].next) {
        const Crossing& crossing = crossings_[place];
        const Member& member = members_[crossing.flow];
        if (is_in_region(crossing.flow)) {
            const double rate = problem_.rate(member.number);
            used += crossing.share * rate;
            fastest = std::max(fastest, rate);
            if (problem_.bottleneck(member.number) == shared.number) {
                level = std::max(level, rate);
            }
        } else {
            used += crossing.share * member.rate;
            are_others = true;
        }
    }
    if (!are_others) {
        return;
    }
    const bool is_full = used >= shared.capacity * (1 - tolerance);
    for (std::uint32_t place = shared.head; place != none; place = crossings_[place].next) {
        const std::uint32_t flow = crossings_[place].flow;
        if (is_in_region(flow)) {
            continue;
        }
        const double rate = members_[flow].rate;
        const bool lost = members_[flow].bottleneck == link && (!is_full || rate < fastest * (1 - tolerance));
        const bool holds_back = level >= 0 && rate > level * (1 + tolerance);
        if (lost || holds_back) {
            broken_.push_back(flow);
        }
    }
}

void SharedLinks::commit_region() {
    for (std::uint32_t number = 0; number < region_flows_.size(); ++number) {
        Member& member = members_[region_flows_[number]];
        const double rate = problem_.rate(number);
        member.bottleneck = region_links_[problem_.bottleneck(number)];
        if (std::abs(rate - member.rate) > same_rate * rate) {
            member.rate = rate;
            changed_.push_back(region_flows_[number]);
        }
    }
}

bool SharedLinks::is_within_capacity() const {
    return std::all_of(region_links_.begin(), region_links_.end(), [this](std::uint32_t link) {
        double used = 0.0;
        for (std::uint32_t place = links_[link].head; place != none; place = crossings_[place].next) {
            used += crossings_[place].share * members_[crossings_[place].flow].rate;
        }
        return used <= links_[link].capacity * (1 + 1e-9);
    });
}

}  // namespace lockstep::engine
