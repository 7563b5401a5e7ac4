#include <cmath>
#include <utility>
#include <vector>

#include "tests/engine/water_filling.h"
#include <catch2/catch.hpp>

#include "sim/engine/engines.h"

namespace lockstep::engine {
namespace {

/// One link of a chain: this long after the flow before it has ended, the next one starts.
struct Step {
    double delay = 0.0;  // seconds
    std::vector<std::pair<std::size_t, double>> path;
    double bytes = 0.0;
};

/// Runs chains of flows side by side, each of them a delay, a flow, a delay, a flow and so on. What a chain does next
/// depends on nothing but the chain, so that the order of events at one instant cannot make two engines drift apart.
class Chains : public Events {
  public:
    Chains(Engine& engine, const Wires& wires, const std::vector<std::vector<Step>>& chains)
        : engine_(engine), chains_(chains), routes_(chains.size()), at_(chains.size(), 0), ends_(chains.size()) {
        for (std::size_t chain = 0; chain < chains.size(); ++chain) {
            for (const Step& step : chains[chain]) {
                fabric::Route& route = routes_[chain].emplace_back();
                for (const auto& [wire, share] : step.path) {
                    route.links.push_back({wires.links[wire], share});
                }
            }
        }
    }

    void on_timer(Token chain) override {
        const std::size_t step = at_[chain];
        engine_.start_flow(routes_[chain][step], chains_[chain][step].bytes, chain);
    }
    void on_flow_end(Token chain) override {
        ends_[chain].push_back(engine_.now().value);
        if (++at_[chain] < chains_[chain].size()) {
            engine_.set_timer({chains_[chain][at_[chain]].delay}, chain);
        }
    }

    /// Returns: when each flow ended, by chain.
    std::vector<std::vector<double>> run() {
        for (std::size_t chain = 0; chain < chains_.size(); ++chain) {
            engine_.set_timer({chains_[chain].front().delay}, chain);
        }
        engine_.run(*this);
        return ends_;
    }

  private:
    Engine& engine_;
    const std::vector<std::vector<Step>>& chains_;
    std::vector<std::vector<fabric::Route>> routes_;
    std::vector<std::size_t> at_;
    std::vector<std::vector<double>> ends_;
};

std::vector<std::vector<double>> ends_of(const EngineKind& kind, const Wires& wires,
                                         const std::vector<std::vector<Step>>& chains) {
    const auto engine = kind.make(wires.fabric);
    return Chains(*engine, wires, chains).run();
}

void require_agreement(const Wires& wires, const std::vector<std::vector<Step>>& chains) {
    const auto fluid = ends_of(engine_named("fluid"), wires, chains);
    const auto reference = ends_of(engine_named("simgrid"), wires, chains);
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
        CAPTURE(chain);
        REQUIRE(fluid[chain].size() == chains[chain].size());
        REQUIRE(reference[chain].size() == chains[chain].size());
        for (std::size_t step = 0; step < chains[chain].size(); ++step) {
            CAPTURE(step);
            REQUIRE(fluid[chain][step] == Approx(reference[chain][step]).epsilon(1e-6));
        }
    }
}

std::vector<std::pair<std::size_t, double>> random_path(Dice& dice, std::size_t wires) {
    std::vector<std::pair<std::size_t, double>> path;
    const std::size_t length = 1 + dice.below(3);
    const double shares[] = {1.0, 1.0, 1.0, 0.5, 0.25};
    for (std::size_t wire = dice.below(wires); wire < wires && path.size() < length; wire += 1 + dice.below(3)) {
        path.emplace_back(wire, shares[dice.below(5)]);
    }
    return path;
}

TEST_CASE("Engine: a timer goes off while a flow is under way that was started after it was set", "[engine]") {
    // Timers for 1 us and 3 us, at the first of which 350 kB leave at 50 GB/s: they arrive at 8 us. Summed up like
    // this, the second date is not met from the first: 1e-6 + (date - 1e-6) comes to rest one unit in the last place
    // below it.
    const EngineKind& kind = engines()[GENERATE(0U, 1U)];
    CAPTURE(kind.name);
    const double first = 500e-9 + 500e-9;
    const double second = 500e-9 + 2e-6 + 500e-9;
    REQUIRE(first + (second - first) < second);
    const Wires made = wires({50e9});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    class Sender : public Events {
      public:
        Sender(Engine& engine, const fabric::Route& route) : engine_(engine), route_(route) {}
        void on_timer(Token token) override {
            times.push_back(engine_.now().value);
            if (token == 0) {
                engine_.start_flow(route_, 350e3, 0);
            }
        }
        void on_flow_end(Token) override { times.push_back(engine_.now().value); }
        std::vector<double> times;

      private:
        Engine& engine_;
        const fabric::Route& route_;
    };
    const auto engine = kind.make(made.fabric);
    Sender sender(*engine, route);
    engine->set_timer({first}, 0);
    engine->set_timer({second}, 1);
    CHECK(engine->run(sender) == 3);
    REQUIRE(sender.times.size() == 3);
    CHECK(sender.times[0] == first);
    CHECK(sender.times[1] == second);
    CHECK(sender.times[2] == Approx(8e-6).epsilon(1e-12));
}

TEST_CASE("Engine: fluid and simgrid agree on chains of flows after delays of any length", "[engine]") {
    for (std::uint64_t seed = 5000; seed < 5100; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::vector<double> capacities = random_capacities(dice, 1 + dice.below(10));
        std::vector<std::vector<Step>> chains(1 + dice.below(12));
        for (std::vector<Step>& chain : chains) {
            for (std::size_t step = 0; step < 30; ++step) {
                chain.push_back({dice.between(0, 3), random_path(dice, capacities.size()), dice.between(1, 1000)});
            }
        }
        require_agreement(wires(capacities), chains);
    }
}

TEST_CASE("Engine: fluid and simgrid agree where dates of many chains differ by rounding alone", "[engine]") {
    // Delays are whole multiples of 100 ns, flows alone on a wire take whole multiples of 1 us: sums of the same
    // numbers in another order meet at the same date but for the last places, all along.
    for (std::uint64_t seed = 6000; seed < 6100; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::vector<double> capacities(1 + dice.below(6), 50e9);
        std::vector<std::vector<Step>> chains(2 + dice.below(8));
        for (std::vector<Step>& chain : chains) {
            for (std::size_t step = 0; step < 40; ++step) {
                const double delay = static_cast<double>(dice.below(31)) * 1e-7;
                const double bytes = static_cast<double>(dice.below(5)) * 50e3;
                chain.push_back({delay, {{dice.below(capacities.size()), 1.0}}, bytes});
            }
        }
        require_agreement(wires(capacities), chains);
    }
}

TEST_CASE("Engine: fluid and simgrid agree on chains of delays and flows of all magnitudes", "[engine]") {
    // Nanoseconds to minutes, each magnitude as often as the next: the date that comes next is often more than twice
    // the present one, where clock + (date - clock) need not be the date.
    for (std::uint64_t seed = 8000; seed < 8200; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const auto of_any_magnitude = [&dice] { return 1e-9 * std::exp2(dice.between(0, 38)); };
        const std::vector<double> capacities = random_capacities(dice, 1 + dice.below(6));
        std::vector<std::vector<Step>> chains(2 + dice.below(12));
        for (std::vector<Step>& chain : chains) {
            for (std::size_t step = 0; step < 15; ++step) {
                const double delay = of_any_magnitude();
                chain.push_back({delay, random_path(dice, capacities.size()), 100 * of_any_magnitude()});
            }
        }
        require_agreement(wires(capacities), chains);
    }
}

TEST_CASE("Engine: fluid and simgrid agree on flows of microseconds beside flows of years", "[engine]") {
    // A wire of 1 B/s, the slowest there may be: 100 MB to 1 GB take 3 to 32 years, while the other wire is used for
    // microseconds between delays of up to a year.
    Dice dice(7000);
    std::vector<std::vector<Step>> chains(4);
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
        const bool is_slow = chain < 2;
        for (std::size_t step = 0; step < 50; ++step) {
            const double delay = step % 2 == 0 ? 1e-6 : dice.between(0, 3e7);
            const double bytes = is_slow ? dice.between(1e8, 1e9) : dice.between(1e3, 1e6);
            chains[chain].push_back({delay, {{is_slow ? 0U : 1U, 1.0}}, bytes});
        }
    }
    require_agreement(wires({1, 50e9}), chains);
}

}  // namespace
}  // namespace lockstep::engine
