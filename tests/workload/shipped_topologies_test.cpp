#include <string>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/fabric/load_fabric.h"
#include "sim/workload/load_workload.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

TEST_CASE("shipped workloads: each loads on every shipped topology", "[workload][shipped]") {
    for (const std::string& topology : data().names("topologies")) {
        const fabric::Fabric fabric =
            fabric::load_fabric(YamlFile::load(data().resolve("topologies", topology)), data());
        for (const std::string& name : data().names("workloads")) {
            CAPTURE(topology, name);
            // But for the one that spells out what each of eight does, all of them.
            CHECK(load_shipped(name, fabric).ranks == (name == "toy-tasks" ? 8 : fabric.gpus().size()));
        }
    }
}
