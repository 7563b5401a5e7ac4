#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

Link link_between(const Fabric& fabric, std::string_view from, std::string_view to) {
    const auto links = links_between(fabric, from, to);
    REQUIRE(links.size() == 1);
    return fabric.link(links.front());
}

}  // namespace

TEST_CASE("link: line rate, efficiency and cables are kept apart", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 2}
  islands:
    - {kind: mesh, link: {model: NVLink4, bandwidth: 30 GB/s, efficiency: 0.5, latency: 700 ns, cables: 4}}
)");
    const Link link = link_between(fabric, "node0.gpu0", "node0.gpu1");
    CHECK(link.line_rate.value == 30e9);
    CHECK(link.efficiency == 0.5);
    CHECK(link.cables == 4);
    CHECK(link.bandwidth.value == Approx(60e9));  // 4 x 30 GB/s x 0.5
    CHECK(link.latency.value == 700e-9);
    CHECK(link.kind == LinkKind::nvlink);
    CHECK(link.tier == Tier::scale_up);
}

TEST_CASE("link: crossing a device costs its latency once on every path", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 2
  gpus: {count: 1}
  nics: {count: 1, latency: 300 ns, on: gpu, link: {bandwidth: 50 GB/s, latency: 100 ns}}
fabric: {kind: single-switch, switch: {latency: 200 ns}, link: {bandwidth: 50 GB/s, latency: 40 ns}}
)");
    // GPU to GPU: 2 x 100 (bus) + 2 x 300 (NICs) + 2 x 40 (cables) + 200 (switch) = 1080 ns
    const Seconds half = link_between(fabric, "node0.gpu0", "node0.nic0").latency +
                         link_between(fabric, "node0.nic0", "switch0").latency;
    CHECK(2 * half.value == Approx(1080e-9));
    CHECK(link_between(fabric, "switch0", "node1.nic0").latency ==
          link_between(fabric, "node1.nic0", "switch0").latency);
}

TEST_CASE("link: cables between machines are parallel, those inside are striped, and either may be said", "[fabric]") {
    const Fabric fabric = load_text(R"(
vertices:
  - {name: a, kind: gpu}
  - {name: b, kind: gpu}
  - {name: c, kind: gpu}
links:
  - {between: [a, b], bandwidth: 100 Gb/s, latency: 1 us, cables: 4}
  - {between: [b, c], bandwidth: 100 Gb/s, latency: 1 us, cables: 4, striped: true}
  - {between: [a, c], bandwidth: 100 Gb/s, latency: 1 us, cables: 4, tier: scale-up}
)");
    REQUIRE(links_between(fabric, "a", "b").size() == 4);
    CHECK(fabric.link(links_between(fabric, "a", "b")[0]).bandwidth.value == 12.5e9);
    CHECK(link_between(fabric, "b", "c").bandwidth.value == 50e9);
    CHECK(link_between(fabric, "a", "c").bandwidth.value == 50e9);
    CHECK(link_between(fabric, "a", "c").tier == Tier::scale_up);
}

// Four parallel cables of 100 Gb/s of which a simulator saw only the last.
TEST_CASE("explicit links: four parallel cables of 100 Gb/s are 400 Gb/s in all", "[fabric][case]") {
    const Fabric fabric = load_text(R"(
vertices:
  - {name: gpu, kind: gpu, count: 8}
  - {name: switch, kind: switch, count: 2}
links:
  - {between: ["gpu[0-3]", switch0], bandwidth: 100 Gb/s, latency: 1 us}
  - {between: ["gpu[4-7]", switch1], bandwidth: 100 Gb/s, latency: 1 us}
  - {between: [switch0, switch1], bandwidth: 100 Gb/s, latency: 1 us, cables: 4}
)");
    const auto cables = links_between(fabric, "switch0", "switch1");
    REQUIRE(cables.size() == 4);
    double sum = 0;
    for (const LinkId cable : cables) {
        CHECK(fabric.link(cable).bandwidth.value == 12.5e9);
        sum += fabric.link(cable).bandwidth.value;
    }
    CHECK(sum == 50e9);
}

// Four NVSwitch planes of which traffic used one: 125 instead of 450 GB/s.
TEST_CASE("switched island: a GPU has all its cables, divided over the planes as wired", "[fabric][case]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 8, model: H100-SXM}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink4, cables: 18, efficiency: 1}, per_plane: [5, 4, 4, 5]}
)");
    REQUIRE(fabric.vertex_count() == 12);
    for (const VertexId gpu : fabric.gpus()) {
        const auto links = fabric.links_out_of(gpu);
        REQUIRE(links.size() == 4);
        double sum = 0;
        std::vector<std::uint32_t> cables;
        for (const LinkId link : links) {
            sum += fabric.link(link).bandwidth.value;
            cables.push_back(fabric.link(link).cables);
            CHECK(fabric.vertex(fabric.to(link)).reduces);
        }
        CHECK(sum == 450e9);
        CHECK(cables == std::vector<std::uint32_t>{5, 4, 4, 5});
    }
}

TEST_CASE("switched island: cables left over go to the first planes", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 2}
  islands:
    - {kind: switched, planes: 4, switch: {reduces: true}, link: {model: NVLink4, cables: 18}}
)");
    std::vector<std::uint32_t> cables;
    for (const LinkId link : fabric.links_out_of(fabric.gpus()[0])) {
        cables.push_back(fabric.link(link).cables);
    }
    CHECK(cables == std::vector<std::uint32_t>{5, 5, 4, 4});
}

TEST_CASE("switched island: what a device can may be overridden in place", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 2, model: H100-SXM, fp16_peak: 500 TFLOP/s}
  islands:
    - {kind: switched, switch: {model: NVSwitch3, reduces: false}, link: NVLink4}
)");
    CHECK_FALSE(fabric.vertex(fabric.find("node0.switch0").value()).reduces);
    CHECK(fabric.vertex(fabric.find("node0.switch0").value()).device == "NVSwitch3");
    CHECK(fabric.gpu_model(fabric.gpus()[0]).fp16_peak->value == 500e12);
    CHECK(fabric.gpu_model(fabric.gpus()[0]).fp8_peak->value == 1979e12);
}

TEST_CASE("mesh island: links every pair once", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 2
  gpus: {count: 8}
  islands:
    - {kind: mesh, gpus: [0-3], link: InfinityFabric4}
    - {kind: mesh, gpus: [4, 5, 6-7], link: InfinityFabric4}
)");
    // two quads of 6 links each, two nodes
    CHECK(fabric.link_count() == 2 * 2 * 2 * 6);
    CHECK(links_between(fabric, "node1.gpu4", "node1.gpu7").size() == 1);
    CHECK(links_between(fabric, "node1.gpu3", "node1.gpu4").empty());
}

TEST_CASE("links island: a list and a matrix say the same", "[fabric]") {
    const Fabric listed = load_text(R"(
node:
  count: 1
  gpus: {count: 3}
  islands:
    - kind: links
      link: NVLink2
      count: 2
      links:
        - {between: [gpu0, gpu1], cables: 2}
        - {between: [gpu1, gpu2]}
)");
    const Fabric matrix = load_text(R"(
node:
  count: 1
  gpus: {count: 3}
  islands:
    - kind: links
      link: NVLink2
      count: 2
      matrix: [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
)");
    for (const Fabric* const fabric : {&listed, &matrix}) {
        CHECK(fabric->link_count() == 4);
        CHECK(link_between(*fabric, "node0.gpu0", "node0.gpu1").bandwidth.value == Approx(2 * 25e9 * 0.8));
        CHECK(link_between(*fabric, "node0.gpu1", "node0.gpu2").bandwidth.value == Approx(25e9 * 0.8));
    }
}

TEST_CASE("pcie-tree island: GPUs and NICs spread evenly over switches, switches over hosts", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 8}
  islands:
    - kind: pcie-tree
      hosts: {count: 2, model: x86-socket}
      switches: {count: 4, model: PCIe-switch}
      link: PCIe5-x16
      uplink: PCIe5-x16
      host_link: {bandwidth: 20 GB/s, latency: 1 us}
  nics:
    - {count: 4, model: ConnectX-7, on: pcie-switch, link: PCIe5-x16}
    - {count: 2, model: ConnectX-6, on: host, link: PCIe4-x16}
)");
    CHECK(links_between(fabric, "node0.gpu1", "node0.pcie0").size() == 1);
    CHECK(links_between(fabric, "node0.gpu2", "node0.pcie1").size() == 1);
    CHECK(links_between(fabric, "node0.gpu7", "node0.pcie3").size() == 1);
    CHECK(links_between(fabric, "node0.pcie1", "node0.host0").size() == 1);
    CHECK(links_between(fabric, "node0.pcie2", "node0.host1").size() == 1);
    CHECK(links_between(fabric, "node0.host0", "node0.host1").size() == 1);
    CHECK(links_between(fabric, "node0.nic3", "node0.pcie3").size() == 1);
    CHECK(links_between(fabric, "node0.nic5", "node0.host1").size() == 1);
    CHECK(fabric.vertex(fabric.find("node0.nic5").value()).device == "ConnectX-6");
    CHECK(fabric.link_count() == 2 * (8 + 4 + 1 + 6));
    CHECK(link_between(fabric, "node0.gpu0", "node0.pcie0").tier == Tier::host);
}

TEST_CASE("node: several templates make one cluster", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  - {name: dense, count: 2, gpus: {count: 4, model: H100-SXM}}
  - {name: sparse, count: 1, gpus: [{count: 1, model: A100-SXM-80GB}, {count: 1, model: B200-SXM}]}
fabric: {kind: single-switch, switch: {}, link: NDR}
)");
    CHECK(fabric.node_count() == 3);
    CHECK(fabric.gpus().size() == 10);
    CHECK(fabric.gpus_of(NodeId{2}).size() == 2);
    CHECK(fabric.gpu_model(fabric.find("sparse2.gpu1").value()).name == "B200-SXM");
    CHECK(fabric.find("dense1.gpu3"));
}

// gpu10 before gpu2 makes a ring two to three times slower.
TEST_CASE("node: GPUs are counted in natural order", "[fabric][case]") {
    const Fabric one_node = load_text("node: {count: 1, gpus: {count: 12}}");
    const Fabric many = load_text(R"(
node: {count: 12, gpus: {count: 1}}
fabric: {kind: fat-tree, switch: {ports: 8}, link: NDR}
)");
    const Fabric listed = load_text("vertices: [{name: gpu, kind: gpu, count: 12}]");
    for (std::size_t i = 0; i < 12; ++i) {
        CHECK(one_node.vertex(one_node.gpus()[i]).name == "node0.gpu" + std::to_string(i));
        CHECK(many.vertex(many.gpus()[i]).name == "gpu" + std::to_string(i));
        CHECK(listed.vertex(listed.gpus()[i]).name == "gpu" + std::to_string(i));
    }
    // and neighbours hang on the same leaf: 4 to each of 3
    for (std::size_t i = 0; i < 12; ++i) {
        CHECK(links_between(many, "gpu" + std::to_string(i), "leaf" + std::to_string(i / 4)).size() == 1);
    }
}

TEST_CASE("explicit vertices: may stand beside nodes, and say which machine they sit in", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 2
  gpus: {count: 2}
  nics: {count: 1, on: gpu, link: PCIe5-x16}
vertices:
  - {name: spare, kind: gpu, count: 2, node: attic, relay: true}
  - {name: hub, kind: switch, model: QM9700}
  - {name: root, kind: host, model: x86-socket, node: attic}
  - {name: port, kind: nic, model: ConnectX-7, node: attic}
links:
  - {between: ["node[0-1].nic0", hub], model: NDR}
  - {between: [hub, port], model: NDR}
  - {between: [port, root], model: PCIe5-x16, tier: host}
  - {between: ["spare[0-1]", root], model: PCIe5-x16, tier: host}
)");
    CHECK(fabric.node_count() == 3);
    CHECK(fabric.gpus().size() == 6);
    CHECK(fabric.vertices_of(NodeId{2}).size() == 4);
    CHECK(fabric.vertex(fabric.gpus()[5]).name == "spare1");
    CHECK(fabric.vertex(fabric.gpus()[5]).relays);
    CHECK_FALSE(fabric.vertex(fabric.gpus()[0]).relays);
    CHECK(fabric.links_out_of(fabric.find("hub").value()).size() == 3);
    CHECK(fabric.vertex(fabric.find("hub").value()).device == "QM9700");
}

TEST_CASE("topology: is called as its file and routes as it says", "[fabric]") {
    CHECK(load_text("node: {count: 1, gpus: {count: 2}}").name() == "t");
    CHECK(load_text("node: {count: 1, gpus: {count: 2}}").routing() == RoutingPolicy::static_);
    CHECK(load_text("routing: spray\nnode: {count: 1, gpus: {count: 2}}").routing() == RoutingPolicy::spray);
}

TEST_CASE("topology: loading twice gives the same fabric", "[fabric]") {
    const Fabric one = load_shipped("dgx-h100");
    const Fabric two = load_shipped("dgx-h100");
    REQUIRE(one.vertex_count() == two.vertex_count());
    REQUIRE(one.link_count() == two.link_count());
    for (std::size_t i = 0; i < one.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        CHECK((one.from(link) == two.from(link) && one.to(link) == two.to(link) &&
               one.link(link).bandwidth == two.link(link).bandwidth));
    }
}
