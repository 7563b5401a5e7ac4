#include "sim/engine/fluid/link_bundles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

using Shares = std::vector<std::pair<std::uint32_t, double>>;

fabric::Route route_of(const Shares& shares) {
    fabric::Route route;
    for (const auto& [link, share] : shares) {
        route.links.push_back({id_at<LinkId>(link), share});
    }
    return route;
}

std::set<std::uint32_t> links_of(const LinkBundles& bundles, std::uint32_t bundle) {
    std::set<std::uint32_t> links;
    std::uint32_t link = bundles.link_of(bundle);
    for (std::uint32_t left = bundles.size(bundle); left > 0; --left) {
        links.insert(link);
        link = bundles.next(link);
    }
    return links;
}

TEST_CASE("LinkBundles: planes that all routes cross alike count as one link, the narrowest", "[engine]") {
    // GPU a reaches GPUs b and c over two planes: links 0 and 1 lead out of a, 2 and 3 into b, 4 and 5 into c.
    LinkBundles bundles({50, 40, 50, 50, 60, 60});
    const auto whole = bundles.parts_of(route_of({{0, 0.5}, {1, 0.5}, {2, 0.5}, {3, 0.5}}));
    REQUIRE(whole.size() == 1);
    CHECK(whole[0].share == 0.5);
    CHECK(bundles.capacity(whole[0].bundle) == 40);
    CHECK(links_of(bundles, whole[0].bundle) == std::set<std::uint32_t>{0, 1, 2, 3});
    CHECK(bundles.splits().empty());

    const auto second = bundles.parts_of(route_of({{0, 0.5}, {1, 0.5}, {4, 0.5}, {5, 0.5}}));
    REQUIRE(second.size() == 2);
    CHECK(links_of(bundles, second[0].bundle) == std::set<std::uint32_t>{0, 1});
    CHECK(bundles.capacity(second[0].bundle) == 40);
    CHECK(links_of(bundles, second[1].bundle) == std::set<std::uint32_t>{4, 5});
    CHECK(bundles.capacity(second[1].bundle) == 60);
    REQUIRE(bundles.splits().size() == 1);
    const LinkBundles::Split split = bundles.splits()[0];
    CHECK(links_of(bundles, split.into) == std::set<std::uint32_t>{0, 1});
    CHECK(links_of(bundles, split.from) == std::set<std::uint32_t>{2, 3});
    CHECK(bundles.capacity(split.from) == 50);  // its narrowest link has left

    CHECK(bundles.parts_of(route_of({{4, 0.5}, {5, 0.5}, {2, 0.5}, {3, 0.5}})).size() == 2);
    CHECK(bundles.splits().empty());
}

TEST_CASE("LinkBundles: links in different shares are apart", "[engine]") {
    LinkBundles bundles({50, 50, 50});
    CHECK(bundles.parts_of(route_of({{0, 1.0}, {1, 0.5}, {2, 0.5}})).size() == 2);
    CHECK(bundles.parts_of(route_of({{0, 1.0}, {1, 0.25}, {2, 0.25}})).size() == 2);  // alike, in another share
    CHECK(bundles.splits().empty());
    CHECK(bundles.parts_of(route_of({{1, 0.75}, {2, 0.25}})).size() == 2);
    CHECK(bundles.splits().size() == 1);
    CHECK(bundles.count() == 3);
}

TEST_CASE("LinkBundles: after any routes each crosses whole bundles, and no more bundles than that takes", "[engine]") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::size_t count = 2 + dice.below(12);
        std::vector<double> capacities(count);
        for (double& capacity : capacities) {
            capacity = static_cast<double>(1 + dice.below(4));
        }
        LinkBundles bundles(capacities);
        std::vector<Shares> routes;
        for (int step = 0; step < 8; ++step) {
            Shares shares;
            for (std::uint32_t link = 0; link < count; ++link) {
                if (dice.below(2) == 0) {
                    shares.emplace_back(link, dice.below(4) == 0 ? 0.5 : 1.0);
                }
            }
            if (shares.empty()) {
                continue;
            }
            routes.push_back(shares);
            bundles.parts_of(route_of(shares));

            // Links belong together if each route so far crosses both in one share, or neither.
            std::map<std::vector<double>, std::set<std::uint32_t>> alike;
            for (std::uint32_t link = 0; link < count; ++link) {
                std::vector<double> crossings;
                for (const Shares& route : routes) {
                    const auto part = std::find_if(route.begin(), route.end(),
                                                   [link](const auto& share) { return share.first == link; });
                    crossings.push_back(part == route.end() ? 0.0 : part->second);
                }
                if (std::any_of(crossings.begin(), crossings.end(), [](double share) { return share > 0; })) {
                    alike[crossings].insert(link);
                }
            }
            REQUIRE(bundles.count() == alike.size());
            for (const auto& [crossings, links] : alike) {
                const std::uint32_t bundle = bundles.bundle_of(*links.begin());
                REQUIRE(links_of(bundles, bundle) == links);
                double narrowest = std::numeric_limits<double>::infinity();
                for (const std::uint32_t link : links) {
                    narrowest = std::min(narrowest, capacities[link]);
                }
                REQUIRE(bundles.capacity(bundle) == narrowest);
            }
            std::size_t links = 0;
            for (const LinkBundles::Part& part : bundles.parts_of(route_of(shares))) {
                links += bundles.size(part.bundle);
            }
            REQUIRE(links == shares.size());
        }
    }
}

TEST_CASE("LinkBundles: a link that does not exist and a share that is none are refused", "[engine][error]") {
    LinkBundles bundles({50, 50});
    bundles.parts_of(route_of({{0, 1.0}}));
    CHECK_THROWS_AS(bundles.parts_of(route_of({{2, 1.0}})), std::invalid_argument);
    CHECK_THROWS_AS(bundles.parts_of(route_of({{0, 0.0}})), std::invalid_argument);
    CHECK_THROWS_AS(bundles.parts_of(route_of({{0, -1.0}})), std::invalid_argument);
    CHECK_THROWS_AS(bundles.parts_of(route_of({{0, std::numeric_limits<double>::infinity()}})), std::invalid_argument);
    CHECK_THROWS_AS(bundles.parts_of(route_of({{0, std::numeric_limits<double>::quiet_NaN()}})), std::invalid_argument);
    CHECK(bundles.parts_of(route_of({{0, 0.5}})).size() == 1);
}

}  // namespace
}  // namespace lockstep::engine
