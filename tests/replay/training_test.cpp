#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
using test::Bench;
using workload::Task;
using workload::TaskGraph;
using workload::TaskId;

namespace {

constexpr workload::StreamId compute_stream{0};
constexpr workload::StreamId comm_stream{1};

Task kernel(std::string label, double milliseconds, std::vector<TaskId> after = {}) {
    return {.label = std::move(label),
            .stream = compute_stream,
            .duration = Seconds{milliseconds * 1e-3},
            .call = {},
            .after = std::move(after)};
}

Task all_reduce(std::uint32_t call, std::vector<TaskId> after) {
    return {.label = "all-reduce",
            .stream = comm_stream,
            .duration = {},
            .call = workload::CallId{call},
            .after = std::move(after)};
}

/// Calls that all-reduce `bytes` among all ranks by ring.
workload::CollectiveCall ring_call(std::string name, std::int64_t bytes, std::uint32_t communicator = 0) {
    workload::CollectiveCall call;
    call.name = std::move(name);
    call.request = {.operation = collective::Operation::all_reduce, .bytes = Bytes{bytes}};
    call.algorithm = "ring";
    call.communicator = communicator;
    return call;
}

TaskGraph graph_of(std::size_t ranks, std::vector<workload::Program> programs,
                   std::vector<std::uint32_t> program_of_rank) {
    TaskGraph graph;
    graph.name = "by hand";
    graph.ranks = ranks;
    graph.streams = {"compute", "dp"};
    graph.programs = std::move(programs);
    graph.program_of_rank = std::move(program_of_rank);
    graph.communicators.emplace_back();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        graph.communicators[0].push_back(id_at<RankId>(rank));
    }
    return graph;
}

replay::StepRun run(const fabric::Fabric& fabric, const TaskGraph& graph, const engine::EngineKind& kind) {
    Bench bench(fabric, kind);
    return replay::run_training(fabric, fabric.gpus().first(graph.ranks), graph, bench.settings);
}

double sum_of(const replay::RankTime& time) {
    double sum = time.compute.value + time.pipeline_bubble.value + time.straggler_wait.value + time.overhead.value;
    for (const Seconds part : time.exposed) {
        sum += part.value;
    }
    return sum;
}

const engine::EngineKind& any_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

}  // namespace

TEST_CASE("training: a step is its compute plus what communication is not hidden behind it", "[replay]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    // 4 GPUs, 100 MB at 50 GB/s: ring all-reduce 2 * 3/4 * 100 MB / 50 GB/s = 3 ms.
    const auto fabric = test::star(4, Bandwidth{50e9}, Seconds{0});
    auto graph =
        graph_of(4,
                 {{kernel("forward", 4), kernel("backward 1", 2), all_reduce(0, {TaskId{1}}), kernel("backward 0", 2),
                   all_reduce(1, {TaskId{3}}), kernel("optimizer", 1, {TaskId{2}, TaskId{4}})}},
                 {0, 0, 0, 0});
    graph.calls = {ring_call("gradients", 100'000'000), ring_call("gradients", 100'000'000)};
    const auto result = run(fabric, graph, kind);
    // Forward 0-4, backward 4-6 and 6-8, all-reduces 6-9 and 9-12, optimizer 12-13: 9 ms of compute, 4 ms exposed.
    CHECK(result.step_time.value == Approx(13e-3).epsilon(1e-9));
    REQUIRE(result.ranks.size() == 4);
    for (const auto& rank : result.ranks) {
        CHECK(rank.compute.value == Approx(9e-3).epsilon(1e-9));
        CHECK(rank.exposed[static_cast<std::size_t>(workload::Parallelism::data)].value == Approx(4e-3).epsilon(1e-9));
        CHECK(rank.straggler_wait.value == Approx(0).margin(1e-12));
        CHECK(sum_of(rank) == Approx(13e-3).epsilon(1e-9));
    }
    // Both calls are of one family and size: one row, twice a step, 3 ms each, 4 ms exposed together.
    REQUIRE(result.collectives.size() == 1);
    CHECK(result.collectives[0].count == 2);
    CHECK(result.collectives[0].time.value == Approx(3e-3).epsilon(1e-9));
    CHECK(result.collectives[0].exposed.value == Approx(4e-3).epsilon(1e-9));
    // Each GPU sends 2 * 3/4 * 200 MB in 13 ms over a link that could carry 650 MB.
    REQUIRE(result.links.size() == 8);
    CHECK(result.links[0].bytes == Approx(300e6));
    CHECK(result.links[0].utilization == Approx(300.0 / 650));
}

TEST_CASE("training: waiting for a late rank is told apart from communication", "[replay]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    const auto fabric = test::star(4, Bandwidth{50e9}, Seconds{0});
    const auto program = [](double milliseconds) {
        return workload::Program{kernel("compute", milliseconds), all_reduce(0, {TaskId{0}}),
                                 kernel("optimizer", 0, {TaskId{1}})};
    };
    auto graph = graph_of(4, {program(5), program(8)}, {0, 0, 1, 0});
    graph.calls = {ring_call("gradients", 100'000'000)};
    const auto result = run(fabric, graph, kind);
    // The late rank computes for 8 ms, then 3 ms of ring. The others arrive 3 ms early.
    CHECK(result.step_time.value == Approx(11e-3).epsilon(1e-9));
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        const auto& time = result.ranks[rank];
        CHECK(time.compute.value == Approx(rank == 2 ? 8e-3 : 5e-3).epsilon(1e-9));
        CHECK(time.straggler_wait.value == Approx(rank == 2 ? 0 : 3e-3).epsilon(1e-9).margin(1e-12));
        CHECK(time.exposed[0].value == Approx(3e-3).epsilon(1e-9));
        CHECK(sum_of(time) == Approx(11e-3).epsilon(1e-9));
    }
}

TEST_CASE("training: a collective of some ranks does not need the others", "[replay]") {
    const auto& kind = any_engine();
    // All eight are a group, and so are 4..7; only these call.
    const auto fabric = test::star(8, Bandwidth{50e9}, Seconds{0});
    auto graph = graph_of(8, {{kernel("compute", 1)}, {kernel("compute", 1), all_reduce(0, {TaskId{0}})}},
                          {0, 0, 0, 0, 1, 1, 1, 1});
    graph.communicators.push_back({RankId{4}, RankId{5}, RankId{6}, RankId{7}});
    graph.calls = {ring_call("inner", 100'000'000, 1)};
    CHECK(run(fabric, graph, kind).step_time.value >= 3e-3);
}

TEST_CASE("training: a rank that never joins a collective is a deadlock with the waiting ranks named",
          "[replay][error]") {
    const auto& kind = any_engine();
    const auto fabric = test::star(3, Bandwidth{50e9}, Seconds{0});
    auto graph = graph_of(3, {{kernel("compute", 1)}, {all_reduce(0, {})}}, {1, 0, 1});
    graph.calls = {ring_call("gradients", 1000)};
    CHECK_THROWS_AS(run(fabric, graph, kind), SimulationError);
    CHECK_THROWS_WITH(
        run(fabric, graph, kind),
        Catch::Contains("ranks 0, 2 wait in all_reduce `gradients` of step 1 for rank 1, which never makes that call"));
}

TEST_CASE("training: one rank, and collectives of nothing, cost nothing", "[replay]") {
    const auto fabric = test::star(2, Bandwidth{50e9}, Seconds{1e-6});
    auto alone =
        graph_of(1, {{kernel("compute", 1), all_reduce(0, {TaskId{0}}), kernel("optimizer", 0, {TaskId{1}})}}, {0});
    alone.calls = {ring_call("gradients", 100'000'000)};
    CHECK(run(fabric, alone, engine::engines().front()).step_time.value == Approx(1e-3));

    auto empty =
        graph_of(2, {{kernel("compute", 1), all_reduce(0, {TaskId{0}}), kernel("optimizer", 0, {TaskId{1}})}}, {0, 0});
    empty.calls = {ring_call("gradients", 0)};
    CHECK(run(fabric, empty, engine::engines().front()).step_time.value == Approx(1e-3));
}

TEST_CASE("training: a single simulated step counts from time 0", "[replay]") {
    const auto fabric = test::star(2, Bandwidth{50e9}, Seconds{0});
    auto graph =
        graph_of(2, {{kernel("compute", 2), all_reduce(0, {TaskId{0}}), kernel("optimizer", 1, {TaskId{1}})}}, {0, 0});
    graph.calls = {ring_call("gradients", 50'000'000)};
    graph.steps = 1;
    // 2 ms, ring of two: 50 MB / 50 GB/s = 1 ms, 1 ms.
    CHECK(run(fabric, graph, engine::engines().front()).step_time.value == Approx(4e-3).epsilon(1e-9));
}

TEST_CASE("training: the history of a step begins at 0, whichever rank begins it", "[replay]") {
    // Rank 0 broadcasts and goes on at once; the others follow a message's time behind it.
    const auto fabric = test::star(3, Bandwidth{50e9}, Seconds{1e-3});
    auto graph = graph_of(3, {{kernel("compute", 1), all_reduce(0, {TaskId{0}}), kernel("optimizer", 1, {TaskId{1}})}},
                          {0, 0, 0});
    graph.calls = {ring_call("parameters", 50'000'000)};
    graph.calls[0].request.operation = collective::Operation::broadcast;
    const auto result = run(fabric, graph, engine::engines().front());
    double least = 1;
    for (const auto& span : result.spans) {
        least = std::min(least, span.start.value);
        CHECK(span.end >= span.start);
    }
    CHECK(result.spans.size() == 9);
    CHECK(least == 0);
}
