#include "sim/collective/permutation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace lockstep::collective {
namespace {

std::vector<std::uint32_t> partners(const Permutation& permutation, std::uint32_t ranks) {
    std::vector<std::uint32_t> to;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        to.push_back(static_cast<std::uint32_t>(permutation.to(RankId{rank})));
    }
    return to;
}

}  // namespace

TEST_CASE("a permutation leads from each rank to another and round through all of them") {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 1000U}) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            CAPTURE(ranks, seed);
            const Permutation permutation(ranks, {.seed = seed});
            std::uint32_t at = 0;
            std::set<std::uint32_t> seen;
            while (seen.insert(at).second) {
                const RankId next = permutation.to(RankId{at});
                CHECK(permutation.from(next) == RankId{at});
                at = static_cast<std::uint32_t>(next);
            }
            CHECK(at == 0);
            CHECK(seen.size() == ranks);
        }
    }
}

TEST_CASE("a permutation depends on its seed alone, and all cycles are equally likely") {
    CHECK(partners({64, {.seed = 5}}, 64) == partners({64, {.messages = 9, .seed = 5}}, 64));
    CHECK(partners({64, {.seed = 5}}, 64) != partners({64, {.seed = 6}}, 64));
    // Of four ranks there are 3! = 6 cycles. 6,000 draws give each 1,000 times, within five deviations of
    // sqrt(6000 * 1/6 * 5/6) = 29.
    std::vector<int> counts;
    std::vector<std::vector<std::uint32_t>> cycles;
    for (std::uint64_t seed = 0; seed < 6000; ++seed) {
        const auto to = partners({4, {.seed = seed}}, 4);
        const auto found = std::find(cycles.begin(), cycles.end(), to);
        if (found == cycles.end()) {
            cycles.push_back(to);
            counts.push_back(1);
        } else {
            ++counts[static_cast<std::size_t>(found - cycles.begin())];
        }
    }
    CHECK(cycles.size() == 6);
    for (const int count : counts) {
        CHECK(count == Approx(1000).margin(145));
    }
}

TEST_CASE("the messages of a rank make up its vector, and the largest is at most ten times the smallest") {
    for (const std::uint32_t messages : {1U, 2U, 7U, 1000U}) {
        const Permutation permutation(4, {.messages = messages, .seed = 3});
        std::set<std::vector<std::uint32_t>> different;
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            CAPTURE(messages, rank);
            const auto sizes = permutation.message_chunks(RankId{rank});
            REQUIRE(sizes.size() == messages);
            CHECK(std::accumulate(sizes.begin(), sizes.end(), 0U) == permutation.chunks());
            const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
            CHECK(*least >= 1);
            CHECK(*most <= 10 * (*least + 1) + 1);  // each end is rounded to a chunk
            different.insert(sizes);
        }
        CHECK(different.size() == (messages == 1 ? 1 : 4));
    }
    // Drawn evenly from 0.1 to 1, sizes are 0.55 on average and 0.26 from it (0.9 / sqrt(12)): of 1,000 messages of
    // 1,000 chunks on average, 472 chunks.
    const auto sizes = Permutation(2, {.messages = 1000, .seed = 1}).message_chunks(RankId{0});
    double squares = 0;
    for (const std::uint32_t size : sizes) {
        squares += (size - 1000.0) * (size - 1000.0);
    }
    CHECK(std::sqrt(squares / 1000) == Approx(472).epsilon(0.05));
}

}  // namespace lockstep::collective
