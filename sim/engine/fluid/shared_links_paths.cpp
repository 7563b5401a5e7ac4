// How SharedLinks lays paths along routes and takes them up again.
#include <algorithm>
#include <bit>
#include <utility>

#include "sim/engine/fluid/shared_links.h"

namespace lockstep::engine {

namespace {

/// How many crossings a path of so many has places for: a few to the number, many to a power of two, so that a path
/// that grows crossing by crossing seldom moves.
std::uint32_t block_size(std::uint32_t count) { return count <= 8 ? count : std::bit_ceil(count); }

}  // namespace

/// Places for `count` crossings.
std::uint32_t SharedLinks::take_block(std::uint32_t count) {
    const std::uint32_t size = block_size(count);
    if (size >= free_blocks_.size()) {
        free_blocks_.resize(static_cast<std::size_t>(size) + 1);
    }
    auto& free = free_blocks_[size];
    if (free.empty()) {
        const auto first = static_cast<std::uint32_t>(crossings_.size());
        crossings_.resize(crossings_.size() + size);
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

void SharedLinks::occupy(std::uint32_t number, std::uint32_t path, std::uint32_t crossing, double share) {
    Link& link = links_[number];
    if (link.count == link.places) {
        grow(link);
    }
    crossings_[crossing] = {number, link.count, share};
    occupants_[link.first + link.count] = {path, crossing, share};
    ++link.count;
    if (link.count == 2) {
        const Occupant& other = occupants_[link.first];
        link.active = paths_[other.path].is_at_rest ? 0 : 1;
        link.is_idle = 1;
        link.room = link.capacity - other.share * rates_[other.path];  // not kept while a path has it for itself
        ++paths_[other.path].shared_links;
    }
    if (link.count > 1) {
        ++paths_[path].shared_links;
        if (!paths_[path].is_at_rest) {
            exchange_places(link, link.count - 1, link.active++);
        }
    }
}

/// Two occupants of the link take each other's place.
void SharedLinks::exchange_places(const Link& link, std::uint32_t position, std::uint32_t other) {
    if (position != other) {
        Occupant& one = occupants_[link.first + position];
        Occupant& two = occupants_[link.first + other];
        std::swap(one, two);
        crossings_[one.crossing].position = position;
        crossings_[two.crossing].position = other;
    }
}

/// Lays a path along the route. Returns: its number.
std::uint32_t SharedLinks::lay(RouteId route, const fabric::Route& links) {
    const std::span<const LinkBundles::Part> parts = bundles_.parts_of(links);
    while (links_.size() < bundles_.count()) {
        links_.push_back({.capacity = bundles_.capacity(static_cast<std::uint32_t>(links_.size()))});
        set_unused(links_.back());
        flows_.push_back(0);
        is_stale_.push_back(0);
    }
    for (const LinkBundles::Split made : bundles_.splits()) {
        split(made);
    }
    if (free_paths_.empty()) {
        free_paths_.push_back(static_cast<std::uint32_t>(paths_.size()));
        paths_.emplace_back();
        rates_.push_back(0.0);
    }
    const std::uint32_t number = free_paths_.back();
    free_paths_.pop_back();
    const auto count = static_cast<std::uint32_t>(parts.size());
    Path& path = paths_[number];
    path = {.first = take_block(count), .count = count, .route = static_cast<std::uint32_t>(index(route))};
    for (std::uint32_t part = 0; part < count; ++part) {
        occupy(parts[part].bundle, number, path.first + part, parts[part].share);
    }
    crossings_laid_ += count;
    return number;
}

/// Gives the new bundle the paths of the one that it was part of. What held these back still does, in one or both.
void SharedLinks::split(LinkBundles::Split split) {
    const double room_more = bundles_.capacity(split.from) - links_[split.from].capacity;
    links_[split.from].capacity += room_more;
    links_[split.from].room += room_more;
    count_flows(split.from, 0);
    count_flows(split.into, flows_[split.from]);
    for (std::uint32_t at = 0; at < links_[split.from].count; ++at) {
        const Occupant occupant = occupants_[links_[split.from].first + at];
        lengthen(occupant.path, split.into, occupant.share);
    }
    Link& from = links_[split.from];
    Link& into = links_[split.into];
    if (from.count == 1) {
        set_alone(from, occupants_of(from).front().share);
        set_alone(into, occupants_of(into).front().share);
    } else if (from.count > 1) {
        into.level = from.level;
        into.room = from.room + into.capacity - from.capacity;
        into.wake_at = from.wake_at;
        for (const std::uint32_t number : {split.from, split.into}) {
            if (links_[number].is_idle != 0) {
                unsettle(number);
            }
        }
    }
}

/// Lets the path cross one more link.
void SharedLinks::lengthen(std::uint32_t number, std::uint32_t link, double share) {
    Path& path = paths_[number];
    if (path.count == block_size(path.count)) {
        const std::uint32_t first = take_block(path.count + 1);
        for (std::uint32_t part = 0; part < path.count; ++part) {
            const Crossing& crossing = crossings_[path.first + part];
            crossings_[first + part] = crossing;
            occupants_[links_[crossing.link].first + crossing.position].crossing = first + part;
        }
        free_blocks_[path.count].push_back(path.first);
        path.first = first;
    }
    occupy(link, number, path.first + path.count, share);
    ++path.count;
    ++crossings_laid_;
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
    free_blocks_[block_size(path.count)].push_back(path.first);
    path.first = none;
    free_paths_.push_back(number);
    crossings_laid_ -= path.count;
}

std::span<const std::uint32_t> SharedLinks::loads() const {
    for (const std::uint32_t number : stale_) {
        std::uint32_t link = bundles_.link_of(number);
        for (std::uint32_t left = bundles_.size(number); left > 0; --left) {
            loads_[link] = flows_[number];
            link = bundles_.next(link);
        }
        is_stale_[number] = 0;
    }
    stale_.clear();
    return loads_;
}

void SharedLinks::forget_vacant(std::uint32_t number) {
    std::uint32_t* next = &vacant_[paths_[number].route];
    while (*next != number) {
        next = &paths_[*next].next_vacant;
    }
    *next = paths_[number].next_vacant;
}

}  // namespace lockstep::engine
