#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/wires.h"
#include <benchmark/benchmark.h>

#include "sim/engine/engines.h"

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
    }
    void start() {
        for (std::size_t rank = 0; rank < routes_.size(); ++rank) {
            engine_.set_timer({1e-6}, rank);
        }
    }
    void on_timer(Token token) override { engine_.start_flow(routes_[token % routes_.size()], 1e6, token); }
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

/// Permutation traffic over a two-level fat tree with half the uplinks: leaf by leaf, random sizes, each flow followed
/// by another of the same source to a new destination.
class Permutation : public Events {
  public:
    static constexpr std::size_t hosts_per_leaf = 16;
    static constexpr std::size_t spines = 8;

    Permutation(Engine& engine, const Wires& wires, std::size_t hosts, std::size_t messages)
        : engine_(engine), wires_(wires), hosts_(hosts), left_(messages), routes_(hosts), dice_(1) {}

    static std::vector<double> capacities(std::size_t hosts) {
        return std::vector<double>(2 * hosts + 2 * hosts / hosts_per_leaf * spines, port);
    }
    void start() {
        for (std::size_t host = 0; host < hosts_; ++host) {
            send(host);
        }
    }
    void on_timer(Token) override {}
    void on_flow_end(Token token) override { send(token); }

  private:
    void send(std::size_t from) {
        if (left_ == 0) {
            return;
        }
        --left_;
        const std::size_t to = (from + 1 + dice_.below(hosts_ - 1)) % hosts_;
        const std::size_t up = 2 * hosts_ + from / hosts_per_leaf * spines + to % spines;
        const std::size_t down = 2 * hosts_ + (hosts_ / hosts_per_leaf + to / hosts_per_leaf) * spines + to % spines;
        routes_[from].links = {{wires_.links[from], 1.0},
                               {wires_.links[up], 1.0},
                               {wires_.links[down], 1.0},
                               {wires_.links[hosts_ + to], 1.0}};
        engine_.start_flow(routes_[from], dice_.between(1e5, 1e6), from);
    }

    Engine& engine_;
    const Wires& wires_;
    std::size_t hosts_;
    std::size_t left_;
    std::vector<fabric::Route> routes_;
    Dice dice_;
};

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

void permutation(benchmark::State& state, const std::string& name) {
    const auto hosts = static_cast<std::size_t>(state.range(0));
    const auto messages = static_cast<std::size_t>(state.range(1));
    const Wires made = wires(Permutation::capacities(hosts));
    for (auto _ : state) {
        const auto engine = engine_named(name).make(made.fabric);
        Permutation events(*engine, made, hosts, messages);
        events.start();
        benchmark::DoNotOptimize(engine->run(events));
    }
    count_messages(state, messages);
}

BENCHMARK_CAPTURE(ring, fluid, "fluid")->Args({1024, 1000})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ring, simgrid, "simgrid")->Args({1024, 50})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, fluid_equal, "fluid", Sizes::equal)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, simgrid_equal, "simgrid", Sizes::equal)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, fluid_random, "fluid", Sizes::random)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(star, simgrid_random, "simgrid", Sizes::random)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, fluid, "fluid")
    ->Args({256, 20'000})
    ->Args({1024, 20'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, simgrid, "simgrid")->Args({256, 2'000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::engine
