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

/// Ranks at one switch, 50 GB/s and 1 us a link, that run the schedule of a file.
std::vector<std::string> run_of(const std::string& schedule, int ranks, const std::string& engine) {
    return {"collective",  "single-switch", "--set", fmt::format("gpus={}", ranks), "--set", "latency=1 us",
            "--algorithm", schedule,        "-b",    fmt::format("{}MB", ranks),    "-e",    fmt::format("{}MB", ranks),
            "--engine",    engine};
}

/// A message of one chunk from rank 0 to `to` for each other rank; `takers` take one each from rank 0.
std::string scattered(const std::string& to, const std::string& takers) {
    return "operation: broadcast\n"
           "ranks: any\n"
           "root: 0\n"
           "chunks: 1\n"
           "programs:\n"
           "  - ranks: 0\n"
           "    steps:\n"
           "      - {repeat: $(ranks - 1), steps: [{send: 0, to: " +
           to +
           "}]}\n"
           "  - ranks: " +
           takers +
           "\n"
           "    steps:\n"
           "      - {receive: 0, from: 0}\n"
           "  - {ranks: others, steps: []}\n";
}

}  // namespace

TEST_CASE("case: schedules of any number of ranks keep all their operations", "[cases]") {
    const int ranks = GENERATE(8, 9, 10, 11, 17, 33);
    const auto engine = any_engine();
    CAPTURE(ranks, engine);
    // 2(n - 1) steps of a block of 1 MB each: 2(n - 1) (2 us + 1 MB / 50 GB/s), and each of n ranks sends in each.
    const json row = run_json(run_of("ring-all-reduce", ranks, engine)).at("rows").at(0);
    CHECK(row.at("time_s").get<double>() == Approx(2 * (ranks - 1) * (2e-6 + 1e6 / 50e9)).epsilon(1e-9));
    CHECK(row.at("messages") == 2 * ranks * (ranks - 1));
    const auto proof = run_command({"verify", "ring-all-reduce", "--ranks", std::to_string(ranks)});
    CHECK(proof.exit_code == 0);
}

TEST_CASE("case: a schedule from a file sends from one rank to all", "[cases]") {
    const int ranks = GENERATE(9, 17);
    const Shell shell;
    const auto file = written(shell, "all.yaml", scattered("$(step + 1)", "{from: 1, to: $(ranks - 1)}"));
    auto arguments = run_of(file, ranks, any_engine());
    arguments.insert(arguments.end(), {"--op", "broadcast"});
    // The root's port carries the vector of n MB n - 1 times.
    CHECK(run_json(arguments).at("rows").at(0).at("time_s").get<double>() ==
          Approx(2e-6 + (ranks - 1) * ranks * 1e6 / 50e9).epsilon(1e-9));
}

TEST_CASE("case: what a schedule leaves over is an error that names the ranks", "[cases]") {
    const int ranks = GENERATE(9, 17);
    const auto engine = any_engine();
    CAPTURE(ranks, engine);
    const Shell shell;
    const auto outcome_of = [&](const std::string& yaml, const std::string& operation = "broadcast") {
        auto arguments = run_of(written(shell, "wrong.yaml", yaml), ranks, engine);
        arguments.insert(arguments.end(), {"--op", operation});
        const auto outcome = run_command(arguments);
        CHECK(outcome.exit_code == 1);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    // All messages to rank 1, which takes one of them.
    CHECK_THAT(outcome_of(scattered("1", "1")),
               Catch::Contains(fmt::format("rank 1 does not take {} messages from rank 0", ranks - 2)));
    // Nobody takes any: one message is left with each rank, and at most eight ranks are named.
    const std::string none_taken = outcome_of(
        "operation: broadcast\nranks: any\nroot: 0\nchunks: 1\nprograms:\n"
        "  - {ranks: 0, steps: [{repeat: $(ranks - 1), steps: [{send: 0, to: $(step + 1)}]}]}\n"
        "  - {ranks: others, steps: []}\n");
    CHECK_THAT(none_taken, Catch::Contains("rank 1 does not take 1 message from rank 0") &&
                               Catch::Contains("rank 8 does not take 1 message"));
    CHECK((none_taken.find("and 8 more") != std::string::npos) == (ranks == 17));
    // All alike: each sends its neighbour two messages and takes one.
    CHECK_THAT(outcome_of("operation: send_recv\nranks: any\nchunks: 1\nsteps:\n"
                          "  - {repeat: 2, steps: [{send: 0, to: $((rank + 1) % ranks)}]}\n"
                          "  - {receive: {received: 0}, from: $((rank - 1) % ranks)}\n",
                          "send_recv"),
               Catch::Contains("rank 0 does not take 1 message from rank " + std::to_string(ranks - 1)) &&
                   Catch::Contains("rank 1 does not take 1 message from rank 0"));
    // Rank 2 waits for a message that went to rank 1.
    CHECK_THAT(outcome_of(scattered("1", "[1, 2]")),
               Catch::Contains("deadlock") && Catch::Contains("rank 2 waits for a message from rank 0"));
}
