#include <string>
#include <utility>
#include <vector>

#include "tests/engine/traffic.h"
#include "tests/engine/water_filling.h"
#include <catch2/catch.hpp>

#include "sim/engine/engines.h"
#include "sim/engine/fluid/fluid_engine.h"

namespace lockstep::engine {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// A shipped topology with random parameters, small.
fabric::Fabric random_fabric(Dice& dice) {
    const auto number = [&dice](std::size_t least, std::size_t most) {
        return std::to_string(least + dice.below(most - least + 1));
    };
    const std::vector<std::pair<std::string, Settings>> kinds{
        {"fat-tree", {{"gpus", number(6, 16)}, {"radix", "8"}, {"levels", "2"}, {"oversubscription", number(1, 3)}}},
        {"fat-tree", {{"gpus", number(6, 30)}, {"radix", "8"}, {"levels", "3"}, {"oversubscription", number(1, 3)}}},
        {"torus-3d", {{"x", number(2, 4)}, {"y", number(2, 3)}, {"z", number(1, 2)}}},
        {"dragonfly", {{"groups", number(2, 5)}, {"switches", "2"}, {"hosts", "2"}, {"global_links", "2"}}},
        {"single-switch", {{"gpus", number(2, 12)}, {"bandwidth", number(1, 90) + " GB/s"}}}};
    const auto& [name, settings] = kinds[dice.below(kinds.size())];
    const DataFiles data = DataFiles::locate();
    YamlFile file = YamlFile::load(data.resolve("topologies", name));
    for (const auto& [parameter, value] : settings) {
        file.parameters().set(parameter, value);
    }
    return fabric::load_fabric(file, data);
}

fabric::RoutingPolicy random_policy(Dice& dice) {
    const fabric::RoutingPolicy policies[] = {fabric::RoutingPolicy::static_, fabric::RoutingPolicy::ecmp,
                                              fabric::RoutingPolicy::spray};
    return policies[dice.below(3)];
}

TEST_CASE("Engine: fluid, simgrid and filling by hand agree on random traffic over the shipped fabrics", "[engine]") {
    const auto first = static_cast<std::uint64_t>(GENERATE(range(0, 60, 10)));
    for (std::uint64_t seed = first; seed < first + 10; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        Wires wires{random_fabric(dice), {}};
        fabric::Router router(wires.fabric, random_policy(dice), seed);
        std::vector<double> capacities;
        for (std::size_t at = 0; at < wires.fabric.link_count(); ++at) {
            wires.links.push_back(id_at<LinkId>(at));
            capacities.push_back(wires.fabric.link(wires.links.back()).bandwidth.value);
        }
        const auto gpus = wires.fabric.gpus();
        std::vector<Transfer> transfers(3 + dice.below(40));
        for (Transfer& transfer : transfers) {
            const std::size_t from = dice.below(gpus.size());
            const std::size_t to = (from + 1 + dice.below(gpus.size() - 1)) % gpus.size();
            const auto flow = static_cast<std::uint32_t>(dice.below(3));
            for (const fabric::RouteShare& part : router.route(gpus[from], gpus[to], flow, {}).links) {
                transfer.path.emplace_back(index(part.link), part.share);
            }
            transfer.bytes = dice.below(4) == 0 ? 1e6 : dice.between(1e4, 1e7);
            transfer.start = dice.below(3) == 0 ? 0.0 : 1e-5 * static_cast<double>(dice.below(30));
        }
        const auto fluid = ends_of(engine_named("fluid"), wires, transfers);
        const auto reference = ends_of(engine_named("simgrid"), wires, transfers);
        const Filled filled = simulate_by_filling(capacities, transfers);
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            CAPTURE(i);
            REQUIRE(fluid[i] == Approx(filled.ends[i]).epsilon(1e-8));
            REQUIRE(fluid[i] == Approx(reference[i]).epsilon(1e-6));
        }
    }
}

TEST_CASE("Engine: fluid and simgrid agree on messages back to back over an oversubscribed tree", "[engine]") {
    const Partners partners = GENERATE(Partners::fixed, Partners::changing, Partners::changing_at_cost);
    const auto [gpus, radix, messages] =
        GENERATE(table<std::size_t, std::size_t, std::size_t>({{12, 6, 20}, {32, 8, 20}, {64, 12, 10}}));
    CAPTURE(partners, gpus, radix);
    FatTree tree(gpus, radix);
    std::vector<std::vector<double>> ends;
    for (const EngineKind& kind : engines()) {
        const auto engine = kind.make(tree.fabric);
        PermutationTraffic traffic(*engine, tree, partners, messages);
        traffic.start();
        engine->run(traffic);
        ends.push_back(traffic.ends());
    }
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        CAPTURE(gpu);
        REQUIRE(ends[0][gpu] > 0);
        REQUIRE(ends[0][gpu] == Approx(ends[1][gpu]).epsilon(1e-6));
    }
}

TEST_CASE("FluidEngine: nothing is shared anew where each message follows another on its route", "[engine]") {
    // 32 flows that start at one or two dates and end for good at 32: no more than 34 instants change the routes under
    // way, whatever the number of messages.
    FatTree tree(32, 8);
    for (const std::size_t messages : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
        CAPTURE(messages);
        FluidEngine engine(tree.fabric);
        PermutationTraffic traffic(engine, tree, Partners::fixed, messages);
        traffic.start();
        CHECK(engine.run(traffic) == 32 * messages + 32);
        CHECK(engine.work().settled >= 10);
        CHECK(engine.work().settled <= 40);
    }
}

}  // namespace
}  // namespace lockstep::engine
