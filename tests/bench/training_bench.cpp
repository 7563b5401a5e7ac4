#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engines.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"
#include "sim/workload/load_workload.h"

namespace lockstep::replay {
namespace {

/// A data-parallel step of equal layers, folded or not. Arguments: nodes of 8 GPUs.
void step(benchmark::State& state, Folding folding) {
    const DataFiles data = DataFiles::locate();
    YamlFile topology = YamlFile::load(data.resolve("topologies", "dgx-h100"));
    topology.parameters().set("nodes", std::to_string(state.range(0)));
    const fabric::Fabric fabric = fabric::load_fabric(topology, data);
    YamlFile workload = YamlFile::load(data.resolve("workloads", "toy-ddp"));
    workload.parameters().set("algorithm", "halving-doubling");
    const workload::TaskGraph graph = workload::load_workload(workload, data, fabric, {}, {});
    const std::vector<VertexId> placement = collective::default_placement(fabric, graph.ranks);
    fabric::Router router(fabric, fabric.routing(), 1);
    Settings settings;
    settings.make_engine = engine::engine_named("fluid").make;
    settings.router = &router;
    settings.folding = folding;
    settings.timeline = Timeline::left_out;
    StepRun run;
    for (auto _ : state) {
        run = run_training(fabric, placement, graph, settings);
    }
    state.counters["classes"] = static_cast<double>(run.fold.classes);
    state.counters["messages"] = static_cast<double>(run.simulator.messages);
    state.counters["simulated_s"] = run.step_time.value;
}

BENCHMARK_CAPTURE(step, folded, Folding::on)->Arg(8)->Arg(64)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, unfolded, Folding::off)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::replay
