#include <algorithm>
#include <stdexcept>

#include "route_fixtures.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

constexpr RoutingPolicy policies[] = {RoutingPolicy::static_, RoutingPolicy::ecmp, RoutingPolicy::spray,
                                      RoutingPolicy::adaptive};

// The number of flows on the busiest link of the fabric when GPU i sends to GPU i + shift, for the worst of all shifts.
double worst_shift(const Fabric& fabric, RoutingPolicy policy) {
    Router router(fabric, policy, 1);
    const auto gpus = fabric.gpus();
    double worst = 0.0;
    for (std::size_t shift = 1; shift < gpus.size(); ++shift) {
        std::vector<double> flows(fabric.link_count(), 0.0);
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            for (const RouteShare& part : router.route(gpus[i], gpus[(i + shift) % gpus.size()], 0, {}).links) {
                if (fabric.link(part.link).tier == Tier::scale_out) {
                    flows[index(part.link)] += part.share;
                }
            }
        }
        worst = std::max(worst, *std::max_element(flows.begin(), flows.end()));
    }
    return worst;
}

// Switches at random, in a connected tangle with parallel cables; nodes of one to four GPUs, with or without NICs of
// their own.
Fabric tangle(std::mt19937_64& random) {
    FabricBuilder builder("tangle");
    std::vector<VertexId> switches;
    const std::size_t count = 2 + draw(random, 8);
    for (std::size_t s = 0; s < count; ++s) {
        switches.push_back(add_switch(builder, "switch" + std::to_string(s)));
        if (s > 0) {
            builder.connect(switches[s], switches[draw(random, s)], wire(10));
        }
    }
    for (std::size_t extra = draw(random, 20); extra > 0; --extra) {
        const VertexId a = switches[draw(random, count)];
        const VertexId b = switches[draw(random, count)];
        if (a != b) {
            builder.connect(a, b, wire(10));
        }
    }
    for (std::size_t n = 0; n < 5; ++n) {
        const NodeId node = builder.add_node();
        const std::string name = "node" + std::to_string(n);
        const VertexId pcie = builder.add({.name = name + ".pcie", .kind = VertexKind::switch_, .node = node});
        const std::size_t gpus = 1 + draw(random, 4);
        const std::size_t nics = draw(random, 6);
        const std::size_t planes = draw(random, 4);
        std::vector<VertexId> plane_ids;
        for (std::size_t p = 0; p < planes; ++p) {
            plane_ids.push_back(
                builder.add({.name = name + ".plane" + std::to_string(p), .kind = VertexKind::switch_, .node = node}));
        }
        for (std::size_t g = 0; g < gpus; ++g) {
            const VertexId gpu =
                builder.add({.name = name + ".gpu" + std::to_string(g), .node = node, .relays = false});
            builder.connect(gpu, pcie, wire(32, Tier::host));
            for (const VertexId plane : plane_ids) {
                builder.connect(gpu, plane, wire(50.0 * static_cast<double>(1 + draw(random, 3)), Tier::scale_up));
            }
            if (nics == 0) {
                builder.connect(gpu, switches[draw(random, count)], wire(25));
            }
        }
        for (std::size_t i = 0; i < nics; ++i) {
            const VertexId nic =
                builder.add({.name = name + ".nic" + std::to_string(i), .kind = VertexKind::nic, .node = node});
            builder.connect(nic, pcie, wire(32, Tier::host));
            for (std::size_t port = 1 + draw(random, 3); port > 0; --port) {
                builder.connect(nic, switches[draw(random, count)], wire(25));
            }
        }
    }
    return builder.build();
}

// A torus of relaying GPUs, each a node of its own.
Fabric torus(std::size_t width, std::size_t height) {
    FabricBuilder builder("torus");
    std::vector<VertexId> gpus;
    for (std::size_t i = 0; i < width * height; ++i) {
        gpus.push_back(builder.add({.name = "gpu" + std::to_string(i), .node = builder.add_node(), .relays = true}));
    }
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
            builder.connect(gpus[y * width + x], gpus[y * width + (x + 1) % width], wire(50, Tier::scale_up));
            builder.connect(gpus[y * width + x], gpus[(y + 1) % height * width + x], wire(50, Tier::scale_up));
        }
    }
    return builder.build();
}

}  // namespace

TEST_CASE("router: shifts on a non-blocking tree of two levels never meet", "[router]") {
    CHECK(worst_shift(two_level_tree(4, 4, 4), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(two_level_tree(5, 6, 6), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(two_level_tree(3, 8, 2, 4), RoutingPolicy::static_) == 1.0);  // four cables to either spine
    CHECK(worst_shift(two_level_tree(6, 3, 1, 3), RoutingPolicy::static_) == 1.0);
}

TEST_CASE("router: shifts on a tree with twice as many ports down as up meet in pairs", "[router]") {
    CHECK(worst_shift(two_level_tree(4, 8, 4), RoutingPolicy::static_) == 2.0);
    CHECK(worst_shift(three_level_tree(3, 4, 8, 1), RoutingPolicy::static_) == 2.0);
}

TEST_CASE("router: shifts on a non-blocking tree of three levels never meet", "[router]") {
    CHECK(worst_shift(three_level_tree(4, 2), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(three_level_tree(6, 3), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(three_level_tree(3, 4), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(three_level_tree(3, 3, 6, 2), RoutingPolicy::static_) == 1.0);  // every cable twice
    CHECK(worst_shift(three_level_tree(3, 2, 6, 3), RoutingPolicy::static_) == 1.0);
}

TEST_CASE("router: shifts on rail-optimised fabrics never meet", "[router]") {
    CHECK(worst_shift(rail_fabric(3, 4, 4), RoutingPolicy::static_) == 1.0);
    CHECK(worst_shift(rail_fabric(2, 4, 8), RoutingPolicy::static_) == 1.0);
}

TEST_CASE("router: shifts by whole nodes on rails of three levels each never meet", "[router]") {
    // A leaf's rail is its number modulo 4 in the file: taken as it is, it would leave most cores of a rail unused.
    const Fabric fabric = separate_rails(2, 4, 3, 4);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    for (std::size_t shift = 4; shift < gpus.size(); shift += 4) {
        std::vector<double> flows(fabric.link_count(), 0.0);
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            for (const RouteShare& part : router.route(gpus[i], gpus[(i + shift) % gpus.size()], 0, {}).links) {
                flows[index(part.link)] += part.share;
            }
        }
        CAPTURE(shift);
        CHECK(*std::max_element(flows.begin(), flows.end()) == 1.0);
    }
}

TEST_CASE("router: spraying makes every shift even", "[router]") {
    CHECK(worst_shift(three_level_tree(4, 3), RoutingPolicy::spray) == Approx(1.0));
    CHECK(worst_shift(two_level_tree(4, 8, 4), RoutingPolicy::spray) == Approx(2.0));
}

TEST_CASE("router: spraying counts paths", "[router]") {
    // Across pods of three_level_tree(2, 3): 3 spines with 3 cores each, so 9 paths, and 1/3 and 1/9 of the flow.
    const Fabric fabric = three_level_tree(2, 3);
    Router router(fabric, RoutingPolicy::spray, 1);
    const Route& route = router.route(fabric.gpus().front(), fabric.gpus().back(), 0, {});
    CHECK(route.links.size() == 1 + 3 + 9 + 9 + 3 + 1);
    CHECK(route.links[1].share == Approx(1.0 / 3));
    CHECK(route.links[4].share == Approx(1.0 / 9));
    CHECK(route.latency.value == Approx(6e-6));
}

TEST_CASE("router: adaptive routing finds the least of all maxima", "[router]") {
    // Between pods of three_level_tree(2, 3) a path is a spine s and one of its cores c: leaf, spine s, core 3 s + c,
    // the other pod's spine s, leaf. All nine are tried here.
    const Fabric fabric = three_level_tree(2, 3);
    Router router(fabric, RoutingPolicy::adaptive, 1);
    const auto between = [&](const std::string& from, const std::string& to) {
        for (const LinkId link : fabric.links_out_of(*fabric.find(from))) {
            if (fabric.to(link) == *fabric.find(to)) {
                return index(link);
            }
        }
        throw std::invalid_argument(from + " has no link to " + to);
    };
    std::mt19937_64 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint32_t> loads(fabric.link_count());
        for (std::uint32_t& load : loads) {
            load = static_cast<std::uint32_t>(draw(random, 6));
        }
        std::uint32_t least = 100;
        for (int s = 0; s < 3; ++s) {
            for (int c = 0; c < 3; ++c) {
                const std::string spine = ".spine" + std::to_string(s);
                const std::string core = "core" + std::to_string(3 * s + c);
                least = std::min(
                    least,
                    std::max({loads[between("pod0.leaf1", "pod0" + spine)], loads[between("pod0" + spine, core)],
                              loads[between(core, "pod1" + spine)], loads[between("pod1" + spine, "pod1.leaf2")]}));
            }
        }
        const VertexId from = *fabric.find("pod0.leaf1.gpu0");
        const VertexId to = *fabric.find("pod1.leaf2.gpu1");
        const Route& route = router.route(from, to, 0, loads);
        REQUIRE(route.links.size() == 6);
        std::uint32_t busiest = 0;
        for (std::size_t hop = 1; hop < 5; ++hop) {
            busiest = std::max(busiest, loads[index(route.links[hop].link)]);
        }
        CHECK(busiest == least);
        CHECK(imbalance(fabric, route, from, to) == 0.0);
    }
}

TEST_CASE("router: a busy NIC does not hide which spines are free", "[router]") {
    const Fabric fabric = two_level_tree(2, 2, 3);
    Router router(fabric, RoutingPolicy::adaptive, 1);
    std::vector<std::uint32_t> loads(fabric.link_count(), 0);
    for (int flow = 0; flow < 3; ++flow) {
        for (const RouteShare& part : router.route(fabric.gpus()[0], fabric.gpus()[2], 0, loads).links) {
            ++loads[index(part.link)];
        }
    }
    CHECK(*std::max_element(loads.begin(), loads.end()) == 3);  // at the ends
    CHECK(std::count(loads.begin(), loads.end(), 1U) == 6);     // one flow over each of three spines
}

TEST_CASE("router: a NIC with two cables uses the switches of both", "[router]") {
    // Two planes that never meet, each a leaf, a spine and a leaf. Every GPU has a cable to its leaf in either.
    FabricBuilder builder("two planes");
    std::vector<VertexId> leaves;
    for (int p = 0; p < 2; ++p) {
        const VertexId spine = add_switch(builder, "spine" + std::to_string(p));
        for (int l = 0; l < 2; ++l) {
            leaves.push_back(add_switch(builder, "plane" + std::to_string(p) + ".leaf" + std::to_string(l)));
            builder.connect(leaves.back(), spine, wire(50));
        }
    }
    std::vector<VertexId> gpus;
    for (std::size_t g = 0; g < 8; ++g) {
        gpus.push_back(add_lone_gpu(builder, "gpu" + std::to_string(g), leaves[g / 4]));
        builder.connect(gpus.back(), leaves[2 + g / 4], wire(50));
    }
    const Fabric fabric = builder.build();

    Router spray(fabric, RoutingPolicy::spray, 1);
    const Route& sprayed = spray.route(gpus[0], gpus[4], 0, {});
    CHECK(sprayed.links.size() == 8);
    CHECK(std::all_of(sprayed.links.begin(), sprayed.links.end(),
                      [](const RouteShare& part) { return part.share == 0.5; }));

    Router fixed(fabric, RoutingPolicy::static_, 1);
    CHECK(fixed.route(gpus[0], gpus[4], 0, {}).links[0].link != fixed.route(gpus[0], gpus[5], 0, {}).links[0].link);

    // gpu4 is busy on plane 0 only, then more so on plane 1.
    Router adaptive(fabric, RoutingPolicy::adaptive, 1);
    std::vector<std::uint32_t> loads(fabric.link_count(), 0);
    const LinkId on_first = sprayed.links[0].link;
    const LinkId on_second = sprayed.links[1].link;
    loads[index(fabric.reverse(fabric.links_out_of(gpus[4])[0]))] = 1;
    CHECK(adaptive.route(gpus[0], gpus[4], 0, loads).links[0].link == on_second);
    loads[index(fabric.reverse(fabric.links_out_of(gpus[4])[1]))] = 2;
    CHECK(adaptive.route(gpus[0], gpus[4], 0, loads).links[0].link == on_first);
}

TEST_CASE("router: a busy destination does not hide which cable of the sender is free", "[router]") {
    FabricBuilder builder("two leaves");
    const VertexId top = add_switch(builder, "top");
    const VertexId first = add_switch(builder, "first");
    const VertexId second = add_switch(builder, "second");
    builder.connect(first, top, wire(50));
    builder.connect(second, top, wire(50));
    const VertexId from = add_lone_gpu(builder, "from", first);
    builder.connect(from, second, wire(50));
    const VertexId to = add_lone_gpu(builder, "to", top);
    const Fabric fabric = builder.build();
    Router router(fabric, RoutingPolicy::adaptive, 1);
    std::vector<std::uint32_t> loads(fabric.link_count(), 0);
    loads[index(fabric.reverse(fabric.links_out_of(to)[0]))] = 9;
    loads[index(fabric.links_out_of(first)[0])] = 1;
    const Route& route = router.route(from, to, 0, loads);
    REQUIRE(route.links.size() == 3);
    CHECK(fabric.to(route.links[0].link) == second);
}

TEST_CASE("router: a torus of relaying GPUs is crossed by the fewest links", "[router]") {
    const Fabric fabric = torus(5, 4);
    for (const RoutingPolicy policy : policies) {
        Router router(fabric, policy, 1);
        const std::vector<std::uint32_t> loads(fabric.link_count(), 0);
        const auto gpus = fabric.gpus();
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            for (std::size_t j = 0; j < gpus.size(); ++j) {
                if (i == j) {
                    continue;
                }
                const std::size_t dx = (j % 5 + 5 - i % 5) % 5;
                const std::size_t dy = (j / 5 + 4 - i / 5) % 4;
                const auto hops = static_cast<double>(std::min(dx, 5 - dx) + std::min(dy, 4 - dy));
                const Route& route = router.route(gpus[i], gpus[j], 0, loads);
                CHECK(route.latency.value == Approx(hops * 1e-6));
                CHECK(imbalance(fabric, route, gpus[i], gpus[j]) < 1e-12);
            }
        }
    }
}

TEST_CASE("router: what leaves one end of a route arrives at the other, in any fabric", "[router]") {
    const std::uint64_t seed = GENERATE(range(0, 60));
    std::mt19937_64 random(seed);
    const Fabric fabric = tangle(random);
    for (const RoutingPolicy policy : policies) {
        Router router(fabric, policy, seed);
        Router again(fabric, policy, seed);
        std::vector<std::uint32_t> loads(fabric.link_count(), 0);
        for (const VertexId from : fabric.gpus()) {
            for (const VertexId to : fabric.gpus()) {
                if (from == to) {
                    continue;
                }
                const auto flow = static_cast<std::uint32_t>(draw(random, 3));
                const Route& route = router.route(from, to, flow, loads);
                CAPTURE(seed, name_of(policy), fabric.vertex(from).name, fabric.vertex(to).name);
                CHECK(imbalance(fabric, route, from, to) < 1e-9);
                // Determinism, share by share.
                const Route& twin = again.route(from, to, flow, loads);
                CHECK(std::equal(
                    route.links.begin(), route.links.end(), twin.links.begin(), twin.links.end(),
                    [](const RouteShare& a, const RouteShare& b) { return a.link == b.link && a.share == b.share; }));
                for (const RouteShare& part : route.links) {
                    loads[index(part.link)] += policy == RoutingPolicy::adaptive ? 1 : 0;
                    // Nobody's traffic crosses a GPU.
                    const VertexId end = fabric.to(part.link);
                    CHECK((end == to || fabric.vertex(end).kind != VertexKind::gpu));
                }
            }
        }
    }
}
