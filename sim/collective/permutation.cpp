#include "sim/collective/permutation.h"

#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace lockstep::collective {

namespace {

/// So fine that rounding to whole chunks does not show in a message's size.
constexpr std::uint32_t chunks_per_message = 1000;

/// Evenly from 0 to below `bound`. std::uniform_int_distribution differs between standard libraries.
std::uint64_t draw_below(std::uint64_t bound, std::mt19937_64& random) {
    const std::uint64_t whole = std::mt19937_64::max() / bound * bound;  // what is above would favour small numbers
    std::uint64_t drawn = random();
    while (drawn >= whole) {
        drawn = random();
    }
    return drawn % bound;
}

}  // namespace

Permutation::Permutation(std::uint32_t ranks, const RandomTraffic& traffic)
    : traffic_(traffic), to_(ranks), from_(ranks) {
    std::mt19937_64 random(traffic.seed);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        to_[rank] = RankId{rank};
    }
    for (std::uint32_t last = ranks - 1; last > 0; --last) {
        std::swap(to_[last], to_[draw_below(last, random)]);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        from_[index(to_[rank])] = RankId{rank};
    }
}

std::uint32_t Permutation::chunks() const {
    return traffic_.messages == 1 ? 1 : traffic_.messages * chunks_per_message;
}

std::vector<std::uint32_t> Permutation::message_chunks(RankId sender) const {
    if (traffic_.messages == 1) {
        return {1};
    }
    std::seed_seq seeds{static_cast<std::uint32_t>(traffic_.seed), static_cast<std::uint32_t>(traffic_.seed >> 32U),
                        static_cast<std::uint32_t>(sender)};
    std::mt19937_64 random(seeds);
    std::vector<double> ends(traffic_.messages);
    double end = 0;
    for (double& at : ends) {
        constexpr std::uint64_t steps = std::uint64_t{1} << 20U;
        at = end += 0.1 + 0.9 * static_cast<double>(draw_below(steps, random)) / static_cast<double>(steps - 1);
    }
    std::vector<std::uint32_t> sizes;
    std::uint32_t before = 0;
    for (const double at : ends) {
        const auto now = static_cast<std::uint32_t>(std::lround(at / end * chunks()));
        sizes.push_back(now - before);
        before = now;
    }
    return sizes;
}

}  // namespace lockstep::collective
