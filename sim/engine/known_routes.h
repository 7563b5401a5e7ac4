#pragma once

#include <cstddef>
#include <cstdint>
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
    /// A set in open addressing: each entry at the place of its hash or behind, no more than half of them taken.
    struct Entry {
        std::uint64_t hash = 0;
        RouteId route{};  ///< 0: free
    };
    using Table = std::vector<Entry>;

    static void make_room(Table& table, std::size_t count);

    std::vector<const fabric::Route*> routes_;  // by number
    Table by_object_;                           // the address as the hash
    std::size_t object_count_ = 0;
    Table by_content_;
};

}  // namespace lockstep::engine
