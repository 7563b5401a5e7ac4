#include "sim/collective/swing_pattern.h"

#include <bit>

namespace lockstep::collective {

namespace {

/// How far the partner is in step t, in an even rank's direction: sum of (-2)^i for i <= t.
std::int64_t distance_in(std::uint32_t t) { return (1 - (t % 2 == 0 ? -2 : 2) * (std::int64_t{1} << t)) / 3; }

std::uint32_t modulo(std::int64_t value, std::uint32_t modulus) {
    const std::int64_t remainder = value % static_cast<std::int64_t>(modulus);
    return static_cast<std::uint32_t>(remainder < 0 ? remainder + modulus : remainder);
}

}  // namespace

SwingPattern swing_pattern(std::uint32_t extent) {
    SwingPattern pattern{.extent = extent};
    const auto steps = static_cast<std::uint32_t>(std::bit_width(extent - 1));
    pattern.partner.resize(steps);
    pattern.given.resize(steps);
    pattern.had.resize(steps + 1);
    std::vector<bool> has(extent, false);
    has[0] = true;
    pattern.had[steps] = {0};
    for (std::uint32_t t = steps; t-- > 0;) {
        const std::uint32_t partner = modulo(distance_in(t), extent);
        pattern.partner[t] = partner;
        // The partner sees everything mirrored: it has partner - o where this one has o.
        const auto of_partner = [&](std::uint32_t offset) { return (partner + extent - offset) % extent; };
        pattern.had[t] = pattern.had[t + 1];
        for (const std::uint32_t offset : pattern.had[t + 1]) {
            if (!has[of_partner(offset)]) {
                pattern.given[t].push_back(offset);
                pattern.had[t].push_back(of_partner(offset));
            }
        }
        for (const std::uint32_t offset : pattern.given[t]) {
            has[of_partner(offset)] = true;
        }
    }
    return pattern;
}

}  // namespace lockstep::collective
