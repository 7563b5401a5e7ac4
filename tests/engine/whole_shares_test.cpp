#include "sim/engine/simgrid/whole_shares.h"

#include <vector>

#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

std::optional<WholeShares> shares_of(const std::vector<double>& shares) {
    fabric::Route route;
    for (const double share : shares) {
        route.links.push_back({id_at<LinkId>(route.links.size()), share});
    }
    return whole_shares(route, 10'000);
}

TEST_CASE("whole_shares: finds the smallest whole numbers", "[engine]") {
    const auto single = shares_of({1.0, 1.0});
    CHECK(single->parts == std::vector<std::uint32_t>{1, 1});
    CHECK(single->whole == 1);
    const auto planes = shares_of({1.0, 0.25, 0.25, 0.25, 0.25, 1.0});
    CHECK(planes->parts == std::vector<std::uint32_t>{4, 1, 1, 1, 1, 4});
    CHECK(planes->whole == 4);
    // Thirds and sevenths: 21.
    const auto mixed = shares_of({1.0 / 3, 2.0 / 3, 3.0 / 7});
    CHECK(mixed->parts == std::vector<std::uint32_t>{7, 14, 9});
    CHECK(mixed->whole == 21);
    const auto uneven = shares_of({18.0 / 144, 0.1});
    CHECK(uneven->parts == std::vector<std::uint32_t>{5, 4});
    CHECK(uneven->whole == 40);
}

TEST_CASE("whole_shares: takes a common divisor out", "[engine]") {
    // Flows that stand for several: 8 and 12 per unit are 2 and 3 per quarter.
    const auto folded = shares_of({8.0, 12.0});
    CHECK(folded->parts == std::vector<std::uint32_t>{2, 3});
    CHECK(folded->whole == 0.25);
    CHECK(shares_of({1.0 / 16, 1.0 / 16})->parts == std::vector<std::uint32_t>{1, 1});
}

TEST_CASE("whole_shares: has none where the numbers would be large", "[engine]") {
    CHECK_FALSE(shares_of({0.1234567891234, 0.5}));
    CHECK_FALSE(shares_of({1.0 / 9973, 1.0 / 9967}));
    CHECK_FALSE(shares_of({1e-7, 1.0}));
    CHECK_FALSE(shares_of({20'000.0, 1.0}));
}

}  // namespace
}  // namespace lockstep::engine
