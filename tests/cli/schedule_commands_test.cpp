// Schedules in files, from outside: export, import, collective, run and list.

#include <algorithm>
#include <string>
#include <string_view>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using lockstep::cli::testing::Outcome;
using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

namespace {

Json json_of(const Outcome& outcome) {
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return Json::parse(outcome.out);
}

void check_refused(const Outcome& outcome, const std::string& message) {
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "lockstep: error: " + message + "\n");
}

constexpr std::string_view job = R"(summary: one bucket
ranks: 4
data_parallel: {algorithm: ALGORITHM}
layers:
  - {name: a, forward: 1 ms, backward: 2 ms, gradient: 4 MB}
optimizer: {time: 0 s}
)";

std::string job_with(const std::string& algorithm) {
    std::string text(job);
    return text.replace(text.find("ALGORITHM"), 9, algorithm);
}

}  // namespace

TEST_CASE("a schedule that is wrong gives no times without a word", "[cli]") {
    const Shell shell;
    // Everybody passes its vector on twice and adds what comes: the neighbour's contribution is in twice.
    shell.write("twice.yaml", R"(operation: all_reduce
ranks: 4
chunks: 1
steps:
  - repeat: 2
    steps:
      - {send: 0, to: $((rank + 1) % ranks)}
      - {receive_reduce: 0, from: $((rank - 1) % ranks)}
)");
    const std::string says = "twice.yaml is wrong, its times are not those of all_reduce: rank 0 ends ";
    const std::string line = "lockstep collective single-switch --set gpus=4 -b 1M -e 1M --algorithm twice.yaml,";
    const Outcome table = shell.run(line + "ring");
    CHECK(table.exit_code == 0);
    CHECK_THAT(table.out, Catch::Contains("\n# " + says));
    const Json json = json_of(shell.run(line + "ring-all-reduce --json -"));
    REQUIRE(json["notes"].size() == 1);  // none of the one that is right
    CHECK_THAT(json["notes"][0].get<std::string>(), Catch::StartsWith(says));

    shell.write("job.yaml", job_with("twice.yaml"));
    const Outcome step = shell.run("lockstep run single-switch ./job.yaml --set gpus=4");
    CHECK(step.exit_code == 0);
    CHECK_THAT(step.err, Catch::StartsWith("lockstep: " + says));
    CHECK(shell.run("lockstep run single-switch ./job.yaml --set gpus=4 --quiet").err.empty());
    shell.write("job.yaml", job_with("ring-all-reduce"));
    CHECK(shell.run("lockstep run single-switch ./job.yaml --set gpus=4").err.empty());
}

TEST_CASE("export: an algorithm's schedule goes through both formats and back", "[cli]") {
    const Shell shell;
    REQUIRE(shell.run("lockstep export halving-doubling --ranks 4 -o hd.yaml").exit_code == 0);
    REQUIRE(shell.run("lockstep export hd.yaml --format msccl -o hd.xml").exit_code == 0);
    REQUIRE(shell.run("lockstep import msccl hd.xml -o back.yaml").exit_code == 0);
    CHECK(shell.file_count() == 3);
    const Json json =
        json_of(shell.run("lockstep collective single-switch --set gpus=4 --quiet --json - -b 4M -e 4M "
                          "--algorithm halving-doubling,hd.yaml,hd.xml,back.yaml"));
    REQUIRE(json["rows"].size() == 4);
    // Rows are called what was asked for, and all take as long: 2 log2(4) latencies of 20 ns and 2 * 3/4 of 4 MiB at
    // 50 GB/s.
    for (const Json& row : json["rows"]) {
        CHECK(row["time_s"].get<double>() == Approx(4 * 20e-9 + 1.5 * (4 << 20) / 50e9).epsilon(1e-9));
        CHECK(row["messages"] == json["rows"][0]["messages"]);
    }
    CHECK(json["rows"][2]["algorithm"] == "hd.xml");
}

TEST_CASE("export: to standard output, for a topology, with pieces", "[cli]") {
    const Shell shell;
    const Outcome ring = shell.run("lockstep export ring --ranks 3 --op all_gather");
    CHECK(ring.exit_code == 0);
    CHECK(ring.out ==
          "name: ring\n"
          "summary: \"all_gather by ring on 3 ranks, from lockstep export\"\n"
          "operation: all_gather\n"
          "ranks: 3\n"
          "chunks: 3\n"
          "steps:\n"
          "  - repeat: 2\n"
          "    steps:\n"
          "      - {send: $((rank - step) % ranks), to: $((rank + 1) % ranks)}\n"
          "      - {receive: $((rank - step - 1) % ranks), from: $((rank - 1) % ranks)}\n");
    CHECK(shell.run("lockstep export hierarchical --topology dgx-h100 --set nodes=2 -o h.yaml").exit_code == 0);
    CHECK(shell.run("lockstep collective dgx-h100 --set nodes=2 --algorithm h.yaml -b 1M -e 1M").exit_code == 0);
    CHECK(shell.run("lockstep export chain-broadcast --ranks 4 --root 2 --pieces 3 | grep -q 'chunks: 3'").exit_code ==
          0);
}

TEST_CASE("export and import: what is wrong", "[cli][error]") {
    const Shell shell;
    check_refused(shell.run("lockstep export ring"),
                  "algorithm `ring` is for any number of ranks: say how many with --ranks");
    check_refused(shell.run("lockstep export rign --ranks 4"),
                  "`rign`: neither a file, a shipped schedule nor an algorithm — did you mean `ring`?");
    check_refused(shell.run("lockstep export ring --ranks 4 --format yml"),
                  "--format: unknown format `yml` — did you mean `yaml`?");
    check_refused(shell.run("lockstep export nvls --ranks 4 --format msccl"),
                  "`nvls` cannot be said in MSCCL: it adds up or copies in switches, for which there is no step");
    check_refused(shell.run("lockstep export ring --ranks 4 --set gpus=4"),
                  "--set is about a topology: say --topology, too");
    check_refused(shell.run("lockstep export none.yaml"), "none.yaml: no such file");
    check_refused(shell.run("lockstep export ring --ranks 0"),
                  "--ranks: expected a whole number from 1 to 65536, got `0`");
    check_refused(shell.run("lockstep import mscl a.xml"), "nothing is imported as `mscl` — did you mean `msccl`?");
    check_refused(shell.run("lockstep import msccl none.xml"), "none.xml: no such file");
    shell.write("a.xml", "<algo/>");
    check_refused(shell.run("lockstep import msccl a.xml -o b.yaml"), "a.xml:1:1: `algo` lacks the attribute `name`");
    CHECK(shell.file_count() == 1);  // nothing half-written
    // A schedule is not replaced by what is made of it.
    REQUIRE(shell.run("lockstep export ring --ranks 2 --format msccl -o r.xml").exit_code == 0);
    const std::string before = shell.read("r.xml");
    CHECK(shell.run("lockstep import msccl r.xml -o r.xml").exit_code == 2);
    CHECK(shell.run("lockstep export r.xml -o r.xml").exit_code == 2);
    CHECK(shell.run("lockstep collective single-switch --ranks 2 --algorithm r.xml --json r.xml").exit_code == 2);
    CHECK(shell.read("r.xml") == before);
}

TEST_CASE("collective: a schedule from a file has to be for what is asked", "[cli][error]") {
    const Shell shell;
    REQUIRE(shell
                .run("lockstep export ring --ranks 3 -o r.yaml && lockstep export ring --ranks 3 --format msccl -o "
                     "r.xml")
                .exit_code == 0);
    const std::string side =
        "`ring` is for 3 ranks and 8 take part: let 3 take part (`--ranks`, or `ranks` of a "
        "workload), or change the schedule";
    check_refused(shell.run("lockstep collective single-switch --algorithm r.yaml"), "r.yaml:4:8: ranks: " + side);
    check_refused(shell.run("lockstep collective single-switch --algorithm ring,r.xml"), "r.xml: " + side);
    check_refused(shell.run("lockstep collective single-switch --ranks 3 --op all_gather --algorithm r.xml"),
                  "r.xml: `ring` does all_reduce, not all_gather: ask for that operation, or take another schedule");
    check_refused(shell.run("lockstep collective single-switch --algorithm ring-all-redcue"),
                  "--algorithm: unknown algorithm `ring-all-redcue` — did you mean `ring-all-reduce`?");
    CHECK(shell.run("lockstep collective single-switch --algorithm ring-all-reduce,./none.yaml").err ==
          "lockstep: error: ./none.yaml: no such file\n");
}

TEST_CASE("run: a workload names a schedule beside it, in either format, or a shipped one", "[cli]") {
    const Shell shell;
    REQUIRE(shell
                .run("mkdir -p jobs/schedules && lockstep export ring --ranks 4 -o jobs/schedules/r.yaml && lockstep "
                     "export ring --ranks 4 --format msccl -o jobs/r.xml")
                .exit_code == 0);
    for (const std::string algorithm : {"ring", "schedules/r.yaml", "r.xml", "ring-all-reduce"}) {
        CAPTURE(algorithm);
        shell.write("jobs/job.yaml", job_with(algorithm));
        const Json json = json_of(shell.run("lockstep run single-switch jobs/job.yaml --quiet --json -"));
        CHECK(json["collectives"][0]["algorithm"] == algorithm);
        // Nothing hides the one bucket: 3 ms of compute, and 6 latencies and 3/2 of 4 MB at 50 GB/s.
        CHECK(json["step_time_s"].get<double>() == Approx(3e-3 + 6 * 20e-9 + 1.5 * 4e6 / 50e9).epsilon(1e-9));
    }
}

TEST_CASE("run: a schedule that does not fit is reported where the workload names it", "[cli][error]") {
    const Shell shell;
    REQUIRE(shell.run("lockstep export ring --ranks 8 -o r.yaml").exit_code == 0);
    shell.write("job.yaml", job_with("r.yaml"));
    check_refused(shell.run("lockstep run single-switch job.yaml"),
                  "job.yaml:3:28: data_parallel.algorithm: r.yaml:4:8: ranks: `ring` is for 8 ranks and 4 take part: "
                  "let 8 take part (`--ranks`, or `ranks` of a workload), or change the schedule");
    shell.write("job.yaml", job_with("ringg"));
    CHECK_THAT(
        shell.run("lockstep run single-switch job.yaml").err,
        Catch::StartsWith("lockstep: error: job.yaml:3:28: data_parallel.algorithm: expected one of auto, ring,"));
    shell.write("job.yaml", job_with("none.yaml"));
    CHECK_THAT(shell.run("lockstep run single-switch job.yaml").err,
               Catch::Equals("lockstep: error: job.yaml:3:28: data_parallel.algorithm: none.yaml: no such file\n"));
    // Nor is a schedule that is read replaced by a result.
    REQUIRE(shell.run("lockstep export ring --ranks 4 -o r.yaml").exit_code == 0);
    shell.write("job.yaml", job_with("r.yaml"));
    const std::string before = shell.read("r.yaml");
    CHECK(shell.run("lockstep run single-switch job.yaml --json r.yaml").exit_code == 2);
    CHECK(shell.read("r.yaml") == before);
}

TEST_CASE("list schedules: what is shipped, with parameters", "[cli]") {
    const Shell shell;
    const Json json = json_of(shell.run("lockstep list schedules --json -"));
    const auto found =
        std::find_if(json.begin(), json.end(), [](const Json& entry) { return entry["name"] == "chain-broadcast"; });
    REQUIRE(found != json.end());
    CHECK((*found)["parameters"][0]["name"] == "pieces");
    CHECK(shell.run("lockstep verify chain-broadcast --ranks 5").exit_code == 0);
}
