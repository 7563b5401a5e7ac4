#pragma once

#include <cstddef>

#include "sim/base/units.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// Throws: std::invalid_argument unless the delay is at least 0 and finite.
void require_delay(Seconds delay);

/// Throws: std::invalid_argument unless `bytes` is at least 0 and finite.
void require_bytes(double bytes);

/// Throws: std::invalid_argument unless every link of the route is one of `links` and every share is above 0 and
/// finite.
void require_route(const fabric::Route& route, std::size_t links);

/// Both of them.
void require_flow(const fabric::Route& route, double bytes, std::size_t links);

}  // namespace lockstep::engine
