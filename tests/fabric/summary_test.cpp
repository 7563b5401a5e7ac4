#include "sim/fabric/summary.h"

#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

TEST_CASE("summary: counts devices, links and bandwidths of a DGX pod", "[fabric]") {
    const Summary summary = summarize(load_shipped("dgx-h100", {{"nodes", "32"}}));
    CHECK(summary.nodes == 32);
    CHECK(summary.gpus == 256);
    REQUIRE(summary.devices.size() == 6);
    CHECK(summary.devices[0].kind == VertexKind::gpu);
    CHECK(summary.devices[0].device == "H100-SXM");
    CHECK(summary.devices[0].count == 256);
    const auto& fabric_switches = summary.devices[4];
    CHECK(fabric_switches.device == "QM9700");
    CHECK(fabric_switches.count == 12);
    CHECK_FALSE(fabric_switches.inside_nodes);
    std::size_t links = 0;
    for (const LinkGroup& group : summary.link_groups) {
        links += group.count;
    }
    CHECK(links == summary.links);
    // 18 x 25 GB/s x 0.82 and 400 Gb/s x 0.97
    CHECK(summary.scale_up_per_gpu.least.value == Approx(369e9));
    CHECK(summary.scale_up_per_gpu.most.value == Approx(369e9));
    CHECK(summary.scale_out_per_gpu.least.value == Approx(48.5e9));
    REQUIRE(summary.tiers.size() == 2);
    CHECK(summary.tiers[0].switches.size() == 8);
    CHECK(*summary.tiers[0].oversubscription == Approx(1));
    CHECK_FALSE(summary.tiers[1].oversubscription);
}

TEST_CASE("summary: a GPU without a way out of its node has nothing of the links out of it", "[fabric]") {
    const auto scale_out = [](const std::string& on, const std::string& relay) {
        return summarize(load_text("node:\n"
                                   "  count: 2\n"
                                   "  gpus: {count: 4, model: H100-SXM, relay: " +
                                   relay +
                                   "}\n"
                                   "  islands:\n"
                                   "    - {kind: switched, switch: NVSwitch3, link: NVLink4}\n"
                                   "    - {kind: pcie-tree, hosts: 1, link: PCIe5-x16}\n"
                                   "  nics: {count: 2, model: ConnectX-7, on: " +
                                   on +
                                   ", link: PCIe5-x16}\n"
                                   "fabric: {kind: single-switch, switch: QM9700, link: NDR}\n"))
            .scale_out_per_gpu;
    };
    // Two NICs of 400 Gb/s x 0.97, behind a host or relaying GPUs for all four.
    CHECK(scale_out("host", "false").least.value == Approx(24.25e9));
    CHECK(scale_out("host", "false").most.value == Approx(24.25e9));
    CHECK(scale_out("gpu", "true").least.value == Approx(24.25e9));
    // Without the tree only gpu0 and gpu2, which have a NIC each.
    const BandwidthRange range = summarize(load_text(R"(
node:
  count: 2
  gpus: {count: 4, model: H100-SXM}
  islands: [{kind: switched, switch: NVSwitch3, link: NVLink4}]
  nics: {count: 2, model: ConnectX-7, on: gpu, link: PCIe5-x16}
fabric: {kind: single-switch, switch: QM9700, link: NDR}
)"))
                                     .scale_out_per_gpu;
    CHECK(range.least.value == 0);
    CHECK(range.most.value == Approx(48.5e9));
}

TEST_CASE("bisection: half of the GPUs reach the other half at full rate in a fabric without oversubscription",
          "[fabric]") {
    struct Row {
        std::string_view gpus, radix, levels;
    };
    const auto [gpus, radix, levels] = GENERATE(Row{"8", "16", "auto"}, Row{"128", "16", "2"}, Row{"128", "8", "3"},
                                                Row{"54", "6", "3"}, Row{"16", "4", "3"});
    CAPTURE(gpus, radix);
    const Fabric fabric = load_shipped("fat-tree", {{"gpus", gpus}, {"radix", radix}, {"levels", levels}});
    const Bisection result = bisection(fabric, 1'000'000);
    REQUIRE(result.bandwidth);
    CHECK(result.bandwidth->value == static_cast<double>(result.first_half) * 50e9);
}

TEST_CASE("bisection: oversubscription divides it", "[fabric]") {
    // radix 12, 2:1: 8 GPUs and 4 uplinks on each leaf; 4 of 8 leaves on each side, 4 x 4 x 50 GB/s
    const Fabric fabric = load_shipped("fat-tree", {{"gpus", "64"}, {"radix", "12"}, {"oversubscription", "2"}});
    CHECK(bisection(fabric, 1000).bandwidth->value == 800e9);
}

TEST_CASE("bisection: a torus is cut twice across its first dimension", "[fabric]") {
    // 4 x 4 x 4: two cuts of 16 links of 90 GB/s; open: one
    CHECK(bisection(load_shipped("torus-3d"), 1000).bandwidth->value == 2 * 16 * 90e9);
    CHECK(bisection(load_shipped("torus-3d", {{"wraparound", "false"}}), 1000).bandwidth->value == 16 * 90e9);
}

TEST_CASE("bisection: NICs belong to the half of their GPUs", "[fabric]") {
    // One node of 8: 4 NICs on each side, 400 Gb/s x 0.97
    CHECK(bisection(load_shipped("dgx-h100", {{"nodes", "1"}}), 1000).bandwidth->value == Approx(4 * 48.5e9));
}

TEST_CASE("bisection: says why it was not worked out", "[fabric]") {
    CHECK(bisection(load_shipped("dgx-1-v100"), 1000).reason == "there are no scale-out links");
    CHECK(bisection(load_shipped("fat-tree"), 10).reason == "more than 10 links join the switches");
    CHECK(bisection(load_shipped("single-switch", {{"gpus", "1"}}), 10).reason == "there is only one GPU");
}
