#include <set>
#include <stdexcept>

#include "route_fixtures.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
using namespace lockstep::fabric;
using Catch::Matchers::Contains;

namespace {

constexpr RoutingPolicy policies[] = {RoutingPolicy::static_, RoutingPolicy::ecmp, RoutingPolicy::spray,
                                      RoutingPolicy::adaptive};

// Two switches with four parallel cables between them and four lone GPUs on each: left0..3, right0..3.
Fabric four_cables() {
    FabricBuilder builder("four cables");
    const VertexId left = add_switch(builder, "left");
    const VertexId right = add_switch(builder, "right");
    for (int c = 0; c < 4; ++c) {
        builder.connect(left, right, wire(12.5));
    }
    for (int g = 0; g < 4; ++g) {
        add_lone_gpu(builder, "left" + std::to_string(g), left);
        add_lone_gpu(builder, "right" + std::to_string(g), right);
    }
    return builder.build();
}

VertexId named(const Fabric& fabric, const std::string& name) {
    REQUIRE(fabric.find(name));
    return *fabric.find(name);
}

std::vector<LinkId> links_between(const Fabric& fabric, const std::string& from, const std::string& to) {
    std::vector<LinkId> links;
    for (const LinkId link : fabric.links_out_of(named(fabric, from))) {
        if (fabric.to(link) == named(fabric, to)) {
            links.push_back(link);
        }
    }
    return links;
}

std::vector<std::string> vertices_on(const Fabric& fabric, const Route& route) {
    std::vector<std::string> names;
    for (const RouteShare& part : route.links) {
        names.push_back(fabric.vertex(fabric.to(part.link)).name);
    }
    return names;
}

// The eight GPUs of a DGX-1 V100 with their NVLinks (no switch); PCIe is left out.
Fabric cube_mesh(bool relays) {
    FabricBuilder builder("cube mesh");
    const NodeId node = builder.add_node();
    std::vector<VertexId> gpus;
    for (int g = 0; g < 8; ++g) {
        gpus.push_back(builder.add({.name = "node0.gpu" + std::to_string(g), .node = node, .relays = relays}));
    }
    constexpr int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    for (const auto& [a, b, cables] : pairs) {
        builder.connect(gpus[static_cast<std::size_t>(a)], gpus[static_cast<std::size_t>(b)],
                        wire(25.0 * cables, Tier::scale_up));
    }
    return builder.build();
}

// Two GPUs on four NVSwitch planes, by 5, 4, 4 and 5 NVLinks of 25 GB/s each, as in a DGX H100.
Fabric four_planes(std::size_t gpu_count) {
    FabricBuilder builder("four planes");
    const NodeId node = builder.add_node();
    std::vector<VertexId> gpus;
    for (std::size_t g = 0; g < gpu_count; ++g) {
        gpus.push_back(builder.add({.name = "gpu" + std::to_string(g), .node = node, .relays = false}));
    }
    for (int p = 0; p < 4; ++p) {
        const VertexId plane = builder.add(
            {.name = "plane" + std::to_string(p), .kind = VertexKind::switch_, .node = node, .reduces = true});
        for (const VertexId gpu : gpus) {
            builder.connect(gpu, plane, wire(p == 0 || p == 3 ? 125 : 100, Tier::scale_up, 0.25));
        }
    }
    return builder.build();
}

}  // namespace

TEST_CASE("router: four parallel cables are sprayed over evenly", "[router]") {
    const Fabric fabric = four_cables();
    Router router(fabric, RoutingPolicy::spray, 1);
    const Route& route = router.route(named(fabric, "left0"), named(fabric, "right0"), 0, {});
    for (const LinkId cable : links_between(fabric, "left", "right")) {
        CHECK(share_of(route, cable) == 0.25);
    }
    CHECK(route.links.size() == 6);
    CHECK(route.latency.value == Approx(3e-6));  // three links of 1 us
    CHECK(&route == &router.route(named(fabric, "left0"), named(fabric, "right0"), 7, {}));
}

TEST_CASE("router: an ecmp flow takes one of four parallel cables, and flows together reach all", "[router]") {
    const Fabric fabric = four_cables();
    Router router(fabric, RoutingPolicy::ecmp, 1);
    std::set<LinkId> taken;
    std::set<const Route*> distinct;
    for (std::uint32_t flow = 0; flow < 64; ++flow) {
        const Route& route = router.route(named(fabric, "left0"), named(fabric, "right0"), flow, {});
        REQUIRE(route.links.size() == 3);
        CHECK(route.links[1].share == 1.0);
        taken.insert(route.links[1].link);
        distinct.insert(&route);
        CHECK(&route == &router.route(named(fabric, "left0"), named(fabric, "right0"), flow, {}));
    }
    CHECK(taken.size() == 4);
    CHECK(distinct.size() == 4);  // routes of the same links are one object
}

TEST_CASE("router: static routing gives each destination a cable of its own", "[router]") {
    const Fabric fabric = four_cables();
    Router router(fabric, RoutingPolicy::static_, 1);
    std::set<LinkId> taken;
    for (int g = 0; g < 4; ++g) {
        const VertexId to = named(fabric, "right" + std::to_string(g));
        const Route& route = router.route(named(fabric, "left0"), to, 0, {});
        REQUIRE(route.links.size() == 3);
        taken.insert(route.links[1].link);
        CHECK(&route == &router.route(named(fabric, "left0"), to, 5, {}));
        CHECK(router.route(named(fabric, "left3"), to, 0, {}).links[1].link == route.links[1].link);
    }
    CHECK(taken.size() == 4);
}

TEST_CASE("router: adaptive routing takes the path whose busiest link is least loaded", "[router]") {
    const Fabric fabric = four_cables();
    const VertexId from = named(fabric, "left0");
    const VertexId to = named(fabric, "right0");
    Router router(fabric, RoutingPolicy::adaptive, 1);
    const std::vector<LinkId> cables = links_between(fabric, "left", "right");
    std::vector<std::uint32_t> loads(fabric.link_count(), 0);
    CHECK(router.route(from, to, 0, loads).links[1].link == cables[0]);  // ties go to the first
    loads[index(cables[0])] = 2;
    loads[index(cables[1])] = 1;
    CHECK(router.route(from, to, 0, loads).links[1].link == cables[2]);
    loads[index(cables[2])] = 3;
    loads[index(cables[3])] = 3;
    const Route& route = router.route(from, to, 0, loads);
    CHECK(route.links[1].link == cables[1]);
    CHECK(&route == &router.route(from, to, 9, loads));
    CHECK_THROWS_AS(router.route(from, to, 0, {}), std::invalid_argument);
}

TEST_CASE("router: adaptive routing sees a load behind the first hop", "[router]") {
    // leaf0 and leaf1 are joined by spine0, spine1 and spine2. Flows 1, 2, 3 spread over links that others use further
    // on.
    const Fabric fabric = two_level_tree(2, 3, 3);
    Router router(fabric, RoutingPolicy::adaptive, 1);
    std::vector<std::uint32_t> loads(fabric.link_count(), 0);
    loads[index(links_between(fabric, "leaf0", "spine2").front())] = 4;
    loads[index(links_between(fabric, "spine0", "leaf1").front())] = 5;
    const Route& route = router.route(named(fabric, "leaf0.gpu0"), named(fabric, "leaf1.gpu0"), 0, loads);
    CHECK(vertices_on(fabric, route) == std::vector<std::string>{"leaf0", "spine1", "leaf1", "leaf1.gpu0"});
}

TEST_CASE("router: an island is striped over its NVSwitch planes in proportion to their links", "[router]") {
    const Fabric fabric = four_planes(2);
    for (const RoutingPolicy policy : policies) {
        Router router(fabric, policy, 1);
        const std::vector<std::uint32_t> loads(fabric.link_count(), 0);
        const Route& route = router.route(named(fabric, "gpu0"), named(fabric, "gpu1"), 0, loads);
        REQUIRE(route.links.size() == 8);
        const double links[] = {5, 4, 4, 5};  // of 18
        for (int p = 0; p < 4; ++p) {
            const std::string plane = "plane" + std::to_string(p);
            CHECK(share_of(route, links_between(fabric, "gpu0", plane).front()) == Approx(links[p] / 18));
            CHECK(share_of(route, links_between(fabric, plane, "gpu1").front()) == Approx(links[p] / 18));
        }
        CHECK(route.latency.value == Approx(0.5e-6));  // two links of 0.25 us
    }
}

TEST_CASE("router: stripes of an island follow the narrowest link of each path", "[router]") {
    // Plane 0 takes min(300, 100), plane 1 takes min(200, 300): shares 1/3 and 2/3.
    FabricBuilder builder("uneven");
    const NodeId node = builder.add_node();
    const VertexId a = builder.add({.name = "a", .node = node, .relays = false});
    const VertexId b = builder.add({.name = "b", .node = node, .relays = false});
    for (int p = 0; p < 2; ++p) {
        const VertexId plane =
            builder.add({.name = "plane" + std::to_string(p), .kind = VertexKind::switch_, .node = node});
        builder.connect(a, plane, wire(p == 0 ? 300 : 200, Tier::scale_up));
        builder.connect(plane, b, wire(p == 0 ? 100 : 300, Tier::scale_up));
    }
    const Fabric fabric = builder.build();
    Router router(fabric, RoutingPolicy::static_, 1);
    const Route& route = router.route(named(fabric, "a"), named(fabric, "b"), 0, {});
    CHECK(share_of(route, links_between(fabric, "a", "plane0").front()) == Approx(1.0 / 3));
    CHECK(share_of(route, links_between(fabric, "plane1", "b").front()) == Approx(2.0 / 3));
}

TEST_CASE("router: pairs of a cube mesh without a link need GPUs that relay", "[router]") {
    const Fabric refusing = cube_mesh(false);
    const Fabric relaying = cube_mesh(true);
    Router refuses(refusing, RoutingPolicy::static_, 1);
    Router relays(relaying, RoutingPolicy::static_, 1);
    int refused = 0;
    for (const VertexId from : refusing.gpus()) {
        for (const VertexId to : refusing.gpus()) {
            if (from == to) {
                continue;
            }
            const Route& route = relays.route(from, to, 0, {});
            CHECK(imbalance(relaying, route, from, to) < 1e-12);
            const bool linked = !links_between(refusing, refusing.vertex(from).name, refusing.vertex(to).name).empty();
            if (linked) {
                CHECK(refuses.route(from, to, 0, {}).links.size() == 1);
                CHECK(route.links.size() == 1);
            } else {
                ++refused;
                CHECK_THROWS_AS(refuses.route(from, to, 0, {}), SimulationError);
                CHECK(route.latency.value == Approx(2e-6));
            }
        }
    }
    CHECK(refused == 24);  // 28 pairs, of which 16 have links; both directions of the other 12
    CHECK_THROWS_WITH(
        refuses.route(named(refusing, "node0.gpu3"), named(refusing, "node0.gpu6"), 0, {}),
        "no path from node0.gpu3 to node0.gpu6: every path crosses another GPU, and relaying through GPUs is off "
        "in this topology");
}

TEST_CASE("router: a fabric in two parts says so", "[router]") {
    FabricBuilder builder("parts");
    const VertexId left = add_switch(builder, "left");
    const VertexId right = add_switch(builder, "right");
    const VertexId a = add_lone_gpu(builder, "a", left);
    const VertexId b = add_lone_gpu(builder, "b", right);
    const Fabric fabric = builder.build();
    Router router(fabric, RoutingPolicy::spray, 1);
    CHECK_THROWS_WITH(router.route(a, b, 0, {}), "no path from a to b: the fabric does not connect them");
    CHECK_THROWS_AS(router.route(a, b, 0, {}), SimulationError);
    CHECK_THROWS_AS(router.route(a, a, 0, {}), std::invalid_argument);
    CHECK_THROWS_AS(router.route(a, left, 0, {}), std::invalid_argument);
    CHECK_THROWS_AS(router.route(a, VertexId{99}, 0, {}), std::invalid_argument);
}

TEST_CASE("router: a pair of the same rail crosses only its leaf", "[router]") {
    const Fabric fabric = rail_fabric(2, 2, 4);
    for (const RoutingPolicy policy : policies) {
        Router router(fabric, policy, 1);
        const std::vector<std::uint32_t> loads(fabric.link_count(), 0);
        const Route& route = router.route(named(fabric, "node0.gpu2"), named(fabric, "node1.gpu2"), 0, loads);
        CHECK(vertices_on(fabric, route) == std::vector<std::string>{"node0.pcie2", "node0.nic2", "unit0.leaf2",
                                                                     "node1.nic2", "node1.pcie2", "node1.gpu2"});
        const Route& other = router.route(named(fabric, "node0.gpu2"), named(fabric, "node1.gpu3"), 0, loads);
        CHECK_THAT(vertices_on(fabric, other), Catch::VectorContains(std::string("unit0.leaf3")));
        const Route& inside = router.route(named(fabric, "node0.gpu2"), named(fabric, "node0.gpu3"), 0, loads);
        CHECK(vertices_on(fabric, inside) == std::vector<std::string>{"node0.nvswitch", "node0.gpu3"});
    }
}

TEST_CASE("router: rails that never meet are changed inside the sender's machine", "[router]") {
    const Fabric fabric = separate_rails(1, 1, 2, 2);
    Router router(fabric, RoutingPolicy::static_, 1);
    const Route& route = router.route(named(fabric, "node0.gpu0"), named(fabric, "node1.gpu1"), 0, {});
    CHECK(vertices_on(fabric, route) == std::vector<std::string>{"node0.pcie0", "node0.host", "node0.pcie1",
                                                                 "node0.nic1", "pod0.unit0.leaf1", "node1.nic1",
                                                                 "node1.pcie1", "node1.gpu1"});
}

TEST_CASE("router: a GPU stripes over its own NICs, and rails stay rails", "[router]") {
    // Per node, one PCIe switch with two GPUs and four NICs: gpu0 owns nic0 and nic1, gpu1 owns nic2 and nic3.
    FabricBuilder builder("two NICs per GPU");
    std::vector<VertexId> rails;
    for (int r = 0; r < 4; ++r) {
        rails.push_back(add_switch(builder, "rail" + std::to_string(r)));
    }
    const VertexId spine = add_switch(builder, "spine");
    for (const VertexId rail : rails) {
        builder.connect(rail, spine, wire(50));
    }
    for (int n = 0; n < 2; ++n) {
        const NodeId node = builder.add_node();
        const std::string name = "node" + std::to_string(n);
        const VertexId pcie = builder.add({.name = name + ".pcie", .kind = VertexKind::switch_, .node = node});
        for (int g = 0; g < 2; ++g) {
            const VertexId gpu =
                builder.add({.name = name + ".gpu" + std::to_string(g), .node = node, .relays = false});
            builder.connect(gpu, pcie, wire(64, Tier::host));
        }
        for (std::size_t i = 0; i < 5; ++i) {  // the last one has no cable and does not count
            const VertexId nic =
                builder.add({.name = name + ".nic" + std::to_string(i), .kind = VertexKind::nic, .node = node});
            builder.connect(nic, pcie, wire(64, Tier::host));
            if (i < 4) {
                builder.connect(nic, rails[i], wire(50));
            }
        }
    }
    const Fabric fabric = builder.build();
    Router router(fabric, RoutingPolicy::static_, 1);
    const Route& route = router.route(named(fabric, "node0.gpu1"), named(fabric, "node1.gpu1"), 0, {});
    CHECK(share_of(route, links_between(fabric, "node0.gpu1", "node0.pcie").front()) == 1.0);
    CHECK(share_of(route, links_between(fabric, "node0.nic2", "rail2").front()) == 0.5);
    CHECK(share_of(route, links_between(fabric, "rail3", "node1.nic3").front()) == 0.5);
    CHECK(route.links.size() == 2 + 2 * 4);
    const Route& crossed = router.route(named(fabric, "node0.gpu0"), named(fabric, "node1.gpu1"), 0, {});
    CHECK(share_of(crossed, links_between(fabric, "node0.nic1", "rail1").front()) == 0.5);
    CHECK(share_of(crossed, links_between(fabric, "rail3", "node1.nic3").front()) == 0.5);
    CHECK(imbalance(fabric, crossed, named(fabric, "node0.gpu0"), named(fabric, "node1.gpu1")) < 1e-12);
}

TEST_CASE("router: the same seed hashes the same paths, another seed others", "[router]") {
    const Fabric fabric = three_level_tree(3, 3);
    const auto paths = [&](std::uint64_t seed) {
        Router router(fabric, RoutingPolicy::ecmp, seed);
        std::vector<LinkId> links;
        for (const VertexId from : fabric.gpus()) {
            for (const VertexId to : fabric.gpus()) {
                if (from != to) {
                    for (const RouteShare& part : router.route(from, to, 3, {}).links) {
                        links.push_back(part.link);
                    }
                }
            }
        }
        return links;
    };
    CHECK(paths(1) == paths(1));
    CHECK(paths(1) != paths(2));
}

TEST_CASE("router: an in-switch reduction uses every member's way up and one way down, on all planes", "[router]") {
    const Fabric fabric = four_planes(3);
    Router router(fabric, RoutingPolicy::static_, 1);
    const std::vector<VertexId> members{named(fabric, "gpu0"), named(fabric, "gpu1"), named(fabric, "gpu2")};
    CHECK(router.can_reduce_in_switch(members));
    const Route& reduction = router.reduction_route(members, members[1]);
    const Route& multicast = router.multicast_route(members, members[1]);
    CHECK(reduction.links.size() == 4 * (3 + 1));
    CHECK(multicast.links.size() == 4 * (3 + 1));
    const double links[] = {5, 4, 4, 5};  // of 18
    for (int p = 0; p < 4; ++p) {
        const std::string plane = "plane" + std::to_string(p);
        for (const std::string gpu : {"gpu0", "gpu1", "gpu2"}) {
            CHECK(share_of(reduction, links_between(fabric, gpu, plane).front()) == Approx(links[p] / 18));
            CHECK(share_of(multicast, links_between(fabric, plane, gpu).front()) == Approx(links[p] / 18));
        }
        CHECK(share_of(reduction, links_between(fabric, plane, "gpu1").front()) == Approx(links[p] / 18));
        CHECK(share_of(multicast, links_between(fabric, "gpu1", plane).front()) == Approx(links[p] / 18));
    }
    CHECK(reduction.latency.value == Approx(0.5e-6));
    CHECK(&reduction == &router.reduction_route(members, members[1]));

    const Fabric plain = cube_mesh(false);
    Router none(plain, RoutingPolicy::static_, 1);
    const std::vector<VertexId> others(plain.gpus().begin(), plain.gpus().end());
    CHECK_FALSE(none.can_reduce_in_switch(others));
    CHECK_FALSE(none.can_reduce_in_switch({}));
    CHECK_THROWS_WITH(none.reduction_route(others, others[0]),
                      Contains("no switch that can reduce is cabled to all of node0.gpu0") && Contains("4 more"));
    CHECK_THROWS_AS(router.multicast_route({}, members[0]), std::invalid_argument);
}
