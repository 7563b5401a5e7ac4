#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

namespace {

constexpr std::string_view two_programs = R"(
ranks: 4
streams: [kernels, network, side]
groups:
  pair: [3, 1]
  outer: {from: 0, to: 3, by: 3}
programs:
  - ranks: [1, 3]
    tasks:
      - {compute: forward, time: 2 ms}
      - {broadcast: weights, bytes: 8 MB, group: pair, root: 1, kind: tp, after: forward}
      - {compute: backward, time: 3 ms, stream: side, after: [weights]}
      - {all_reduce: gradients, bytes: 100 MB, algorithm: ring, after: [backward, weights]}
  - ranks: others
    tasks:
      - {all_reduce: sums, bytes: 100 MB, algorithm: ring}
)";

}  // namespace

TEST_CASE("tasks: programs, streams, groups and calls are those of the file", "[workload]") {
    const TaskGraph graph = load(two_programs, cluster(4));
    CHECK(graph.name == "job");
    CHECK(graph.ranks == 4);
    CHECK(graph.steps == 1);
    CHECK(graph.streams == std::vector<std::string>{"kernels", "network", "side"});
    REQUIRE(graph.programs.size() == 2);
    CHECK(graph.program_of_rank == std::vector<std::uint32_t>{1, 0, 1, 0});

    // Communicators: everybody, then the groups, with ranks in the order in which they are listed.
    REQUIRE(graph.communicators.size() == 3);
    CHECK(graph.communicators[0].size() == 4);
    CHECK(graph.communicators[1] == std::vector{RankId{3}, RankId{1}});
    CHECK(graph.communicators[2] == std::vector{RankId{0}, RankId{3}});

    // The first call of everybody is one call, whatever each program calls it.
    REQUIRE(graph.calls.size() == 2);
    const CollectiveCall& sums = graph.calls[0];
    CHECK(sums.communicator == 0);
    CHECK(sums.request.operation == collective::Operation::all_reduce);
    CHECK(sums.request.bytes == Bytes{100'000'000});
    CHECK(sums.algorithm == "ring");
    const CollectiveCall& weights = graph.calls[1];
    CHECK(weights.name == "weights");
    CHECK(weights.communicator == 1);
    CHECK(weights.kind == Parallelism::tensor);
    CHECK(weights.algorithm == "auto");
    CHECK(index(weights.request.root) == 1);  // rank 1 of the job is the second of its group

    const Program& first = graph.programs[0];
    REQUIRE(first.size() == 4);
    CHECK(first[0].label == "forward");
    CHECK(first[0].duration == Seconds{2e-3});
    CHECK_FALSE(first[0].call);
    CHECK(index(first[0].stream) == 0);
    CHECK(first[1].call == CallId{1});
    CHECK(index(first[1].stream) == 1);
    CHECK(first[1].after == std::vector{TaskId{0}});
    CHECK(index(first[2].stream) == 2);
    CHECK(first[3].call == CallId{0});
    CHECK(first[3].after == std::vector{TaskId{2}, TaskId{1}});
    CHECK(graph.programs[1].front().call == CallId{0});
    CHECK(graph.programs[1].front().label == "sums");
}

TEST_CASE("tasks: of several tasks of one name the last before it is meant", "[workload]") {
    const TaskGraph graph = load(
        "programs:\n"
        "  - ranks: all\n"
        "    tasks:\n"
        "      - {compute: layer, time: 1 ms}\n"
        "      - {compute: layer, time: 1 ms}\n"
        "      - {all_gather: layer, bytes: 1 MB}\n"
        "      - {compute: last, time: 1 ms, after: layer}\n",
        cluster(2));
    CHECK(graph.programs.front()[3].after == std::vector{TaskId{2}});
}

TEST_CASE("tasks: parameters give ranks, sizes, times and roots", "[workload]") {
    YamlFile file = YamlFile::parse(
        "parameters:\n"
        "  ranks: {default: 4, help: GPUs}\n"
        "  size: {default: 1 MB, help: bytes}\n"
        "ranks: $ranks\n"
        "steps: 3\n"
        "groups: {half: {from: 0, to: $(ranks / 2 - 1)}}\n"
        "programs:\n"
        "  - ranks: {from: 0, to: $(ranks / 2 - 1)}\n"
        "    tasks: [{reduce: sums, bytes: $size, group: half, root: $(ranks / 2 - 1)}]\n"
        "  - {ranks: others, tasks: [{compute: work, time: 1 ms}]}\n",
        "job.yaml");
    file.parameters().set("ranks", "8");
    file.parameters().set("size", "3 MiB");
    const TaskGraph graph = load_workload(file, data(), cluster(8));
    CHECK(graph.steps == 3);
    CHECK(graph.communicators[1].size() == 4);
    CHECK(index(graph.calls.front().request.root) == 3);
    CHECK(graph.calls.front().request.bytes == Bytes{3 << 20});
    CHECK(graph.program_of_rank == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("tasks: a call that some of a group make is left for the simulation to miss", "[workload]") {
    const TaskGraph graph = load(
        "programs:\n"
        "  - {ranks: 0, tasks: [{barrier: one}, {barrier: two}]}\n"
        "  - {ranks: 1, tasks: [{barrier: one}]}\n",
        cluster(2));
    REQUIRE(graph.calls.size() == 2);
    CHECK(graph.programs[0][1].call == CallId{1});
    CHECK(graph.programs[1].size() == 1);
    CHECK(graph.calls[0].request.bytes == Bytes{0});
}

TEST_CASE("tasks: ranks of a group that call different things are told both", "[workload][error]") {
    const auto with = [](const std::string& first, const std::string& second) {
        return "groups: {pair: [0, 1]}\n"
               "programs:\n"
               "  - {ranks: 0, tasks: [{barrier: start, group: pair}, {" +
               first +
               "}]}\n"
               "  - ranks: others\n"
               "    tasks:\n"
               "      - {barrier: start, group: pair}\n"
               "      - {" +
               second + "}\n";
    };
    const auto refused = [&](const std::string& first, const std::string& second, const std::string& message) {
        CAPTURE(first, second);
        const std::string yaml = with(first + ", group: pair", second + ", group: pair");
        CHECK_THROWS_AS(load(yaml, cluster(2)), SimulationError);
        CHECK_THROWS_WITH(load(yaml, cluster(2)), Catch::Contains(message));
    };
    refused("all_gather: a, bytes: 8 B", "all_reduce: b, bytes: 8 B",
            "job.yaml:7:9: call 2 on group `pair` is all_reduce `b` of 8 B for rank 1, but all_gather `a` of 8 B for "
            "rank 0 (job.yaml:3:55)");
    refused("all_reduce: a, bytes: 8 B", "all_reduce: a, bytes: 9 B", "all_reduce `a` of 9 B for rank 1");
    refused("broadcast: a, bytes: 8 B", "broadcast: a, bytes: 8 B, root: 1", "with root 1 for rank 1");
    refused("all_reduce: a, bytes: 8 B", "all_reduce: a, bytes: 8 B, algorithm: ring", "by ring for rank 1");
    // A call of another group in between changes nothing.
    CHECK_NOTHROW(
        load(with("all_reduce: a, bytes: 8 B, group: pair", "all_reduce: b, bytes: 8 B, group: pair"), cluster(2)));
}

TEST_CASE("tasks: ranks in messages are put together", "[workload]") {
    const auto text = [](const std::vector<std::size_t>& ranks) {
        std::vector<RankId> ids;
        for (const std::size_t rank : ranks) {
            ids.push_back(id_at<RankId>(rank));
        }
        return ranks_text(ids);
    };
    CHECK(text({3}) == "rank 3");
    CHECK(text({0, 1}) == "ranks 0, 1");
    CHECK(text({0, 1, 2, 3}) == "ranks 0..3");
    CHECK(text({0, 2, 3, 4, 7}) == "ranks 0, 2..4, 7");
    CHECK(text({0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) == "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more");
}
