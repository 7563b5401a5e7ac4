#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/traffic.h"
#include <benchmark/benchmark.h>

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engines.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"

namespace lockstep::replay {
namespace {

void report(benchmark::State& state, const CollectiveRun& run) {
    state.counters["messages/s"] = benchmark::Counter(static_cast<double>(run.simulator.simulated_messages),
                                                      benchmark::Counter::kIsIterationInvariantRate);
    state.counters["simulated_s"] = run.time.value;
}

/// An all-reduce of 1 GiB. Arguments: nodes of 8 GPUs; rings or trees side by side, 0 for as many as the fabric offers.
void all_reduce(benchmark::State& state, const std::string& algorithm, const std::string& engine) {
    const DataFiles data = DataFiles::locate();
    YamlFile file = YamlFile::load(data.resolve("topologies", "dgx-h100"));
    file.parameters().set("nodes", std::to_string(state.range(0)));
    const fabric::Fabric fabric = fabric::load_fabric(file, data);
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, {}));
    fabric::Router router(fabric, fabric.routing(), 1);
    const Settings settings{.make_engine = engine::engine_named(engine).make, .router = &router, .on_progress = {}};
    collective::Request request{.operation = collective::Operation::all_reduce, .bytes = Bytes{1 << 30}};
    if (state.range(1) > 0) {
        request.tuning.channels = static_cast<std::uint32_t>(state.range(1));
    }
    CollectiveRun run;
    for (auto _ : state) {
        run = run_collective(communicator, request, algorithm, settings);
    }
    report(state, run);
}

/// Arguments: GPUs, ports of a switch, messages of each GPU.
void permutation(benchmark::State& state, const std::string& engine) {
    engine::FatTree tree(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    const auto gpus = tree.fabric.gpus();
    const collective::Communicator communicator(tree.fabric, {gpus.begin(), gpus.end()});
    const collective::Request request{.operation = collective::Operation::permutation,
                                      .bytes = Bytes{500'000 * state.range(2)},
                                      .traffic = {.messages = static_cast<std::uint32_t>(state.range(2))}};
    const Settings settings{
        .make_engine = engine::engine_named(engine).make, .router = &tree.router, .on_progress = {}};
    CollectiveRun run;
    for (auto _ : state) {
        run = run_collective(communicator, request, "direct", settings);
    }
    report(state, run);
}

BENCHMARK_CAPTURE(all_reduce, ring_fluid, "ring", "fluid")
    ->Args({8, 0})
    ->Args({128, 1})
    ->Args({128, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce, ring_simgrid, "ring", "simgrid")
    ->Args({8, 0})
    ->Args({128, 1})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce, tree_fluid, "tree", "fluid")->Args({8, 0})->Args({128, 0})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce, tree_simgrid, "tree", "simgrid")
    ->Args({8, 0})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, fluid, "fluid")
    ->Args({1024, 48, 1000})
    ->Args({1024, 48, 20})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permutation, simgrid, "simgrid")->Args({1024, 48, 20})->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::replay
