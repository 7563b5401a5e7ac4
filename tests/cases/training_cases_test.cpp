#include "tests/cases/command.h"
#include <catch2/catch.hpp>

using lockstep::test::any_engine;
using lockstep::test::run_command;
using lockstep::test::run_json;
using nlohmann::json;

namespace {

json toy(const std::string& overlap, const std::string& engine) {
    return run_json({"run",
                     "topologies/single-switch.yaml",
                     "workloads/toy-ddp.yaml",
                     "--set",
                     "gpus=4",
                     "--set",
                     "bandwidth=50 GB/s",
                     "--set",
                     "latency=0 s",
                     "--set",
                     "layers=4",
                     "--set",
                     "forward=1 ms",
                     "--set",
                     "backward=2 ms",
                     "--set",
                     "gradient=100 MB",
                     "--set",
                     "algorithm=ring",
                     "--set",
                     "overlap=" + overlap,
                     "--engine",
                     engine});
}

double sum_of(const json& parts) {
    double sum = 0;
    for (const auto& part : parts) {
        sum += part.get<double>();
    }
    return sum;
}

}  // namespace

TEST_CASE("case: without overlap a toy step is compute plus all communication", "[cases]") {
    const json result = toy("false", any_engine());
    // 4 * (1 + 2) ms of compute, then 4 all-reduces of 2 * 3/4 * 100 MB / 50 GB/s = 3 ms.
    CHECK(result.at("step_time_s").get<double>() == Approx(24e-3).epsilon(1e-9));
    CHECK(result.at("gpu_idle_fraction").at("mean").get<double>() == Approx(0.5).epsilon(1e-9));
    CHECK(result.at("time_s").at("compute").get<double>() == Approx(12e-3).epsilon(1e-9));
    CHECK(result.at("time_s").at("exposed_dp").get<double>() == Approx(12e-3).epsilon(1e-9));
    CHECK(sum_of(result.at("time_s")) == Approx(24e-3).epsilon(1e-9));
}

TEST_CASE("case: with overlap a toy step ends six milliseconds after its compute", "[cases]") {
    const json result = toy("true", any_engine());
    // The first gradients are ready at 4 + 2 ms; four all-reduces of 3 ms follow back to back.
    CHECK(result.at("step_time_s").get<double>() == Approx(18e-3).epsilon(1e-9));
    CHECK(result.at("gpu_idle_fraction").at("mean").get<double>() == Approx(1.0 / 3).epsilon(1e-9));
    CHECK(result.at("time_s").at("exposed_dp").get<double>() == Approx(6e-3).epsilon(1e-9));
    CHECK(sum_of(result.at("time_s")) == Approx(18e-3).epsilon(1e-9));
    REQUIRE(result.at("collectives").size() >= 1);
    const json& gradients = result.at("collectives").at(0);
    CHECK(gradients.at("bytes") == 100'000'000);
    CHECK(gradients.at("algorithm") == "ring");
    CHECK(gradients.at("count") == 4);
    CHECK(gradients.at("time_s").get<double>() == Approx(3e-3).epsilon(1e-9));
}

TEST_CASE("case: shipped jobs run on shipped machines, their time accounted to the last bit", "[cases]") {
    const auto workload = GENERATE(as<std::string>{}, "resnet50-ddp", "bert-large-ddp", "gpt2-xl-ddp");
    const auto topology = GENERATE(as<std::string>{}, "dgx-a100", "dgx-h100");
    CAPTURE(workload, topology);
    const json result = run_json({"run", topology, workload, "--set", "nodes=2"});
    const double step = result.at("step_time_s").get<double>();
    CHECK(step > 0);
    CHECK(sum_of(result.at("time_s")) == Approx(step).epsilon(1e-9));
    CHECK(result.at("gpu_idle_fraction").at("mean").get<double>() ==
          Approx(1 - result.at("time_s").at("compute").get<double>() / step).epsilon(1e-9));
    CHECK(result.at("ranks") == 16);
    for (const auto& link : result.at("links")) {
        CHECK(link.at("utilization").get<double>() <= 1 + 1e-9);
    }
}

TEST_CASE("case: a workload for more GPUs than there are says which side to change", "[cases]") {
    const auto outcome = run_command({"run", "single-switch", "toy-ddp", "--set", "gpus=32", "--set", "ranks=64"});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("64") && Catch::Contains("32") && Catch::Contains("gpus"));
}
