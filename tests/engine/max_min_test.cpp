#include "sim/engine/fluid/max_min.h"

#include <cmath>
#include <vector>

#include "tests/engine/water_filling.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

void fill_in(MaxMin& problem, const std::vector<double>& capacities, const std::vector<Transfer>& flows) {
    problem.clear();
    for (const double capacity : capacities) {
        problem.add_link(capacity);
    }
    for (const Transfer& flow : flows) {
        problem.add_flow();
        for (const auto& [wire, share] : flow.path) {
            problem.add_crossing(static_cast<std::uint32_t>(wire), share);
        }
    }
}

TEST_CASE("MaxMin: a flow held back elsewhere leaves its share", "[engine]") {
    MaxMin problem;
    // Link 0 holds the first to 10; of link 1 the second gets 100 - 10.
    fill_in(problem, {10, 100}, {{{{0, 1.0}, {1, 1.0}}, 0, 0}, {{{1, 1.0}}, 0, 0}});
    problem.solve();
    CHECK(problem.rate(0) == 10);
    CHECK(problem.rate(1) == 90);
    CHECK(problem.bottleneck(0) == 0);
    CHECK(problem.bottleneck(1) == 1);
}

TEST_CASE("MaxMin: fairness is by rate, whatever part of it crosses the link", "[engine]") {
    MaxMin problem;
    // r/4 + r = 100.
    fill_in(problem, {100}, {{{{0, 0.25}}, 0, 0}, {{{0, 1.0}}, 0, 0}});
    problem.solve();
    CHECK(problem.rate(0) == Approx(80));
    CHECK(problem.rate(0) == problem.rate(1));
}

TEST_CASE("MaxMin: no crossing is no bound and no capacity is no rate", "[engine]") {
    MaxMin problem;
    fill_in(problem, {0, -1, 5}, {{{}, 0, 0}, {{{0, 1.0}, {2, 1.0}}, 0, 0}, {{{1, 1.0}}, 0, 0}, {{{2, 1.0}}, 0, 0}});
    problem.solve();
    CHECK(std::isinf(problem.rate(0)));
    CHECK(problem.bottleneck(0) == MaxMin::no_link);
    CHECK(problem.rate(1) == 0);
    CHECK(problem.rate(2) == 0);
    CHECK(problem.rate(3) == 5);
    problem.clear();
    problem.solve();
    CHECK(problem.flow_count() == 0);
}

TEST_CASE("MaxMin: equal flows get the same double through different links", "[engine]") {
    MaxMin problem;
    // Ten groups of three links of 7 with a third of a flow held to 0.1 * k by another link, k in another order in each
    // group.
    std::vector<double> capacities;
    std::vector<Transfer> flows;
    for (std::size_t group = 0; group < 10; ++group) {
        const std::size_t shared = capacities.size();
        capacities.push_back(7);
        for (std::size_t k = 0; k < 5; ++k) {
            capacities.push_back(0.1 * static_cast<double>((k + group) % 5 + 1));
            flows.push_back({{{shared, 1.0 / 3}, {shared + 1 + k, 1.0}}, 0, 0});
        }
        flows.push_back({{{shared, 1.0 / 3}}, 0, 0});
        flows.push_back({{{shared, 1.0 / 3}}, 0, 0});
    }
    fill_in(problem, capacities, flows);
    problem.solve();
    for (std::uint32_t group = 0; group < 10; ++group) {
        // (7 - 1.5 / 3) / (2 / 3) = 9.75
        CHECK(problem.rate(7 * group + 5) == Approx(9.75));
        CHECK(problem.rate(7 * group + 5) == problem.rate(5));
        CHECK(problem.rate(7 * group + 6) == problem.rate(5));
    }
}

TEST_CASE("MaxMin: every flow has a full link where none is faster, and no link is over capacity", "[engine]") {
    MaxMin problem;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::size_t wires = 1 + dice.below(12);
        const std::vector<double> capacities = random_capacities(dice, wires);
        const std::vector<Transfer> flows = random_transfers(dice, wires, 1 + dice.below(40));
        fill_in(problem, capacities, flows);
        problem.solve();

        std::vector<double> used(wires, 0.0);
        std::vector<double> fastest(wires, 0.0);
        for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
            for (const auto& [wire, share] : flows[flow].path) {
                used[wire] += share * problem.rate(flow);
                fastest[wire] = std::max(fastest[wire], problem.rate(flow));
            }
        }
        for (std::size_t wire = 0; wire < wires; ++wire) {
            REQUIRE(used[wire] <= capacities[wire] * (1 + 1e-11));
        }
        const std::vector<double> filled = rates_by_filling(capacities, flows);
        for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
            CAPTURE(flow);
            const std::uint32_t bottleneck = problem.bottleneck(flow);
            REQUIRE(bottleneck < wires);
            REQUIRE(used[bottleneck] >= capacities[bottleneck] * (1 - 1e-11));
            REQUIRE(problem.rate(flow) >= fastest[bottleneck] * (1 - 1e-11));
            REQUIRE(problem.rate(flow) == Approx(filled[flow]).epsilon(1e-8));
        }
    }
}

}  // namespace
}  // namespace lockstep::engine
