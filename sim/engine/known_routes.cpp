#include "sim/engine/known_routes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/engine/arguments.h"

namespace lockstep::engine {

namespace {

std::uint64_t mixed(std::uint64_t value) {
    value *= 0x9E3779B97F4A7C15ULL;
    return value ^ (value >> 32U);
}

std::uint64_t hash_of(const fabric::Route& route) {
    std::uint64_t hash = route.links.size();
    for (const fabric::RouteShare& part : route.links) {
        hash = mixed(hash ^ index(part.link)) + std::bit_cast<std::uint64_t>(part.share);
    }
    return mixed(hash);
}

/// No two addresses have the same: multiplying by an odd number and folding are both one to one.
std::uint64_t hash_of(const fabric::Route* object) { return mixed(reinterpret_cast<std::uintptr_t>(object)); }

bool are_same(const fabric::Route& a, const fabric::Route& b) {
    return std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(),
                      [](const fabric::RouteShare& one, const fabric::RouteShare& other) {
                          return one.link == other.link && one.share == other.share;
                      });
}

/// The first entry from the place of the hash on that is free or that `fits`.
template <class Table, class Fits>
auto& place_in(Table& table, std::uint64_t hash, Fits fits) {
    std::size_t at = hash & (table.size() - 1);
    while (table[at].route != RouteId{0} && !(table[at].hash == hash && fits(table[at].route))) {
        at = (at + 1) & (table.size() - 1);
    }
    return table[at];
}

}  // namespace

/// Makes room for one more than `count` entries.
void KnownRoutes::make_room(Table& table, std::size_t count) {
    if (2 * (count + 1) <= table.size()) {
        return;
    }
    const Table before = std::exchange(table, Table(std::max<std::size_t>(64, 2 * table.size())));
    for (const Entry& entry : before) {
        if (entry.route != RouteId{0}) {
            place_in(table, entry.hash, [](RouteId) { return false; }) = entry;
        }
    }
}

RouteId KnownRoutes::number(const fabric::Route& route, std::size_t link_count) {
    if (route.links.empty()) {
        return RouteId{0};
    }
    make_room(by_object_, object_count_);
    // The hash of an address says which it is.
    Entry& object = place_in(by_object_, hash_of(&route), [](RouteId) { return true; });
    if (object.route != RouteId{0}) {
        return object.route;
    }
    require_route(route, link_count);
    make_room(by_content_, count());
    const std::uint64_t hash = hash_of(route);
    Entry& same = place_in(by_content_, hash, [&](RouteId known) { return are_same(at(known), route); });
    if (same.route == RouteId{0}) {
        same = {hash, static_cast<RouteId>(count())};
        routes_.push_back(&route);
    }
    object = {hash_of(&route), same.route};
    ++object_count_;
    return same.route;
}

}  // namespace lockstep::engine
