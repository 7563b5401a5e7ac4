#include <string>

#include "shell.h"
#include <catch2/catch.hpp>

using lockstep::cli::testing::Shell;

namespace {

struct Refusal {
    std::string line;
    std::string message;  ///< part of it
};

void check_refusal(const Refusal& refusal) {
    const Shell shell;
    CAPTURE(refusal.line);
    const auto outcome = shell.run(refusal.line);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: ") && Catch::Contains(refusal.message));
}

}  // namespace

TEST_CASE("lockstep: help goes to standard output and shows examples", "[cli]") {
    const Shell shell;
    const std::string line = GENERATE("lockstep --help", "lockstep run --help", "lockstep collective -h",
                                      "lockstep topology --help", "lockstep list --help");
    CAPTURE(line);
    const auto outcome = shell.run(line);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK_THAT(outcome.out, Catch::Contains("Examples:") && Catch::Contains("lockstep "));
}

TEST_CASE("lockstep: says its version", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run("lockstep --version");
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Matches("lockstep \\d+\\.\\d+\\.\\d+\n"));
}

TEST_CASE("lockstep: a command line that means nothing says what would", "[cli][error]") {
    check_refusal(GENERATE(
        Refusal{"lockstep", "expected a command: run, collective, topology, explain, verify, import, export, list"},
        Refusal{"lockstep rnu a b", "did you mean `run`"},
        Refusal{"lockstep topology", "expected a command: show, check"},
        Refusal{"lockstep topology sohw dgx-h100", "did you mean `show`"}, Refusal{"lockstep run dgx-h100", "WORKLOAD"},
        Refusal{"lockstep collective", "TOPOLOGY"}, Refusal{"lockstep run dgx-h100 toy-ddp third", "`third`"},
        Refusal{"lockstep collective dgx-h100 --jsn -", "unknown flag `--jsn` — did you mean `--json`"},
        Refusal{"lockstep collective dgx-h100 --algorithms=ring", "did you mean `--algorithm`"},
        Refusal{"lockstep collective dgx-h100 --json", "--json"},
        Refusal{"lockstep collective dgx-h100 --trace t.json", "--trace"},
        Refusal{"lockstep list", "algorithms, schedules, topologies, workloads, devices, networks, engines"},
        Refusal{"lockstep list --json", "--json"}, Refusal{"lockstep topology show", "`lockstep list topologies`"},
        Refusal{"lockstep run dgx-h100", "`lockstep list workloads`"},
        Refusal{"lockstep run dgx-h100 toy-ddp --ranks 4", "--set ranks=VALUE"},
        Refusal{"lockstep collective dgx-h100 --nodes=4", "--set nodes=VALUE"},
        Refusal{"lockstep list engins", "did you mean `engines`"},
        Refusal{"lockstep collective single-switch --quiet=5", "`--quiet` takes no value"},
        Refusal{"lockstep run single-switch toy-ddp --reproducible=no", "`--reproducible` takes no value"},
        Refusal{"lockstep collective single-switch --show-placement=0", "`--show-placement` takes no value"}));
}

TEST_CASE("lockstep: flags before their command are told to stand behind it", "[cli][error]") {
    check_refusal(GENERATE(Refusal{"lockstep --set a=1 collective single-switch",
                                   "flags stand behind the command: lockstep collective … --set"},
                           Refusal{"lockstep --json=- list engines", "lockstep list … --json"},
                           Refusal{"lockstep -b 1M collective single-switch", "lockstep collective … -b"},
                           Refusal{"lockstep topology --json - show single-switch", "lockstep topology show … --json"},
                           Refusal{"lockstep --set a=1", "flags stand behind the command: lockstep run … --set"},
                           Refusal{"lockstep --trace t.json list engines", "unknown flag `--trace`"},
                           Refusal{"lockstep --nothing collective single-switch", "unknown flag `--nothing`"}));
}

TEST_CASE("lockstep: words that name nothing get the nearest that does", "[cli][error]") {
    check_refusal(
        GENERATE(Refusal{"lockstep collective single-swich", "did you mean `single-switch`"},
                 Refusal{"lockstep run single-switch toy-dpd", "did you mean `toy-ddp`"},
                 Refusal{"lockstep collective single-switch --engine fluidd", "did you mean `fluid`"},
                 Refusal{"lockstep collective single-switch --routing sprey", "did you mean `spray`"},
                 Refusal{"lockstep collective single-switch --op allreduce", "did you mean `all_reduce`"},
                 Refusal{"lockstep collective single-switch --algorithm rign", "did you mean `ring`"},
                 Refusal{"lockstep collective single-switch --algorithm rung,qqqqqqqqqq", "did you mean `ring`"},
                 Refusal{"lockstep collective single-switch --algorithm qqqqqqqqqq", "known: auto, all, ring"},
                 Refusal{"lockstep collective single-switch --algorithm auot", "did you mean `auto`"},
                 Refusal{"lockstep collective single-switch --algorithm all,auto", "`all` stands alone"},
                 Refusal{"lockstep collective single-switch --algorithm ring,,tree", "--algorithm"},
                 Refusal{"lockstep collective single-switch --seed -1", "--seed"},
                 Refusal{"lockstep collective single-switch --seed 1.5", "`1.5`"}));
}

TEST_CASE("lockstep: settings are checked", "[cli][error]") {
    check_refusal(GENERATE(Refusal{"lockstep run single-switch toy-ddp --set gpu=8", "did you mean `gpus`"},
                           Refusal{"lockstep run single-switch toy-ddp --set gpus", "name=value"},
                           Refusal{"lockstep run single-switch toy-ddp --set =8", "--set"},
                           Refusal{"lockstep run single-switch toy-ddp --set gpus=many", "many"},
                           Refusal{"lockstep run single-switch toy-ddp --set 'bandwidth=50'", "50"}));
}

TEST_CASE("lockstep: a setting does not swallow the words behind it", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run("lockstep run --set gpus=2 --set layers=2 single-switch toy-ddp --quiet");
    CHECK(outcome.err.empty());
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("2 GPUs"));
}

TEST_CASE("lockstep: a topology too small for the job names both sides", "[cli][error]") {
    check_refusal({"lockstep run single-switch toy-ddp --set gpus=4 --set ranks=8", "8"});
}
