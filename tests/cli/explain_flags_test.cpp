#include "shell.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lockstep::cli::testing {

TEST_CASE("explain chooses a place where the algorithm can be shown", "[explain]") {
    const Shell shell;
    const auto topology_of = [&](const std::string& arguments) {
        const Outcome outcome = shell.run(fmt::format("lockstep explain {} --json -", arguments));
        INFO(arguments << ": " << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        const auto told = nlohmann::json::parse(outcome.out);
        CHECK(told["proved"] == true);
        return fmt::format("{} {}", told["ranks"].get<int>(), told["topology"].get<std::string>());
    };
    CHECK(topology_of("ring") == "4 single-switch");
    CHECK(topology_of("ring --ranks 6") == "6 single-switch");
    CHECK(topology_of("nvls --ranks 5") == "5 single-switch");  // one that reduces
    CHECK(topology_of("hierarchical") == "8 dgx-h100");         // four on each of two machines
    CHECK(topology_of("hierarchical --ranks 6") == "6 dgx-h100");
    CHECK(topology_of("torus --ranks 12") == "12 torus-3d");
    CHECK(topology_of("ring --set bandwidth=10GB/s") == "4 single-switch");
    CHECK(topology_of("ring --topology dgx-h100 --set nodes=2 --channels 1") == "16 dgx-h100");
    CHECK(topology_of("ring-all-reduce") == "4 single-switch");  // a schedule from a file
    CHECK(topology_of("ring-all-reduce --ranks 3 --topology dgx-h100") == "3 dgx-h100");
}

TEST_CASE("explain writes where it is told to, and text only if nothing else goes there", "[explain]") {
    const Shell shell;
    const Outcome text = shell.run("lockstep explain ring --ranks 3");
    CHECK(text.exit_code == 0);
    CHECK(text.out.starts_with("ring all_reduce: 3 ranks on single-switch"));
    CHECK(text.out.find('\x1b') == std::string::npos);  // not a terminal
    CHECK(text.err.empty());

    const Outcome html = shell.run("lockstep explain ring --ranks 3 --html ring.html");
    CHECK(html.exit_code == 0);
    CHECK(html.out.empty());
    CHECK(html.err == "ring.html written: open it in a browser\n");
    CHECK(shell.read("ring.html").starts_with("<!doctype html>"));

    const Outcome both = shell.run("lockstep explain ring --ranks 3 --html page.html --json told.json");
    CHECK(both.exit_code == 0);
    CHECK(shell.read("page.html") == shell.read("ring.html"));
    CHECK(nlohmann::json::parse(shell.read("told.json"))["schema"] == "lockstep.explain/1");

    const Outcome piped = shell.run("lockstep explain ring --ranks 3 --html -");
    CHECK(piped.out == shell.read("ring.html"));
    CHECK(piped.err.empty());

    CHECK(shell.run("lockstep explain ring --ranks 3 --color always").out.find("\x1b[1m") != std::string::npos);
    CHECK(shell.run("lockstep explain ring --ranks 3 --color never").out == text.out);
}

TEST_CASE("explain says what it cannot show", "[explain]") {
    const Shell shell;
    const auto refused = [&](const std::string& arguments) {
        const Outcome outcome = shell.run(fmt::format("lockstep explain {}", arguments));
        INFO(arguments << ": " << outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(refused("rign").find("did you mean `ring`?") != std::string::npos);
    CHECK(refused("ring --ranks 65").find("from 1 to 64") != std::string::npos);
    CHECK(refused("ring --topology fat-tree").find("128 GPUs of fat-tree") != std::string::npos);
    CHECK(refused("ring --topology dgx-h100 --set nodes=8").find("fewer --ranks, --channels or --pieces") !=
          std::string::npos);
    CHECK(refused("nvls --topology fat-tree --ranks 4").find("a switch that can reduce") != std::string::npos);
    CHECK(refused("pairwise --op all_reduce").find("--op: pairwise does not do all_reduce; it does") !=
          std::string::npos);
    CHECK(refused("ring --root 1").find("--root: all_reduce has no root") != std::string::npos);
    CHECK(refused("ring --op broadcast --root 4").find("--root: expected a whole number from 0 to 3") !=
          std::string::npos);
    CHECK(refused("ring --color blue").find("--color: expected auto, always or never") != std::string::npos);
    CHECK(refused("ring --placement gpus.txt").find("say --topology, too") != std::string::npos);
    CHECK(refused("ring --html nowhere/ring.html").find("nowhere") != std::string::npos);
    CHECK(shell.file_count() == 0);

    shell.write("large.yaml",
                "operation: send_recv\nranks: any\nchunks: 16000000\nsteps:\n"
                "  - {send: 0, to: $((rank + 1) % ranks), count: 16000000}\n"
                "  - {receive: {received: 0}, from: $((rank - 1) % ranks), count: 16000000}\n");
    CHECK(refused("large.yaml").find("16000000 chunks on each of 4 ranks are more than can be shown") !=
          std::string::npos);
}

TEST_CASE("explain tells a schedule from a file that is wrong, and ends with 1", "[explain]") {
    const Shell shell;
    shell.write("half.yaml", R"(summary: one rank keeps the sum for itself
operation: all_reduce
ranks: 2
chunks: 1
programs:
  - {ranks: [0], steps: [{send: 0, to: 1}]}
  - {ranks: [1], steps: [{receive_reduce: 0, from: 0}]}
)");
    const Outcome outcome = shell.run("lockstep explain ./half.yaml");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.find("Step 1 of 1") != std::string::npos);
    CHECK(outcome.out.find("This schedule is wrong") != std::string::npos);
    CHECK(outcome.out.find("\n  missing: rank 0 ") != std::string::npos);
}

}  // namespace lockstep::cli::testing
