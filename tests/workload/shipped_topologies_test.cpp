#include <string>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/fabric/load_fabric.h"
#include "sim/workload/load_workload.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

TEST_CASE("shipped workloads: each loads on every shipped topology whose GPUs are known", "[workload][shipped]") {
    for (const std::string& topology : data().names("topologies")) {
        const fabric::Fabric fabric =
            fabric::load_fabric(YamlFile::load(data().resolve("topologies", topology)), data());
        for (const std::string& name : data().names("workloads")) {
            CAPTURE(topology, name);
            const fabric::GpuModel& model = fabric.gpu_model(fabric.gpus().front());
            if (name == "toy-ddp" || (model.fp16_peak && model.memory_bandwidth)) {
                CHECK(load_shipped(name, fabric).ranks == fabric.gpus().size());
            } else {
                // The generic GPUs of fabrics that are no machine.
                CHECK_THROWS_WITH(load_shipped(name, fabric), Catch::Contains("has no `memory_bandwidth`") ||
                                                                  Catch::Contains("has no `fp16_peak`"));
            }
        }
    }
}
