#include <string>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using lockstep::test::any_engine;
using lockstep::test::run_command;
using lockstep::test::run_json;
using lockstep::test::Shell;
using lockstep::test::written;
using nlohmann::json;

namespace {

/// Arguments that run a workload of this text on eight GPUs at one switch, 50 GB/s and no latency.
std::vector<std::string> job(const Shell& shell, const std::string& yaml, const std::string& engine) {
    return {
        "run",         "topologies/single-switch.yaml",  "--set",    "gpus=8", "--set",  "bandwidth=50 GB/s", "--set",
        "latency=0 s", written(shell, "job.yaml", yaml), "--engine", engine,   "--quiet"};
}

constexpr const char* nested_groups = R"(
groups:
  inner: {from: 4, to: 7}
programs:
  - ranks: {from: 4, to: 7}
    tasks:
      - {all_reduce: inside, bytes: 100 MB, group: inner, algorithm: ring}
      - {all_reduce: everywhere, bytes: 200 MB, algorithm: ring}
  - ranks: others
    tasks:
      - {compute: work, time: 5 ms}
      - {all_reduce: everywhere, bytes: 200 MB, algorithm: ring, after: work}
)";

}  // namespace

TEST_CASE("case: a group within a group calls among itself, and all finish", "[cases]") {
    const Shell shell;
    const json result = run_json(job(shell, nested_groups, any_engine()));
    // Ranks 4..7 are done inside after 2 * 3/4 * 100 MB / 50 GB/s = 3 ms and wait 2 ms for the others; then all take
    // 2 * 7/8 * 200 MB / 50 GB/s = 7 ms.
    CHECK(result.at("step_time_s").get<double>() == Approx(12e-3).epsilon(1e-9));
    const json& collectives = result.at("collectives");
    REQUIRE(collectives.size() == 2);
    for (const json& collective : collectives) {
        const bool inside = collective.at("name") == "inside";
        CHECK(collective.at("group_size") == (inside ? 4 : 8));
        CHECK(collective.at("count") == 1);
        // Half of the ranks are there 2 ms early: 8 ms on average.
        CHECK(collective.at("time_s").get<double>() == Approx(inside ? 3e-3 : 8e-3).epsilon(1e-9));
    }
    CHECK(result.at("time_s").at("straggler_wait").get<double>() == Approx(1e-3).epsilon(1e-9));
}

TEST_CASE("case: only some ranks of a job communicate, and all finish", "[cases]") {
    const Shell shell;
    const json result = run_json(job(shell,
                                     "groups: {inner: {from: 4, to: 7}}\n"
                                     "programs:\n"
                                     "  - ranks: {from: 4, to: 7}\n"
                                     "    tasks: [{all_reduce: inside, bytes: 100 MB, group: inner, algorithm: ring}]\n"
                                     "  - {ranks: others, tasks: [{compute: alone, time: 1 ms}]}\n",
                                     any_engine()));
    // Four ranks communicate for 3 ms; the other four compute for 1 ms, and then wait for them.
    CHECK(result.at("step_time_s").get<double>() == Approx(3e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("compute").get<double>() == Approx(0.5e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("exposed_dp").get<double>() == Approx(1.5e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("straggler_wait").get<double>() == Approx(1e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("overhead").get<double>() == Approx(0).margin(1e-12));
}

TEST_CASE("case: different calls on one group are an error that names both", "[cases]") {
    const Shell shell;
    const auto outcome = run_command(job(shell,
                                         "programs:\n"
                                         "  - ranks: {from: 0, to: 3}\n"
                                         "    tasks: [{all_gather: weights, bytes: 100 MB}]\n"
                                         "  - ranks: {from: 4, to: 7}\n"
                                         "    tasks: [{all_reduce: gradients, bytes: 100 MB}]\n",
                                         "fluid"));
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("all_gather `weights`") && Catch::Contains("ranks 0..3") &&
                                Catch::Contains("all_reduce `gradients`") && Catch::Contains("ranks 4..7") &&
                                Catch::Contains("job.yaml:3:") && Catch::Contains("job.yaml:5:"));
}

TEST_CASE("case: a call that some of a group never make is a deadlock that names who waits for whom", "[cases]") {
    const Shell shell;
    const auto outcome = run_command(job(shell,
                                         "programs:\n"
                                         "  - ranks: {from: 0, to: 5}\n"
                                         "    tasks: [{all_reduce: gradients, bytes: 100 MB}]\n"
                                         "  - ranks: others\n"
                                         "    tasks: [{compute: alone, time: 1 ms}]\n",
                                         any_engine()));
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("deadlock") &&
                                Catch::Contains("ranks 0..5 wait in all_reduce `gradients` of step 1 for ranks 6, 7, "
                                                "which never make that call"));
}

TEST_CASE("case: groups called in opposite order wait for each other for ever, and the message says so", "[cases]") {
    const Shell shell;
    const auto outcome = run_command(job(shell,
                                         "groups: {first: [0, 1], second: [0, 1]}\n"
                                         "programs:\n"
                                         "  - ranks: 0\n"
                                         "    tasks:\n"
                                         "      - {all_reduce: a, bytes: 1 MB, group: first}\n"
                                         "      - {all_reduce: b, bytes: 1 MB, group: second}\n"
                                         "  - ranks: 1\n"
                                         "    tasks:\n"
                                         "      - {all_reduce: b, bytes: 1 MB, group: second}\n"
                                         "      - {all_reduce: a, bytes: 1 MB, group: first}\n"
                                         "  - {ranks: others, tasks: [{compute: alone, time: 1 ms}]}\n",
                                         any_engine()));
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err,
               Catch::Contains("rank 0 waits in all_reduce `a` of step 1 for rank 1, which has not come to it") &&
                   Catch::Contains("rank 1 waits in all_reduce `b` of step 1 for rank 0, which has not come to it"));
}

TEST_CASE("case: a barrier holds all until the last has come", "[cases]") {
    const Shell shell;
    const json result = run_json(job(shell,
                                     "programs:\n"
                                     "  - ranks: 3\n"
                                     "    tasks:\n"
                                     "      - {compute: slow, time: 5 ms}\n"
                                     "      - {barrier: all here, after: slow}\n"
                                     "  - {ranks: others, tasks: [{barrier: all here}]}\n",
                                     any_engine()));
    CHECK(result.at("step_time_s").get<double>() == Approx(5e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("straggler_wait").get<double>() == Approx(7.0 / 8 * 5e-3).epsilon(1e-9));
}

TEST_CASE("case: several steps of tasks report the last", "[cases]") {
    const Shell shell;
    // One rank computes 2 ms, the others 1 ms, then 7 ms of all-reduce: each step alike, 9 ms.
    const json result = run_json(job(shell,
                                     "steps: 3\n"
                                     "programs:\n"
                                     "  - ranks: 7\n"
                                     "    tasks:\n"
                                     "      - {compute: work, time: 2 ms}\n"
                                     "      - {all_reduce: sums, bytes: 200 MB, algorithm: ring, after: work}\n"
                                     "      - {compute: end, time: 0 s, after: sums}\n"
                                     "  - ranks: others\n"
                                     "    tasks:\n"
                                     "      - {compute: work, time: 1 ms}\n"
                                     "      - {all_reduce: sums, bytes: 200 MB, algorithm: ring, after: work}\n"
                                     "      - {compute: end, time: 0 s, after: sums}\n",
                                     any_engine()));
    CHECK(result.at("step_time_s").get<double>() == Approx(9e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("exposed_dp").get<double>() == Approx(7e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("straggler_wait").get<double>() == Approx(7.0 / 8 * 1e-3).epsilon(1e-9));
}

TEST_CASE("case: the shipped example takes what its comments say", "[cases]") {
    const json result =
        run_json({"run", "single-switch", "toy-tasks", "--set", "latency=0 s", "--engine", any_engine()});
    CHECK(result.at("step_time_s").get<double>() == Approx(17.5e-3).epsilon(1e-9));
}
