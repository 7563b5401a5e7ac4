#include "sim/engine/known_routes.h"

#include <algorithm>
#include <bit>

#include "sim/engine/arguments.h"

namespace lockstep::engine {

namespace {

std::uint64_t hash_of(const fabric::Route& route) {
    std::uint64_t hash = route.links.size();
    for (const fabric::RouteShare& part : route.links) {
        hash = (hash ^ index(part.link)) * 0x9E3779B97F4A7C15ULL;
        hash = (hash ^ (hash >> 32U) ^ std::bit_cast<std::uint64_t>(part.share)) * 0xD1B54A32D192ED03ULL;
    }
    return hash;
}

bool are_same(const fabric::Route& a, const fabric::Route& b) {
    return std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(),
                      [](const fabric::RouteShare& one, const fabric::RouteShare& other) {
                          return one.link == other.link && one.share == other.share;
                      });
}

}  // namespace

RouteId KnownRoutes::number(const fabric::Route& route, std::size_t link_count) {
    if (route.links.empty()) {
        return RouteId{0};
    }
    if (const auto known = by_object_.find(&route); known != by_object_.end()) {
        return known->second;
    }
    require_route(route, link_count);
    const std::uint64_t hash = hash_of(route);
    const auto [first, last] = by_content_.equal_range(hash);
    auto same = std::find_if(first, last, [&](const auto& entry) { return are_same(at(entry.second), route); });
    if (same == last) {
        same = by_content_.emplace(hash, static_cast<RouteId>(routes_.size()));
        routes_.push_back(&route);
    }
    by_object_.emplace(&route, same->second);
    return same->second;
}

}  // namespace lockstep::engine
