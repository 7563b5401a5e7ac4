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

void require_flow(const fabric::Route& route, double bytes, std::size_t links) {
    if (!(bytes >= 0) || !std::isfinite(bytes)) {
        throw std::invalid_argument(fmt::format("a flow of {} bytes was started", bytes));
    }
    for (const fabric::RouteShare& part : route.links) {
        if (index(part.link) >= links) {
            throw std::invalid_argument(fmt::format("a route crosses link {} of {}", index(part.link), links));
        }
        if (!(part.share > 0) || !std::isfinite(part.share)) {
            throw std::invalid_argument(fmt::format("a route has a share of {}", part.share));
        }
    }
}

}  // namespace lockstep::engine
