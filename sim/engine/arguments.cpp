#include "sim/engine/arguments.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::engine {

void require_delay(Seconds delay) {
    if (!(delay.value >= 0) || !std::isfinite(delay.value)) {
        throw std::invalid_argument(fmt::format("a timer was set for {} s from now", delay.value));
    }
}

void require_bytes(double bytes) {
    if (!(bytes >= 0) || !std::isfinite(bytes)) {
        throw std::invalid_argument(fmt::format("a flow of {} bytes was started", bytes));
    }
}

void require_route(const fabric::Route& route, std::size_t links) {
    for (const fabric::RouteShare& part : route.links) {
        if (index(part.link) >= links) {
            throw std::invalid_argument(fmt::format("a route crosses link {} of {}", index(part.link), links));
        }
        if (!(part.share > 0) || !std::isfinite(part.share)) {
            throw std::invalid_argument(fmt::format("a route has a share of {}", part.share));
        }
    }
}

void require_flow(const fabric::Route& route, double bytes, std::size_t links) {
    require_bytes(bytes);
    require_route(route, links);
}

}  // namespace lockstep::engine
