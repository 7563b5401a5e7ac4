#include <algorithm>
#include <set>
#include <vector>

#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/fabric/route.h"
#include "sim/fabric/summary.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

struct Counts {
    std::size_t leaf, spine, core, leaf_spine, spine_core;
    bool operator==(const Counts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << fmt::format("{} leaves, {} spines, {} cores, {} + {} cables", counts.leaf, counts.spine, counts.core,
                              counts.leaf_spine, counts.spine_core);
}

Counts counts_of(const Fabric& fabric) {
    return {count_named(fabric, "leaf"), count_named(fabric, "spine"), count_named(fabric, "core"),
            count_links(fabric, "leaf", "spine"), count_links(fabric, "spine", "core")};
}

/// Links of a switch towards vertices of a name that starts so.
std::size_t ports_to(const Fabric& fabric, VertexId id, std::string_view prefix) {
    std::size_t count = 0;
    for (const LinkId link : fabric.links_out_of(id)) {
        count += fabric.vertex(fabric.to(link)).name.starts_with(prefix) ? 1 : 0;
    }
    return count;
}

std::size_t most_links(const Fabric& fabric, std::string_view prefix) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        if (fabric.vertex(id).name.starts_with(prefix)) {
            most = std::max(most, fabric.links_out_of(id).size());
        }
    }
    return most;
}

}  // namespace

TEST_CASE("rail-optimized: DGX pods have the switches and cables of NVIDIA's component table", "[fabric]") {
    // Source: DGX SuperPOD reference architecture (B200), component counts by scalable unit of 32 nodes.
    struct Row {
        std::size_t nodes;
        Counts counts;
    };
    const auto [nodes, counts] = GENERATE(Row{32, {8, 4, 0, 256, 0}}, Row{64, {16, 8, 0, 512, 0}},
                                          Row{128, {32, 16, 0, 1024, 0}}, Row{256, {64, 32, 0, 2048, 0}},
                                          Row{512, {128, 128, 64, 4096, 4096}}, Row{1024, {256, 256, 128, 8192, 8192}});
    const std::string text = std::to_string(nodes);
    CAPTURE(text);
    const Fabric fabric = load_shipped("dgx-b200", {{"nodes", text}});
    CHECK(counts_of(fabric) == counts);
    CHECK(count_links(fabric, "node", "leaf") == nodes * 8);
    CHECK(most_links(fabric, "leaf") <= 64);
    CHECK(most_links(fabric, "spine") <= 64);
    CHECK(most_links(fabric, "core") <= 64);
}

TEST_CASE("rail-optimized: leaf r of a unit takes NIC r of its nodes", "[fabric]") {
    const Fabric fabric = load_shipped("dgx-h100", {{"nodes", "40"}});
    for (std::size_t node = 0; node < 40; ++node) {
        for (std::size_t rail = 0; rail < 8; ++rail) {
            CHECK(links_between(fabric, fmt::format("node{}.nic{}", node, rail),
                                fmt::format("leaf{}", node / 32 * 8 + rail))
                      .size() == 1);
        }
    }
}

TEST_CASE("rail-optimized: oversubscription takes uplinks away", "[fabric]") {
    // 32 down, 16 up on each of 16 leaves: 256 cables, 4 spines of 64 ports
    CHECK(counts_of(load_shipped("dgx-h100", {{"nodes", "64"}, {"oversubscription", "2"}})) ==
          Counts{16, 4, 0, 256, 0});
    // 32 / 3 rounds up to 11 uplinks
    CHECK(counts_of(load_shipped("dgx-h100", {{"nodes", "64"}, {"oversubscription", "3"}})).leaf_spine == 16 * 11);
}

TEST_CASE("rail-optimized: a node alone is cabled as one of many", "[fabric]") {
    const Fabric fabric = load_shipped("dgx-h100", {{"nodes", "1"}});
    CHECK(counts_of(fabric) == Counts{8, 1, 0, 8, 0});
}

TEST_CASE("fat-tree: a full tree of radix k has k^3/4 GPUs on 5k^2/4 switches, k^2/2 on 3k/2 with two levels",
          "[fabric]") {
    const std::uint32_t k = GENERATE(4U, 6U, 8U, 16U);
    CAPTURE(k);
    const std::string radix = std::to_string(k);
    const Fabric three = load_shipped("fat-tree", {{"radix", radix}, {"gpus", std::to_string(k * k * k / 4)}});
    CHECK(counts_of(three) == Counts{k * k / 2, k * k / 2, k * k / 4, k * k * k / 4, k * k * k / 4});
    for (const auto* const name : {"leaf", "spine", "core"}) {
        CHECK(most_links(three, name) == k);
    }
    const Fabric two = load_shipped("fat-tree", {{"radix", radix}, {"gpus", std::to_string(k * k / 2)}});
    CHECK(counts_of(two) == Counts{k, k / 2, 0, k * k / 2, 0});
    CHECK(most_links(two, "spine") == k);
}

TEST_CASE("fat-tree: on four levels there is room for k^4/8 GPUs, a number of cables that each level has", "[fabric]") {
    const std::uint32_t k = GENERATE(4U, 6U, 8U);
    CAPTURE(k);
    const std::uint32_t gpus = k * k * k * k / 8;
    const Fabric fabric = load_shipped("fat-tree", {{"radix", std::to_string(k)}, {"gpus", std::to_string(gpus)}});
    // Half of the ports of all but the last level lead up, so that k/2 cables are a switch below the last.
    CHECK(counts_of(fabric) == Counts{gpus / (k / 2), gpus / (k / 2), gpus / (k / 2), gpus, gpus});
    CHECK(count_named(fabric, "supercore") == gpus / k);
    CHECK(count_links(fabric, "core", "supercore") == gpus);
    for (const auto* const name : {"leaf", "spine", "core", "supercore"}) {
        CHECK(most_links(fabric, name) == k);
    }
    // No cut is narrower than the GPUs' own links: half of them, 400 Gb/s each.
    CHECK(bisection(fabric, 1'000'000).bandwidth.value().value == Approx(gpus / 2 * 50e9));
    const auto tiers = switch_tiers(fabric);
    REQUIRE(tiers.size() == 4);
    CHECK(tiers[2].oversubscription == 1.0);
}

TEST_CASE("fat-tree: on four levels a route is as long as its ends are apart, and shifts never meet", "[fabric]") {
    // Radix 4: leaves of 2 GPUs, pods of 2 leaves, pods of 2 pods, 4 of these.
    const Fabric fabric = load_shipped("fat-tree", {{"radix", "4"}, {"gpus", "32"}});
    const auto gpus = fabric.gpus();
    Router router(fabric, RoutingPolicy::static_, 1);
    for (std::size_t shift = 1; shift < gpus.size(); ++shift) {
        std::vector<int> flows(fabric.link_count(), 0);
        for (std::size_t from = 0; from < gpus.size(); ++from) {
            const std::size_t to = (from + shift) % gpus.size();
            const auto& links = router.route(gpus[from], gpus[to], 0, {}).links;
            const std::size_t expected = from / 2 == to / 2 ? 2 : from / 4 == to / 4 ? 4 : from / 8 == to / 8 ? 6 : 8;
            CHECK(links.size() == expected);
            for (const RouteShare& part : links) {
                ++flows[index(part.link)];
            }
        }
        CAPTURE(shift);
        CHECK(*std::max_element(flows.begin(), flows.end()) == 1);
    }
}

TEST_CASE("rail-optimized: on four levels the leaves of a unit stay in one pod", "[fabric]") {
    // 8 ports: units of 4 nodes on 4 leaves, one for each rail; a pod has room for 4 leaves, and for one unit. There
    // are 32 units, and three levels end at 4 * 8 = 32 leaves, eight units.
    const Fabric fabric = load_text(R"(
node: {count: 128, gpus: {count: 4}, islands: [{kind: mesh, link: NVLink4}], nics: {count: 4, model: ConnectX-7, on: gpu, link: PCIe5-x16}}
fabric: {kind: rail-optimized, unit: 4, switch: {ports: 8}, link: NDR}
)");
    CHECK(counts_of(fabric) == Counts{128, 128, 128, 512, 512});
    CHECK(count_named(fabric, "supercore") == 64);
    for (std::size_t node = 0; node < 128; ++node) {
        CAPTURE(node);
        Router router(fabric, RoutingPolicy::static_, 1);
        const auto here = fabric.gpus_of(id_at<NodeId>(node));
        const auto there = fabric.gpus_of(id_at<NodeId>(node / 4 * 4 + (node + 1) % 4));
        std::size_t switches = 0;  // crossed from GPU 0 to GPU 1 of another node of the unit: leaf, spine, leaf
        for (const RouteShare& part : router.route(here[0], there[1], 0, {}).links) {
            switches += fabric.vertex(fabric.to(part.link)).node ? 0 : 1;
        }
        CHECK(switches == 3);
    }
}

TEST_CASE("fat-tree: any radix, size and oversubscription keeps within the ports and shares uplinks evenly",
          "[fabric]") {
    const std::uint32_t radix = GENERATE(7U, 8U, 12U, 13U, 36U);
    const std::uint32_t gpus = GENERATE(1U, 2U, 3U, 17U, 31U, 100U);
    const std::string oversubscription = GENERATE("0.5", "1", "1.5", "2", "3");
    CAPTURE(radix, gpus, oversubscription);
    const Fabric fabric = load_shipped(
        "fat-tree",
        {{"radix", std::to_string(radix)}, {"gpus", std::to_string(gpus)}, {"oversubscription", oversubscription}});
    CHECK(fabric.gpus().size() == gpus);
    std::set<std::size_t> uplinks;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const auto id = id_at<VertexId>(i);
        if (fabric.vertex(id).kind == VertexKind::switch_) {
            CHECK(fabric.links_out_of(id).size() <= radix);
            CHECK_FALSE(fabric.links_out_of(id).empty());
        }
        if (fabric.vertex(id).name.starts_with("leaf")) {
            uplinks.insert(ports_to(fabric, id, "spine"));
        }
    }
    CHECK(uplinks.size() == 1);
    const auto tiers = switch_tiers(fabric);
    if (tiers.front().oversubscription) {
        CHECK(*tiers.front().oversubscription <= std::stod(oversubscription) * (1 + 1e-9));
    }
}

TEST_CASE("fat-tree: one leaf needs no spine unless the levels are given", "[fabric]") {
    CHECK(counts_of(load_shipped("fat-tree", {{"radix", "16"}, {"gpus", "8"}})) == Counts{1, 0, 0, 0, 0});
    CHECK(counts_of(load_shipped("fat-tree", {{"radix", "16"}, {"gpus", "8"}, {"levels", "2"}})) ==
          Counts{1, 1, 0, 8, 0});
}

TEST_CASE("fat-tree: faster uplinks need fewer cables", "[fabric]") {
    const Fabric fabric = load_text(R"(
node: {count: 32, gpus: {count: 1}}
fabric: {kind: leaf-spine, down: 16, switch: {ports: 32}, link: {model: 200GbE, cables: 1}, uplink: 400GbE}
)");
    // 16 x 200 Gb/s below are 8 x 400 Gb/s above
    CHECK(counts_of(fabric) == Counts{2, 1, 0, 16, 0});
}

TEST_CASE("leaf-spine: spines may be given", "[fabric]") {
    const Fabric fabric = load_text(R"(
node: {count: 16, gpus: {count: 1}}
fabric: {kind: leaf-spine, spines: 4, switch: {ports: 8}, link: NDR}
)");
    CHECK(counts_of(fabric) == Counts{4, 4, 0, 16, 0});
    CHECK(links_between(fabric, "leaf3", "spine2").size() == 1);
}

TEST_CASE("single-switch: every NIC has its cables to the one switch", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 3
  gpus: {count: 2}
  nics: {count: 2, model: ConnectX-7, on: gpu, link: PCIe5-x16}
fabric: {kind: single-switch, switch: {reduces: true}, link: {model: 200GbE, cables: 2}}
)");
    CHECK(links_between(fabric, "node2.nic1", "switch0").size() == 2);
    CHECK(fabric.links_out_of(fabric.find("switch0").value()).size() == 12);
    CHECK(fabric.vertex(fabric.find("switch0").value()).reduces);
}

TEST_CASE("torus: every point has two neighbours in each dimension, one in a ring of two", "[fabric]") {
    struct Row {
        std::string_view dimensions;
        std::uint32_t points;
        bool wraps;
        std::size_t degree;
    };
    const auto [dimensions, points, wraps, degree] =
        GENERATE(Row{"[8]", 8, true, 2}, Row{"[4, 4]", 16, true, 4}, Row{"[4, 4, 4]", 64, true, 6},
                 Row{"[3, 3, 3, 3]", 81, true, 8}, Row{"[2, 2, 2]", 8, true, 3}, Row{"[2, 2, 2]", 8, false, 3},
                 Row{"[4, 1, 2]", 8, true, 3}, Row{"[2, 1]", 2, true, 1});
    CAPTURE(dimensions, wraps);
    const Fabric fabric = load_text(fmt::format(R"(
node: {{count: {}, gpus: {{count: 1, relay: true}}}}
fabric: {{kind: torus, dimensions: {}, wraparound: {}, link: ICI-v4}}
)",
                                                points, dimensions, wraps));
    for (const VertexId gpu : fabric.gpus()) {
        CHECK(fabric.links_out_of(gpu).size() == degree);
    }
}

TEST_CASE("torus: without wraparound the ends have one neighbour less", "[fabric]") {
    const Fabric fabric = load_text(R"(
node: {count: 12, gpus: {count: 1, relay: true}}
fabric: {kind: torus, dimensions: [3, 4], wraparound: [false, true], link: ICI-v4}
)");
    // 2 x 4 steps in the open dimension, 3 rings of 4
    CHECK(fabric.link_count() == 2 * (8 + 12));
    CHECK(links_between(fabric, "gpu0", "gpu3").size() == 1);
    CHECK(links_between(fabric, "gpu0", "gpu8").empty());
}

TEST_CASE("torus: a ring of two is doubled only when asked", "[fabric]") {
    const Fabric fabric = load_text(R"(
node: {count: 2, gpus: {count: 1, relay: true}}
fabric: {kind: torus, dimensions: [2], wraparound: true, doubled: true, link: ICI-v4}
)");
    CHECK(links_between(fabric, "gpu0", "gpu1").size() == 2);
}

TEST_CASE("torus island: the chips of one machine", "[fabric]") {
    const Fabric fabric = load_text(R"(
node:
  count: 1
  gpus: {count: 16, model: Trainium2, relay: true}
  islands:
    - {kind: torus, dimensions: [4, 4], wraparound: true, link: {bandwidth: 128 GB/s, latency: 1 us}}
)");
    CHECK(fabric.link_count() == 2 * 32);
    CHECK(fabric.link(fabric.links_out_of(fabric.gpus()[0])[0]).tier == Tier::scale_up);
}

TEST_CASE("dragonfly: groups are fully connected and reach each other over evenly spread cables", "[fabric]") {
    // a = 4, p = h = 2, g = a h + 1 = 9: one cable between any two groups, two global cables on every switch
    const Fabric fabric = load_shipped("dragonfly");
    CHECK(fabric.gpus().size() == 72);
    for (std::size_t g = 0; g < 9; ++g) {
        CHECK(count_links(fabric, fmt::format("group{}", g), fmt::format("group{}", g)) == 6);
        for (std::size_t other = 0; other < 9; ++other) {
            if (other != g) {
                CHECK(count_links(fabric, fmt::format("group{}", g), fmt::format("group{}", other)) == 1);
            }
        }
        for (std::size_t s = 0; s < 4; ++s) {
            const auto id = fabric.find(fmt::format("group{}.switch{}", g, s)).value();
            CHECK(fabric.links_out_of(id).size() == 2 + 3 + 2);
        }
    }
}

TEST_CASE("dragonfly: with fewer groups more cables join each two, within each switch's share", "[fabric]") {
    const std::uint32_t groups = GENERATE(2U, 3U, 4U, 5U, 7U);
    CAPTURE(groups);
    const Fabric fabric = load_shipped("dragonfly", {{"groups", std::to_string(groups)}});
    const std::size_t each = 8 / (groups - 1);  // a h = 8 global cables of a group
    CHECK(count_links(fabric, "group0", "group1") == each);
    for (std::size_t g = 0; g < groups; ++g) {
        for (std::size_t s = 0; s < 4; ++s) {
            const std::string own = fmt::format("group{}.", g);
            const auto id = fabric.find(own + fmt::format("switch{}", s)).value();
            const std::size_t global = ports_to(fabric, id, "group") - ports_to(fabric, id, own);
            CHECK(global <= 2);
            CHECK(global >= each * (groups - 1) / 4);
        }
    }
}

TEST_CASE("dragonfly: Frontier's size has four cables between any two groups", "[fabric]") {
    // 74 groups of 32 switches with 16 endpoints, 31 local and 10 of up to 16 global ports: 32 x 10 / 73 = 4
    const Fabric fabric = load_text(R"(
node: {count: 37888, gpus: {count: 1}}
fabric: {kind: dragonfly, groups: 74, switches: 32, hosts: 16, global_links: 10, switch: Rosetta, link: Slingshot-11}
)");
    CHECK(count_links(fabric, "group0.", "group73.") == 4);
    CHECK(count_links(fabric, "group41.", "group7.") == 4);
    CHECK(most_links(fabric, "group") <= 64);
}
