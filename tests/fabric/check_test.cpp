#include "sim/fabric/check.h"

#include <algorithm>

#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

/// `error disconnected-gpus: message`, one for each finding.
std::vector<std::string> findings(const Fabric& fabric) {
    std::vector<std::string> lines;
    for (const Finding& finding : check(fabric)) {
        CHECK_FALSE(finding.vertices.empty());
        lines.push_back(std::string(name_of(finding.severity)) + " " + std::string(name_of(finding.concern)) + ": " +
                        finding.message);
    }
    return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("check: finds nothing in a sound fabric", "[fabric]") {
    CHECK(findings(load_shipped("dgx-h100")).empty());
    CHECK(findings(load_shipped("torus-3d")).empty());
    CHECK(findings(load_shipped("torus-3d", {{"wraparound", "false"}})).empty());  // its border has fewer links
    CHECK(findings(load_text("node: {count: 1, gpus: {count: 1}}")).empty());
}

TEST_CASE("check: names GPUs without a link", "[fabric]") {
    CHECK(findings(load_text(R"(
vertices:
  - {name: gpu, kind: gpu, count: 4}
  - {name: switch, kind: switch}
links:
  - {between: ["gpu[0-2]", switch], model: NDR}
)")) == Lines{"error gpu-without-link: 1 GPU without any link: gpu3; give them an island, NICs or a `fabric`"});
}

TEST_CASE("check: names the GPUs of parts that nothing joins, and the side to change", "[fabric]") {
    CHECK(findings(load_text(R"(
node:
  count: 2
  gpus: {count: 2}
  islands: [{kind: mesh, link: NVLink4}]
)")) == Lines{"error disconnected-gpus: the fabric falls into 2 parts that no link joins: node1.gpu0, node1.gpu1 "
              "cannot reach "
              "node0.gpu0, node0.gpu1; join the parts with a `fabric` or `links`, or keep each job inside one"});
}

TEST_CASE("check: counts pairs that only GPUs without relaying join", "[fabric]") {
    CHECK(
        findings(load_shipped("dgx-1-v100")) ==
        Lines{"warning unreachable-pairs: 12 pairs of GPUs (such as node0.gpu0 and node0.gpu5) are joined only through "
              "other GPUs, which do not relay; say `relay: true` for them, or add links"});
}

TEST_CASE("check: GPUs whose node has NICs only behind other GPUs are an error", "[fabric]") {
    const std::string node = R"(
node:
  count: 2
  gpus: {count: 4, model: H100-SXM}
  islands: [{kind: switched, switch: NVSwitch3, link: NVLink4}]
  nics: {count: 2, model: ConnectX-7, on: gpu, link: PCIe5-x16}
)";
    CHECK(
        findings(load_text(node + "fabric: {kind: single-switch, switch: QM9700, link: NDR}\n")) ==
        Lines{"error stranded-gpus: 4 GPUs cannot reach other nodes: node0.gpu1, node0.gpu3, node1.gpu1, node1.gpu3; "
              "the links out of their nodes are behind other GPUs, which do not relay: give every GPU a NIC, hang the "
              "NICs `on: pcie-switch` or `on: host`, or say `relay: true`"});
    // A rack joins its nodes by scale-up links: nobody is stranded.
    CHECK(findings(load_text(R"(
vertices:
  - {name: a, kind: gpu, count: 2, node: a}
  - {name: b, kind: gpu, count: 2, node: b}
  - {name: s, kind: switch, model: NVSwitch4}
links:
  - {between: ["a[0-1]", s], model: NVLink5, cables: 2, tier: scale-up}
  - {between: ["b[0-1]", s], model: NVLink5, cables: 2, tier: scale-up}
)"))
              .empty());
}

TEST_CASE("check: names NICs that lead nowhere and vertices without links", "[fabric]") {
    CHECK(findings(load_text(R"(
node:
  count: 1
  gpus: {count: 2}
  islands: [{kind: mesh, link: NVLink4}]
  nics: {count: 2, model: ConnectX-7, on: gpu, link: PCIe5-x16}
vertices:
  - {name: spare, kind: switch}
)")) == Lines{"warning isolated-vertex: 1 vertex without any link: spare; link them or leave them out",
              "warning idle-nic: 2 NICs without a link out of the node: node0.nic0, node0.nic1; connect them with a "
              "`fabric` or "
              "`links`, or leave them out"});
}

TEST_CASE("check: tells the oversubscription of a tier of switches", "[fabric]") {
    CHECK(findings(load_shipped("fat-tree", {{"gpus", "32"}, {"radix", "12"}, {"oversubscription", "2"}})) ==
          Lines{"note oversubscription: switches of tier 1 are oversubscribed 2:1 at leaf0 (1.6 TB/s down, 800 GB/s up "
                "in the "
                "whole tier)"});
}

TEST_CASE("check: tells an oversubscription that whole cables do not make", "[fabric]") {
    const auto rounding = [](const Fabric& fabric) {
        Lines lines = findings(fabric);
        std::erase_if(lines, [](const std::string& line) { return line.find("rounded-") == std::string::npos; });
        return lines;
    };
    // 4 endpoints on a leaf at 8:1 are half an uplink.
    const std::string tree =
        "node: {count: 12, gpus: {count: 1}}\nfabric: {kind: leaf-spine, down: 4, link: NDR, switch: "
        "{ports: 64}, oversubscription: ";
    CHECK(rounding(load_text(tree + "8}")) ==
          Lines{"note rounded-oversubscription: 8:1 asked, 4:1 built: leaf0 has 4 cables down and gets 1 up, where 0.5 "
                "would be exact"});
    CHECK(rounding(load_text(tree + "2}")).empty());
    CHECK(rounding(load_text(tree + "1}")).empty());
    // Pods of 6 leaves: radix 8 with 2 cables to the cores, where 6 / 4 = 1.5 would be exact.
    const Lines core = rounding(load_text(R"(
node: {count: 40, gpus: {count: 1}}
fabric: {kind: fat-tree, levels: 3, link: NDR, switch: {ports: 8}, core_oversubscription: 4}
)"));
    REQUIRE(core.size() == 1);
    CHECK_THAT(core.front(), Catch::Contains("4:1 asked") && Catch::Contains("spine0"));
}

TEST_CASE("check: finds parallel links that differ", "[fabric]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a"});
    const auto b = builder.add({.name = "b"});
    builder.connect(a, b, {.bandwidth = Bandwidth{1e9}});
    builder.connect(a, b, {.bandwidth = Bandwidth{2e9}});
    CHECK(findings(builder.build()) == Lines{"warning mixed-bundle: 1 bundle of parallel links with different "
                                             "bandwidth or latency, such as between a and b"});
}

TEST_CASE("check: names nodes unlike the others and the first difference", "[fabric]") {
    CHECK(findings(load_text(R"(
node:
  - {count: 3, gpus: {count: 4, model: H100-SXM}}
  - {count: 1, gpus: {count: 3, model: H100-SXM}}
fabric: {kind: single-switch, switch: {}, link: NDR}
)")) == Lines{"warning unlike-nodes: 1 node of 4 unlike the others, such as that of node3.gpu0: 3 H100-SXM gpu where "
              "the others "
              "have 4"});
}

TEST_CASE("check: names a GPU whose cable is slower than its peers'", "[fabric]") {
    CHECK(findings(load_text(R"(
vertices:
  - {name: gpu, kind: gpu, count: 4}
  - {name: sw, kind: switch, model: QM8700}
links:
  - {between: ["gpu[0-2]", sw], model: HDR}
  - {between: [gpu3, sw], model: EDR}
)")) == Lines{"warning slow-cable: 1 cable is slower than those of most others on the same switch (such as sw): gpu3"});
}

TEST_CASE("check: tells NICs whose bus is slower than their network", "[fabric]") {
    CHECK(findings(load_text(R"(
node:
  count: 2
  gpus: {count: 1}
  nics: {count: 1, model: ConnectX-7, on: gpu, link: PCIe4-x16}
fabric: {kind: single-switch, switch: QM9700, link: NDR}
)")) == Lines{"note slow-nic-bus: 2 NICs with less bandwidth into the node than out of it: node0.nic0, node1.nic0"});
}
