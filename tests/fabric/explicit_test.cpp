#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

#include "sim/fabric/route.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

/// The one link between two vertices.
const Link& link_between(const Fabric& fabric, std::string_view from, std::string_view to) {
    const std::vector<LinkId> links = links_between(fabric, from, to);
    REQUIRE(links.size() == 1);
    return fabric.link(links.front());
}

}  // namespace

TEST_CASE("explicit links: cables between the GPUs of one node are one scale-up link", "[fabric]") {
    // 8 x 25 GB/s x 0.8 = 160 GB/s
    SECTION("single vertices") {
        const Fabric fabric = load_text(R"(
vertices: [{name: g, kind: gpu, count: 2, node: m0}]
links: [{between: [g0, g1], model: NVLink3, cables: 8}]
)");
        const Link& link = link_between(fabric, "g0", "g1");
        CHECK(link.tier == Tier::scale_up);
        CHECK(link.bandwidth.value == Approx(160e9));
        Router router(fabric, RoutingPolicy::static_, 1);
        CHECK_NOTHROW(router.route(fabric.gpus()[0], fabric.gpus()[1], 0, {}));
    }
    SECTION("added to a stamped node") {
        const Fabric fabric = load_text(R"(
node: {count: 2, gpus: {count: 2}}
links: [{between: [node0.gpu0, node0.gpu1], model: NVLink3, cables: 8},
        {between: [node0.gpu0, node1.gpu0], model: NVLink3, cables: 8}]
)");
        const Link& link = link_between(fabric, "node0.gpu0", "node0.gpu1");
        CHECK(link.tier == Tier::scale_up);
        CHECK(link.bandwidth.value == Approx(160e9));
        CHECK(links_between(fabric, "node0.gpu0", "node1.gpu0").size() == 8);
    }
}

TEST_CASE("explicit links: inside a node the tier follows from the kind of link and its ends", "[fabric]") {
    const Fabric fabric = load_text(R"(
vertices:
  - {name: g, kind: gpu, count: 2, node: m}
  - {name: nvs, kind: switch, model: NVSwitch2, node: m}
  - {name: pcie, kind: switch, model: PCIe-switch, node: m}
  - {name: h, kind: host, node: m}
  - {name: nic, kind: nic, model: ConnectX-6, node: m}
  - {name: leaf, kind: switch, model: QM8700}
links:
  - {between: ["g[0-1]", nvs], model: NVLink3, cables: 8}
  - {between: ["g[0-1]", pcie], model: PCIe4-x16}
  - {between: [g0, h], model: NVLink-C2C}
  - {between: [pcie, h], bandwidth: 32 GB/s, latency: 0 ns}
  - {between: [pcie, nic], model: PCIe4-x16}
  - {between: [nic, leaf], model: HDR}
)");
    CHECK(link_between(fabric, "g0", "nvs").tier == Tier::scale_up);
    CHECK(link_between(fabric, "g0", "nvs").cables == 8);
    CHECK(link_between(fabric, "g0", "pcie").tier == Tier::host);
    CHECK(link_between(fabric, "g0", "h").tier == Tier::host);
    CHECK(link_between(fabric, "pcie", "h").tier == Tier::host);
    CHECK(link_between(fabric, "pcie", "nic").tier == Tier::host);
    CHECK(link_between(fabric, "nic", "leaf").tier == Tier::scale_out);
}

TEST_CASE("explicit links: what a file says of tier and striping stands", "[fabric]") {
    const Fabric fabric = load_text(R"(
vertices: [{name: g, kind: gpu, count: 3, node: m}]
links:
  - {between: [g0, g1], model: NVLink3, cables: 2, striped: false}
  - {between: [g0, g2], model: NVLink3, cables: 2, tier: scale-out}
)");
    REQUIRE(links_between(fabric, "g0", "g1").size() == 2);
    CHECK(fabric.link(links_between(fabric, "g0", "g1").front()).tier == Tier::scale_up);
    CHECK(fabric.link(links_between(fabric, "g0", "g2").front()).tier == Tier::scale_out);
    Router router(fabric, RoutingPolicy::static_, 1);
    CHECK_THROWS_WITH(router.route(fabric.gpus()[0], fabric.gpus()[2], 0, {}),
                      Catch::StartsWith("no path from g0 to g2: the links between them inside their machine have tier "
                                        "scale-out"));
}

TEST_CASE("links of an island: PCIe to a switch or host is no scale-up link", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 2}
  islands:
    - {kind: pcie-tree, gpus: 0, hosts: 1, switches: 1, link: PCIe4-x16, uplink: PCIe4-x16}
    - kind: links
      links:
        - {between: [gpu1, pcie0], model: PCIe4-x16}
        - {between: [gpu0, gpu1], model: NVLink3}
)");
    CHECK(link_between(fabric, "node0.gpu1", "node0.pcie0").tier == Tier::host);
    CHECK(link_between(fabric, "node0.gpu0", "node0.gpu1").tier == Tier::scale_up);
}

TEST_CASE("explicit links: a switch has a port for every cable", "[fabric][error]") {
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 4}
  - {name: sw, kind: switch, count: 2, model: QM8700}
links:
  - {between: ["gpu[0-3]", sw0], model: HDR}
  - {between: [sw0, sw1], model: HDR, cables: 37}
)") == "t.yaml:6:5: links[1]: sw0 needs 41 ports for its links, but QM8700 has 40");
    // Links added to what a fabric made count with it: 40 endpoints and one more.
    CHECK(load_error(R"(node: {count: 40, gpus: {count: 1}}
fabric: {kind: single-switch, switch: QM8700, link: HDR}
vertices: [{name: g, kind: gpu}]
links: [{between: [g, switch0], model: HDR}]
)") == "t.yaml:4:9: links[0]: switch0 needs 41 ports for its links, but QM8700 has 40");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 3}
  islands:
    - {kind: switched, gpus: 0-1, switch: {ports: 36}, link: {model: NVLink3, cables: 12}}
    - kind: links
      links: [{between: [gpu2, switch0], model: NVLink3, cables: 13}]
)") == "t.yaml:7:15: node.islands[1].links[0]: node0.switch0 needs 37 ports for its links, but the switch has 36");
}

TEST_CASE("explicit links: links faster than a port or a NIC are refused", "[fabric][error]") {
    CHECK(load_error(R"(vertices:
  - {name: g, kind: gpu, count: 2}
  - {name: sw, kind: switch, model: QM8700}
links: [{between: ["g[0-1]", sw], model: XDR}]
)") == "t.yaml:4:9: links[0]: a cable of 100 GB/s is faster than a port of QM8700 (25 GB/s)");
    const std::string nic = R"(vertices:
  - {name: g, kind: gpu, node: m}
  - {name: n, kind: nic, model: ConnectX-5, node: m}
  - {name: sw, kind: switch, count: 2}
links:
  - {between: [g, n], model: PCIe4-x16}
)";
    CHECK(load_error(nic + "  - {between: [n, sw0], model: HDR}\n") ==
          "t.yaml:7:5: links[1]: a link of 25 GB/s is faster than ConnectX-5 (12.5 GB/s)");
    CHECK(load_error(nic + "  - {between: [n, sw0], model: EDR}\n  - {between: [n, sw1], model: EDR}\n") ==
          "t.yaml:8:5: links[2]: links of n of 25 GB/s in all are faster than ConnectX-5 (12.5 GB/s)");
    CHECK(load_error(nic + "  - {between: [n, sw0], model: EDR}\n").empty());
}
