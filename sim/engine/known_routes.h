#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// Numbers for routes, dense and from 0, by which a flow's route is found without looking at its links. Routes with the
/// same links in the same order and the same shares have one number, whatever objects they are; number 0 is that
/// without links. Refers to the routes: they must outlive it, unchanged.
class KnownRoutes {
  public:
    KnownRoutes() : routes_{nullptr} {}

    /// Cost: a probe of a hash table; for a new object O(links). link_count: of the fabric. Throws:
    /// std::invalid_argument as require_route().
    RouteId number(const fabric::Route& route, std::size_t link_count);
    /// Requires: a number that was given, not 0.
    const fabric::Route& at(RouteId route) const { return *routes_[index(route)]; }
    std::size_t count() const { return routes_.size(); }

  private:
    std::vector<const fabric::Route*> routes_;  // by number
    std::unordered_map<const fabric::Route*, RouteId> by_object_;
    std::unordered_multimap<std::uint64_t, RouteId> by_content_;  // by hash
};

}  // namespace lockstep::engine
