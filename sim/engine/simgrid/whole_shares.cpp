#include "sim/engine/simgrid/whole_shares.h"

#include <cmath>
#include <numeric>

namespace lockstep::engine {

namespace {

constexpr double precision = 1e-9;

/// The smallest denominator of a fraction within `precision` of `value`; none above `most`.
std::optional<std::uint64_t> denominator_of(double value, std::uint64_t most) {
    double rest = value;
    double previous = 0.0;
    double denominator = 1.0;
    while (denominator <= static_cast<double>(most)) {
        const double numerator = std::round(value * denominator);
        if (numerator > 0 && std::abs(numerator / denominator - value) <= precision * value) {
            return static_cast<std::uint64_t>(denominator);
        }
        const double fraction = rest - std::floor(rest);
        if (fraction <= 0) {
            return std::nullopt;
        }
        rest = 1 / fraction;
        const double next = std::floor(rest) * denominator + previous;
        previous = denominator;
        denominator = next;
    }
    return std::nullopt;
}

}  // namespace

std::optional<WholeShares> whole_shares(const fabric::Route& route, std::uint32_t most) {
    std::uint64_t whole = 1;
    for (const fabric::RouteShare& part : route.links) {
        const auto denominator = denominator_of(part.share, most);
        if (!denominator) {
            return std::nullopt;
        }
        whole = std::lcm(whole, *denominator);
        if (whole > most) {
            return std::nullopt;
        }
    }
    std::vector<double> parts;
    double sum = 0.0;
    std::uint64_t divisor = 0;
    for (const fabric::RouteShare& part : route.links) {
        parts.push_back(std::round(part.share * static_cast<double>(whole)));
        if (parts.back() > 0x1p53) {
            return std::nullopt;
        }
        divisor = std::gcd(divisor, static_cast<std::uint64_t>(parts.back()));
        sum += parts.back();
    }
    if (divisor == 0 || sum / static_cast<double>(divisor) > most) {
        return std::nullopt;
    }
    WholeShares shares;
    shares.whole = static_cast<double>(whole) / static_cast<double>(divisor);
    for (const double part : parts) {
        shares.parts.push_back(static_cast<std::uint32_t>(part / static_cast<double>(divisor)));
    }
    return shares;
}

}  // namespace lockstep::engine
