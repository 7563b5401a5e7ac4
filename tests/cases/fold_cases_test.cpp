#include <array>
#include <cmath>
#include <string>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>

using lockstep::test::run_json;
using nlohmann::json;

// Shipped workloads on shipped topologies: --no-fold changes nothing but what was simulated.

namespace {

struct Job {
    std::string topology;
    std::string workload;
    std::vector<std::string> settings = {};
};

std::vector<std::string> arguments(const Job& job) {
    std::vector<std::string> all{"run", job.topology, job.workload};
    for (const std::string& setting : job.settings) {
        all.insert(all.end(), {"--set", setting});
    }
    return all;
}

}  // namespace

TEST_CASE("case: a step is the same with and without folding", "[cases]") {
    const auto job = GENERATE(values<Job>({{"dgx-h100", "toy-ddp", {"nodes=2", "layers=2"}},
                                           {"single-switch", "toy-ddp", {"gpus=5"}},
                                           {"single-switch", "toy-tasks", {"gpus=8"}},
                                           {"dgx-a100", "toy-tasks", {"nodes=2"}},
                                           {"torus-3d", "toy-ddp", {"layers=2", "ranks=16", "algorithm=direct"}},
                                           {"dragonfly", "toy-ddp", {"layers=2", "ranks=16", "algorithm=direct"}}}));
    CAPTURE(job.topology, job.workload);
    auto plain_arguments = arguments(job);
    const json folded = run_json(plain_arguments);
    plain_arguments.push_back("--no-fold");
    const json plain = run_json(plain_arguments);
    const double step = plain.at("step_time_s").get<double>();
    CHECK(folded.at("step_time_s").get<double>() == Approx(step).epsilon(1e-9));
    for (const auto& [part, time] : plain.at("time_s").items()) {
        CAPTURE(part);
        CHECK(folded.at("time_s").at(part).get<double>() == Approx(time.get<double>()).margin(1e-9 * step));
    }
    REQUIRE(folded.at("links").size() == plain.at("links").size());
    for (std::size_t at = 0; at < plain.at("links").size(); ++at) {
        CHECK(folded.at("links")[at].at("from") == plain.at("links")[at].at("from"));
        CHECK(folded.at("links")[at].at("bytes").get<double>() ==
              Approx(plain.at("links")[at].at("bytes").get<double>()).epsilon(1e-9));
    }
    CHECK(plain.at("simulator").at("fold").is_null());
    CHECK(folded.at("simulator").at("fold").at("nodes").get<std::size_t>() >=
          folded.at("simulator").at("fold").at("classes").get<std::size_t>());
    CHECK(folded.at("simulator").at("messages") == plain.at("simulator").at("messages"));
}
