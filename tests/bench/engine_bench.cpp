#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/traffic.h"
#include "tests/engine/wires.h"
#include <benchmark/benchmark.h>

#include "sim/engine/engines.h"
#include "sim/engine/fluid/fluid_engine.h"

namespace lockstep::engine {
namespace {

constexpr double port = 50e9;

/// A ring of ports: each rank passes on what it received, for a number of steps, with a latency before each message.
class Ring : public Events {
  public:
    Ring(Engine& engine, const Wires& wires, std::size_t steps)
        : engine_(engine), steps_(steps), routes_(wires.links.size() / 2) {
        for (std::size_t rank = 0; rank < routes_.size(); ++rank) {
            routes_[rank].links = {{wires.links[2 * rank], 1.0},
                                   {wires.links[(2 * rank + 3) % wires.links.size()], 1.0}};
        }
        for (const fabric::Route& route : routes_) {
            known_.push_back(engine.know(route));
        }
    }
    void start() {
        for (std::size_t rank = 0; rank < routes_.size(); ++rank) {
            engine_.set_timer({1e-6}, rank);
        }
    }
    void on_timer(Token token) override { engine_.start_flow(known_[token % known_.size()], 1e6, token); }
    void on_flow_end(Token token) override {
        const Token next = token + routes_.size() + 1 - ((token + 1) % routes_.size() == 0 ? routes_.size() : 0);
        if (next / routes_.size() < steps_) {
            engine_.set_timer({1e-6}, next);
        }
    }

  private:
    Engine& engine_;
    std::size_t steps_;
    std::vector<fabric::Route> routes_;
    std::vector<RouteId> known_;
};

/// Every flow under way at once, each of its own size or all of one.
class Flood : public Events {
  public:
    void on_timer(Token) override {}
    void on_flow_end(Token) override {}
};

enum class Sizes : std::uint8_t { equal, random };

struct Star {
    Wires fabric;
    std::vector<fabric::Route> routes;
    std::vector<double> bytes;
};

Star all_to_all(std::size_t ports, Sizes sizes) {
    Star star{wires(std::vector<double>(2 * ports, port)), {}, {}};
    Dice dice(1);
    for (std::size_t from = 0; from < ports; ++from) {
        for (std::size_t to = 0; to < ports; ++to) {
            if (from != to) {
                star.routes.push_back({{{star.fabric.links[from], 1.0}, {star.fabric.links[ports + to], 1.0}}, {}});
                star.bytes.push_back(sizes == Sizes::equal ? 1e6 : dice.between(1e5, 1e7));
            }
        }
    }
    return star;
}

void count_messages(benchmark::State& state, std::size_t messages) {
    state.counters["messages/s"] =
        benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsIterationInvariantRate);
}

void ring(benchmark::State& state, const std::string& name) {
    const auto ranks = static_cast<std::size_t>(state.range(0));
    const auto steps = static_cast<std::size_t>(state.range(1));
    const Wires made = wires(std::vector<double>(2 * ranks, port));
    for (auto _ : state) {
        const auto engine = engine_named(name).make(made.fabric);
        Ring events(*engine, made, steps);
        events.start();
        benchmark::DoNotOptimize(engine->run(events));
    }
    count_messages(state, ranks * steps);
}

void star(benchmark::State& state, const std::string& name, Sizes sizes) {
    const Star made = all_to_all(static_cast<std::size_t>(state.range(0)), sizes);
    for (auto _ : state) {
        const auto engine = engine_named(name).make(made.fabric.fabric);
        Flood events;
        for (std::size_t i = 0; i < made.routes.size(); ++i) {
            engine->start_flow(made.routes[i], made.bytes[i], i);
        }
        benchmark::DoNotOptimize(engine->run(events));
    }
    count_messages(state, made.routes.size());
}

/// What sharing the links took for each message.
void count_work(benchmark::State& state, const Engine& engine, std::size_t messages) {
    if (const auto* fluid = dynamic_cast<const FluidEngine*>(&engine)) {
        const SharedLinks::Work& work = fluid->work();
        const auto per_message = [messages](std::uint64_t count) {
            return static_cast<double>(count) / static_cast<double>(messages);
        };
        state.counters["settled"] = per_message(work.settled);
        state.counters["links_filled"] = per_message(work.links_filled);
        state.counters["levels_moved"] = per_message(work.levels_moved);
        state.counters["rates_moved"] = per_message(work.rates_moved);
    }
}

/// Arguments: GPUs, ports of a switch, messages of each GPU.
void permutation(benchmark::State& state, const std::string& name, Partners partners) {
    FatTree tree(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    std::size_t messages = 0;
    for (auto _ : state) {
        const auto engine = engine_named(name).make(tree.fabric);
        PermutationTraffic events(*engine, tree, partners, static_cast<std::size_t>(state.range(2)));
        events.start();
        benchmark::DoNotOptimize(engine->run(events));
        messages = events.messages();
        count_work(state, *engine, messages);
        state.counters["simulated_s"] = engine->now().value;
    }
    count_messages(state, messages);
}

BENCHMARK_CAPTURE(ring, fluid, "fluid")->Args({1024, 1000})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ring, simgrid, "simgrid")->Args({1024, 50})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, fluid_equal, "fluid", Sizes::equal)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, simgrid_equal, "simgrid", Sizes::equal)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, fluid_random, "fluid", Sizes::random)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, simgrid_random, "simgrid", Sizes::random)->Arg(64)->Unit(benchmark::kMillisecond);

// The traffic that the project measures itself by comes first; then how it grows, and what SimGrid takes for less of
// it.
BENCHMARK_CAPTURE(permutation, fluid_fixed, "fluid", Partners::fixed)
    ->Args({1024, 48, 1000})
    ->Args({1024, 16, 1000})
    ->ArgsProduct({{64, 256, 1024, 4096, 16384}, {48}, {20}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, simgrid_fixed, "simgrid", Partners::fixed)
    ->ArgsProduct({{64, 256, 1024, 4096}, {48}, {20}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, fluid_changing, "fluid", Partners::changing)
    ->Args({1024, 48, 1000})
    ->Args({1024, 16, 1000})
    ->ArgsProduct({{64, 256, 1024, 4096, 16384}, {48}, {20}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, simgrid_changing, "simgrid", Partners::changing)
    ->ArgsProduct({{64, 256, 1024}, {48}, {20}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, fluid_changing_at_cost, "fluid", Partners::changing_at_cost)
    ->Args({1024, 48, 1000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::engine
