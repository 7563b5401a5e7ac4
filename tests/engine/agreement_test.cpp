#include <algorithm>
#include <vector>

#include "tests/engine/water_filling.h"
#include <catch2/catch.hpp>

#include "sim/engine/engines.h"

namespace lockstep::engine {
namespace {

struct RandomCase {
    std::vector<double> capacities;
    std::vector<Transfer> transfers;
};

RandomCase random_case(std::uint64_t seed) {
    Dice dice(seed);
    RandomCase made;
    made.capacities = random_capacities(dice, 1 + dice.below(10));
    made.transfers = random_transfers(dice, made.capacities.size(), 1 + dice.below(25));
    return made;
}

TEST_CASE("Engine: fluid, simgrid and filling by hand agree on random flows", "[engine]") {
    for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
        CAPTURE(seed);
        const RandomCase random = random_case(seed);
        const Wires made = wires(random.capacities);
        const auto fluid = ends_of(engine_named("fluid"), made, random.transfers);
        const auto reference = ends_of(engine_named("simgrid"), made, random.transfers);
        const Filled filled = simulate_by_filling(random.capacities, random.transfers);
        REQUIRE(filled.busiest <= 1 + 1e-9);
        for (std::size_t i = 0; i < random.transfers.size(); ++i) {
            CAPTURE(i);
            REQUIRE(fluid[i] == Approx(reference[i]).epsilon(1e-7));
            REQUIRE(fluid[i] == Approx(filled.ends[i]).epsilon(1e-8));
            REQUIRE(filled.delivered[i] == Approx(random.transfers[i].bytes).epsilon(1e-9));
        }
    }
}

TEST_CASE("Engine: no link carries more than its capacity allows between any two dates", "[engine]") {
    const EngineKind& kind = engines()[GENERATE(0U, 1U)];
    CAPTURE(kind.name);
    for (std::uint64_t seed = 2000; seed < 2050; ++seed) {
        CAPTURE(seed);
        const RandomCase random = random_case(seed);
        const std::vector<Transfer>& transfers = random.transfers;
        const auto ends = ends_of(kind, random.capacities, transfers);
        for (std::size_t wire = 0; wire < random.capacities.size(); ++wire) {
            for (const Transfer& first : transfers) {
                for (const double last : ends) {
                    // All bytes of the flows that lie wholly between the two dates.
                    double carried = 0.0;
                    for (std::size_t i = 0; i < transfers.size(); ++i) {
                        for (const auto& [crossed, share] : transfers[i].path) {
                            if (crossed == wire && transfers[i].start >= first.start && ends[i] <= last) {
                                carried += share * transfers[i].bytes;
                            }
                        }
                    }
                    REQUIRE(carried <= std::max(last - first.start, 0.0) * random.capacities[wire] * (1 + 1e-9));
                }
            }
        }
    }
}

TEST_CASE("Engine: numbering the links otherwise changes no time", "[engine]") {
    for (std::uint64_t seed = 3000; seed < 3050; ++seed) {
        CAPTURE(seed);
        const RandomCase random = random_case(seed);
        Dice dice(seed);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < random.capacities.size(); ++i) {
            order.insert(order.begin() + static_cast<std::ptrdiff_t>(dice.below(i + 1)), i);
        }
        const auto straight = ends_of(engines()[0], wires(random.capacities), random.transfers);
        const auto shuffled = ends_of(engines()[0], wires(random.capacities, order), random.transfers);
        for (std::size_t i = 0; i < straight.size(); ++i) {
            REQUIRE(straight[i] == Approx(shuffled[i]).epsilon(1e-12));
        }
    }
}

TEST_CASE("Engine: the same run twice gives the same doubles", "[engine]") {
    const EngineKind& kind = engines()[GENERATE(0U, 1U)];
    CAPTURE(kind.name);
    for (std::uint64_t seed = 4000; seed < 4020; ++seed) {
        CAPTURE(seed);
        const RandomCase random = random_case(seed);
        const auto first = ends_of(kind, random.capacities, random.transfers);
        const auto second = ends_of(kind, random.capacities, random.transfers);
        REQUIRE(first == second);
    }
}

TEST_CASE("Engine: an all-to-all of random sizes agrees with the reference", "[engine]") {
    // 12 ports of 50 GB/s up and down, every pair at once: each end changes the rates of flows all over.
    const std::size_t ports = 12;
    const std::vector<double> capacities(2 * ports, 50e9);
    Dice dice(5);
    std::vector<Transfer> transfers;
    for (std::size_t from = 0; from < ports; ++from) {
        for (std::size_t to = 0; to < ports; ++to) {
            if (from != to) {
                transfers.push_back({{{from, 1.0}, {ports + to, 1.0}}, dice.between(1e5, 1e7), 0});
            }
        }
    }
    const auto fluid = ends_of(engine_named("fluid"), capacities, transfers);
    const auto reference = ends_of(engine_named("simgrid"), capacities, transfers);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        CAPTURE(i);
        CHECK(fluid[i] == Approx(reference[i]).epsilon(1e-9));
    }
}

}  // namespace
}  // namespace lockstep::engine
