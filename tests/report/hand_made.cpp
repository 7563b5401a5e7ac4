#include "hand_made.h"

#include <optional>

#include <fmt/format.h>

namespace lockstep::report::hand_made {

using namespace lockstep::literals;

namespace {

constexpr workload::StreamId compute{0};
constexpr workload::StreamId communication{1};

}  // namespace

fabric::Fabric star(std::size_t gpus) {
    fabric::FabricBuilder builder("star");
    std::vector<VertexId> ids;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        ids.push_back(builder.add({.name = fmt::format("gpu{}", gpu), .node = builder.add_node()}));
    }
    const VertexId hub = builder.add({.name = "switch0", .kind = fabric::VertexKind::switch_});
    for (const VertexId gpu : ids) {
        builder.connect(gpu, hub, {.bandwidth = 50_GBps, .line_rate = 50_GBps, .latency = 1.0_us});
    }
    return builder.build();
}

LinkId up(const fabric::Fabric& fabric, std::size_t gpu) { return fabric.links_out_of(fabric.gpus()[gpu]).front(); }

workload::TaskGraph toy_graph() {
    workload::TaskGraph graph;
    graph.name = "toy-ddp";
    graph.ranks = 2;
    graph.streams = {"compute", "communication"};
    const collective::Request request{.operation = collective::Operation::all_reduce, .bytes = 100_MB};
    graph.calls = {{"gradients", workload::Parallelism::data, request, "auto", 0},
                   {"gradients", workload::Parallelism::data, request, "auto", 0}};
    graph.communicators = {{RankId{0}, RankId{1}}};
    graph.programs = {{{"backward", compute, 0.012_s, std::nullopt, {}},
                       {"bucket 0", communication, 0.0_s, workload::CallId{0}, {}},
                       {"bucket 1", communication, 0.0_s, workload::CallId{1}, {}}}};
    graph.program_of_rank = {0, 0};
    graph.samples_per_step = 64.0;
    graph.tokens_per_step = 4000.0;
    graph.model_flops_per_step = Flops{10e12};
    graph.peak_per_gpu = FlopRate{1e15};
    return graph;
}

replay::StepRun toy_step(const fabric::Fabric& fabric) {
    replay::StepRun step;
    step.step_time = 0.020_s;
    replay::RankTime first{};
    first.compute = 0.012_s;
    first.exposed[0] = 0.005_s;
    first.straggler_wait = 0.002_s;
    first.overhead = 0.001_s;
    replay::RankTime second{};
    second.compute = 0.014_s;
    second.exposed[0] = 0.005_s;
    second.overhead = 0.001_s;
    step.ranks = {first, second};
    step.collectives = {{.name = "gradients",
                         .kind = workload::Parallelism::data,
                         .operation = collective::Operation::all_reduce,
                         .algorithm = "ring",
                         .protocol = "simple",
                         .group_size = 2,
                         .bytes = 100_MB,
                         .count = 2,
                         .time = 0.004_s,
                         .exposed = 0.005_s}};
    step.links = {{up(fabric, 0), 200e6, 0.2}, {up(fabric, 1), 200e6, 0.2}};
    step.spans = {{RankId{0}, compute, "backward", false, 0.0_s, 0.012_s},
                  {RankId{0}, communication, "bucket 0", true, 0.006_s, 0.010_s},
                  {RankId{0}, communication, "bucket 1", true, 0.015_s, 0.019_s},
                  {RankId{1}, compute, "backward", false, 0.0_s, 0.014_s}};
    step.simulator = {.messages = 8, .simulated_messages = 8, .events = 20};
    return step;
}

std::vector<replay::CollectiveRun> toy_rows(const fabric::Fabric& fabric) {
    // 2 * 3/4 * 100 MB / 50 GB/s = 3 ms, plus 6 steps (ring) or 2 (direct) of two links of 1 us.
    const std::vector<replay::LinkUse> links{{up(fabric, 0), 150e6, 0.995}, {up(fabric, 1), 150e6, 0.995}};
    return {{.bytes = 100_MB,
             .algorithm = "ring",
             .protocol = "simple",
             .channels = 1,
             .time = 0.003012_s,
             .lower_bound = 0.003_s,
             .links = links,
             .simulator = {.messages = 24, .simulated_messages = 24, .events = 50}},
            {.bytes = 0_B,
             .algorithm = "direct",
             .protocol = "simple",
             .channels = 2,
             .time = 0.0_s,
             .lower_bound = 0.0_s,
             .links = {},
             .simulator = {.messages = 0, .simulated_messages = 0, .events = 0}}};
}

Setup setup() {
    Setup setup;
    setup.engine = "fluid";
    setup.engine_summary = "max-min fair sharing";
    setup.routing = fabric::RoutingPolicy::ecmp;
    setup.seed = 7;
    setup.topology_parameters = {{"gpus", "4"}, {"bandwidth", "50 GB/s"}};
    setup.workload_parameters = {{"overlap", "true"}};
    return setup;
}

}  // namespace lockstep::report::hand_made
