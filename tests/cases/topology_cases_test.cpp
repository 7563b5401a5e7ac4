#include "tests/cases/command.h"
#include <catch2/catch.hpp>

using lockstep::test::run_command;
using lockstep::test::run_json;
using nlohmann::json;

namespace {

std::vector<std::string> shipped(const std::string& kind) {
    std::vector<std::string> names;
    for (const auto& entry : run_json({"list", kind})) {
        names.push_back(entry.at("name").get<std::string>());
    }
    return names;
}

}  // namespace

TEST_CASE("case: every shipped topology loads, shows, has nothing wrong, and runs alike on both engines", "[cases]") {
    const auto names = shipped("topologies");
    CHECK(names.size() >= 11);
    for (const auto& name : names) {
        CAPTURE(name);
        CHECK(run_command({"topology", "show", name}).exit_code == 0);
        CHECK(run_command({"topology", "check", name}).exit_code == 0);
        std::vector<double> times;
        for (const std::string engine : {"fluid", "simgrid"}) {
            const json result = run_json({"collective", name, "--ranks", "8", "-b", "1M", "-e", "16M", "-f", "16",
                                          "--algorithm", "ring", "--engine", engine});
            for (const auto& row : result.at("rows")) {
                times.push_back(row.at("time_s").get<double>());
                CHECK(row.at("time_s").get<double>() >= row.at("lower_bound_s").get<double>() * (1 - 1e-9));
            }
        }
        REQUIRE(times.size() == 4);
        CHECK(times[0] == Approx(times[2]).epsilon(1e-6));
        CHECK(times[1] == Approx(times[3]).epsilon(1e-6));
    }
}

TEST_CASE("case: every shipped workload runs", "[cases]") {
    const auto names = shipped("workloads");
    CHECK(names.size() >= 4);
    for (const auto& name : names) {
        CAPTURE(name);
        const auto outcome = run_command({"run", "dgx-h100", name, "--set", "nodes=1"});
        CHECK(outcome.exit_code == 0);
        CHECK_THAT(outcome.out, Catch::Contains("idle"));
    }
}

TEST_CASE("case: a GPU that nothing joins is found by check, and by a run that needs it", "[cases]") {
    const lockstep::test::Shell shell;
    const auto file = lockstep::test::written(shell, "island.yaml",
                                              "summary: three GPUs, one of them alone\n"
                                              "vertices:\n"
                                              "  - {name: hub, kind: switch}\n"
                                              "  - {name: gpu0, kind: gpu}\n"
                                              "  - {name: gpu1, kind: gpu}\n"
                                              "  - {name: gpu2, kind: gpu}\n"
                                              "links:\n"
                                              "  - {between: [gpu0, hub], bandwidth: 100 Gb/s, latency: 1 us}\n"
                                              "  - {between: [gpu1, hub], bandwidth: 100 Gb/s, latency: 1 us}\n");
    const auto check = run_command({"topology", "check", file});
    CHECK(check.exit_code != 0);
    CHECK_THAT(check.out + check.err, Catch::Contains("gpu2"));
    const auto run = run_command({"collective", file, "-b", "1M", "-e", "1M"});
    CHECK(run.exit_code == 1);
    CHECK_THAT(run.err, Catch::Contains("gpu2"));
}
