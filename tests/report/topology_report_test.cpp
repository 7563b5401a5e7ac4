#include "sim/report/topology_report.h"

#include <sstream>

#include "hand_made.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace lockstep::report {

using namespace lockstep::literals;
using Json = nlohmann::json;

namespace {

fabric::Summary summary_of(const fabric::Fabric& fabric) {
    fabric::Summary summary;
    summary.nodes = 4;
    summary.gpus = 4;
    summary.links = 4;
    summary.devices = {{fabric::VertexKind::gpu, "H100", 4, true}, {fabric::VertexKind::switch_, "", 1, false}};
    summary.link_groups = {{fabric.link(LinkId{0}), fabric::VertexKind::gpu, fabric::VertexKind::switch_, 4}};
    summary.scale_out_per_gpu = {50_GBps, 50_GBps};
    fabric::SwitchTier tier;
    tier.switches = {fabric.find("switch0").value()};
    tier.down = 200_GBps;
    summary.tiers = {tier};
    summary.bisection = {2, 2, 100_GBps, ""};
    return summary;
}

}  // namespace

TEST_CASE("write_text: a topology shows devices, links, what a GPU can send, and switches", "[report][golden]") {
    const auto fabric = hand_made::star(4);
    const auto summary = summary_of(fabric);
    std::ostringstream out;
    write_text(out, TopologyReport{fabric, summary});
    CHECK(out.str() == R"(star: 4 nodes, 4 GPUs, 4 links, routing static

Devices         count
  gpu     H100      4  in nodes
  switch  -         1  in the fabric

Links                 between       count  bandwidth  of line rate  latency
  scale-out  generic  gpu - switch      4    50 GB/s       50 GB/s     1 us

What a GPU can send at once, one direction
  to its island         -
  out of its node       50 GB/s
  across the bisection  50 GB/s, 100 GB/s for 2 GPUs to 2

Switches of the fabric  switches      down  up  oversubscription
  tier 1                       1  200 GB/s   -                 -
)");
}

TEST_CASE("write_text: switches that are cabled sideways show it, and what it leaves of the bandwidth from below",
          "[report]") {
    const auto fabric = hand_made::star(4);
    auto summary = summary_of(fabric);
    summary.tiers.front().across = 100_GBps;  // 200 from below over 100
    std::ostringstream out;
    write_text(out, TopologyReport{fabric, summary});
    CHECK_THAT(out.str(), Catch::Contains("down  up    across  oversubscription\n") &&
                              Catch::Contains("200 GB/s   -  100 GB/s        2:1 across\n"));
}

TEST_CASE("write_text: a bandwidth that some GPUs do not have starts at 0", "[report]") {
    const auto fabric = hand_made::star(4);
    auto summary = summary_of(fabric);
    summary.scale_out_per_gpu = {Bandwidth{}, 50_GBps};
    std::ostringstream out;
    write_text(out, TopologyReport{fabric, summary});
    CHECK_THAT(out.str(), Catch::Contains("  out of its node       0 to 50 GB/s\n"));
}

TEST_CASE("write_json: a topology carries its summary", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto summary = summary_of(fabric);
    const std::vector<ParameterInForce> parameters{{"gpus", "4"}};
    std::ostringstream out;
    write_json(out, TopologyReport{fabric, summary, parameters});
    const Json json = Json::parse(out.str());
    CHECK(json["schema"] == "lockstep.topology/1");
    CHECK(json["gpus"] == 4);
    CHECK(json["parameters"]["gpus"] == "4");
    CHECK(json["devices"][0]["device"] == "H100");
    CHECK(json["link_groups"][0]["bandwidth_Bps"] == 50e9);
    CHECK(json["bisection"]["bandwidth_Bps"] == 100e9);
    CHECK(json["switch_tiers"][0]["oversubscription"].is_null());
}

TEST_CASE("write_text: findings are counted, and none is said to be none", "[report][golden]") {
    const auto fabric = hand_made::star(2);
    std::ostringstream out;
    write_text(out, CheckReport{fabric});
    CHECK(out.str() == "star: nothing looks wrong\n");

    const std::vector<fabric::Finding> findings{
        {fabric::Severity::error,
         fabric::Concern::gpu_without_link,
         "1 GPU without any link: gpu1",
         {fabric.gpus()[1]}},
        {fabric::Severity::note, fabric::Concern::oversubscription, "tier 1 is oversubscribed 2:1", {}}};
    std::ostringstream found;
    write_text(found, CheckReport{fabric, findings});
    CHECK(found.str() == R"(error [gpu-without-link]: 1 GPU without any link: gpu1
note [oversubscription]: tier 1 is oversubscribed 2:1
star: 1 error, 0 warnings, 1 note
)");
    std::ostringstream json_text;
    write_json(json_text, CheckReport{fabric, findings});
    const Json json = Json::parse(json_text.str());
    CHECK(json["schema"] == "lockstep.check/1");
    CHECK(json["errors"] == 1);
    CHECK(json["findings"][0]["vertices"] == Json({"gpu1"}));
}

}  // namespace lockstep::report
