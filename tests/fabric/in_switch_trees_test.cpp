#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/fabric/route_in_switch.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

Link wire(double gigabytes, Tier tier, double microseconds) {
    return {
        .bandwidth = {gigabytes * 1e9}, .line_rate = {gigabytes * 1e9}, .latency = {microseconds * 1e-6}, .tier = tier};
}

/// Which of the switches can reduce.
enum class Reduces : std::uint8_t { all, leaves, spines };

/// Two leaves with two nodes each, under `spines` spines. A node is a GPU, a PCIe switch and `nics` NICs behind it, NIC
/// k on the leaf's k-th plane. Latencies: 0.1 us inside, 1 us to the leaf, 2 us to the spine.
Fabric two_leaves(Reduces reduces, std::size_t spines = 1, std::size_t nics = 1, std::size_t uplinks = 1) {
    FabricBuilder builder("two leaves");
    std::vector<VertexId> tops;
    for (std::size_t s = 0; s < spines; ++s) {
        tops.push_back(builder.add(
            {.name = "spine" + std::to_string(s), .kind = VertexKind::switch_, .reduces = reduces != Reduces::leaves}));
    }
    for (std::size_t l = 0; l < 2; ++l) {
        std::vector<VertexId> planes;
        for (std::size_t k = 0; k < nics; ++k) {
            planes.push_back(builder.add({.name = "leaf" + std::to_string(l) + "." + std::to_string(k),
                                          .kind = VertexKind::switch_,
                                          .reduces = reduces != Reduces::spines}));
            for (const VertexId top : tops) {
                for (std::size_t u = 0; u < uplinks; ++u) {
                    builder.connect(planes.back(), top, wire(50, Tier::scale_out, 2));
                }
            }
        }
        for (std::size_t n = 2 * l; n < 2 * l + 2; ++n) {
            const NodeId node = builder.add_node();
            const std::string name = "node" + std::to_string(n);
            const VertexId gpu = builder.add({.name = name + ".gpu", .node = node, .relays = false});
            const VertexId pcie = builder.add({.name = name + ".pcie", .kind = VertexKind::switch_, .node = node});
            builder.connect(gpu, pcie, wire(60, Tier::host, 0.1));
            for (std::size_t k = 0; k < nics; ++k) {
                const VertexId nic =
                    builder.add({.name = name + ".nic" + std::to_string(k), .kind = VertexKind::nic, .node = node});
                builder.connect(pcie, nic, wire(60, Tier::host, 0.1));
                builder.connect(nic, planes[k], wire(50, Tier::scale_out, 1));
            }
        }
    }
    return builder.build();
}

std::map<std::string, double> shares(const Fabric& fabric, const Route& route) {
    std::map<std::string, double> named;
    for (const RouteShare& part : route.links) {
        named[fabric.vertex(fabric.from(part.link)).name + " " + fabric.vertex(fabric.to(part.link)).name] +=
            part.share;
    }
    return named;
}

using Shares = std::map<std::string, double>;

}  // namespace

TEST_CASE("in-switch tree: every link carries the data once up, and once down to the root", "[router][in-switch]") {
    const Fabric fabric = two_leaves(Reduces::all);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    const std::vector<VertexId> members{gpus[0], gpus[1], gpus[3]};
    CHECK(router.can_reduce_in_switch(members));
    const Shares up{{"node0.gpu node0.pcie", 1}, {"node0.pcie node0.nic0", 1}, {"node0.nic0 leaf0.0", 1},
                    {"node1.gpu node1.pcie", 1}, {"node1.pcie node1.nic0", 1}, {"node1.nic0 leaf0.0", 1},
                    {"node3.gpu node3.pcie", 1}, {"node3.pcie node3.nic0", 1}, {"node3.nic0 leaf1.0", 1},
                    {"leaf0.0 spine0", 1},       {"leaf1.0 spine0", 1}};
    Shares reduction = up;
    reduction.merge(Shares{
        {"spine0 leaf0.0", 1}, {"leaf0.0 node1.nic0", 1}, {"node1.nic0 node1.pcie", 1}, {"node1.pcie node1.gpu", 1}});
    const Route& to_one = router.reduction_route(members, gpus[1]);
    CHECK(shares(fabric, to_one) == reduction);
    // 0.1 + 0.1 + 1 + 2 us up, as much down.
    CHECK(to_one.latency.value == Approx(6.4e-6));
    CHECK(router.multicast_route(members, gpus[1]).links.size() == reduction.size());
    CHECK(router.multicast_route(members, gpus[1]).latency.value == Approx(6.4e-6));
    const Route& to_all = router.sum_route(members);
    CHECK(to_all.links.size() == 2 * up.size());
    for (const auto& [ends, share] : up) {
        const auto space = ends.find(' ');
        CHECK(shares(fabric, to_all).at(ends) == 1);
        CHECK(shares(fabric, to_all).at(ends.substr(space + 1) + " " + ends.substr(0, space)) == 1);
    }
    CHECK(to_all.latency.value == Approx(6.4e-6));
}

TEST_CASE("in-switch tree: the root need not be a member", "[router][in-switch]") {
    const Fabric fabric = two_leaves(Reduces::all);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    const std::vector<VertexId> members{gpus[0], gpus[1]};
    const auto named = shares(fabric, router.reduction_route(members, gpus[2]));
    CHECK(named.contains("node0.gpu node0.pcie"));
    CHECK_FALSE(named.contains("node2.gpu node2.pcie"));
    CHECK(named.at("spine0 leaf1.0") == 1);
    CHECK(named.at("node2.pcie node2.gpu") == 1);
}

TEST_CASE("in-switch tree: stays as low as it can", "[router][in-switch]") {
    const Fabric fabric = two_leaves(Reduces::all);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    const std::vector<VertexId> members{gpus[2], gpus[3]};
    const Route& route = router.sum_route(members);
    CHECK(route.links.size() == 2 * 2 * 3);
    CHECK(route.latency.value == Approx(2.4e-6));
}

TEST_CASE("in-switch tree: every switch on the way must reduce", "[router][in-switch][error]") {
    const Fabric lame = two_leaves(Reduces::leaves);
    Router over_leaves(lame, RoutingPolicy::static_, 1);
    const std::vector<VertexId> all(lame.gpus().begin(), lame.gpus().end());
    CHECK_FALSE(over_leaves.can_reduce_in_switch(all));
    CHECK(over_leaves.can_reduce_in_switch(std::span(all).first(2)));
    CHECK_THROWS_WITH(over_leaves.sum_route(all),
                      "no switch that can reduce is cabled to all of node0.gpu, node1.gpu, node2.gpu, node3.gpu, nor "
                      "do several such switches join them");
    const Fabric blind = two_leaves(Reduces::spines);
    Router over_spines(blind, RoutingPolicy::static_, 1);
    const std::vector<VertexId> others(blind.gpus().begin(), blind.gpus().end());
    CHECK_FALSE(over_spines.can_reduce_in_switch(others));
}

TEST_CASE("in-switch tree: groups side by side use different spines", "[router][in-switch]") {
    const Fabric fabric = two_leaves(Reduces::all, 4);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    const auto spine_of = [&](VertexId a, VertexId b) {
        const std::vector<VertexId> members{a, b};
        std::string found;
        for (const auto& [ends, share] : shares(fabric, router.sum_route(members))) {
            found = ends.starts_with("leaf0.0 spine") ? ends : found;
        }
        return found;
    };
    // GPU 0 is vertex 5 or so, GPU 1 three further on: of four spines they take different ones.
    CHECK(spine_of(gpus[0], gpus[2]) != spine_of(gpus[1], gpus[3]));
    CHECK(spine_of(gpus[0], gpus[2]) == spine_of(gpus[2], gpus[0]));
}

TEST_CASE("in-switch tree: NICs have trees of their own, parallel cables share", "[router][in-switch]") {
    const Fabric fabric = two_leaves(Reduces::all, 1, 2, 4);
    Router router(fabric, RoutingPolicy::static_, 1);
    const auto gpus = fabric.gpus();
    const std::vector<VertexId> members{gpus[0], gpus[3]};
    const Route& route = router.sum_route(members);
    const auto named = shares(fabric, route);
    CHECK(named.at("node0.gpu node0.pcie") == 1);  // both NICs' halves
    CHECK(named.at("node0.nic0 leaf0.0") == 0.5);
    CHECK(named.at("node0.nic1 leaf0.1") == 0.5);
    CHECK(named.at("leaf0.1 spine0") == 0.5);
    for (const RouteShare& part : route.links) {
        if (fabric.vertex(fabric.to(part.link)).name == "spine0") {
            CHECK(part.share == 0.125);
        }
    }
    // Where one member has no second NIC there is one tree.
    const std::vector<std::vector<VertexId>> groups{members, {gpus[1]}, {}};
    const auto tiers = reducing_tiers(fabric, groups);
    CHECK(tiers[0] == Tier::scale_out);
    CHECK(tiers[1] == Tier::scale_out);
    CHECK_FALSE(tiers[2]);
}

TEST_CASE("in-switch tree: islands of switches over two levels, and what is cabled to one switch stays there",
          "[router][in-switch]") {
    FabricBuilder builder("island");
    const VertexId top = builder.add({.name = "top", .kind = VertexKind::switch_, .reduces = true});
    for (int l = 0; l < 3; ++l) {
        const VertexId leaf =
            builder.add({.name = "low" + std::to_string(l), .kind = VertexKind::switch_, .reduces = true});
        builder.connect(leaf, top, wire(900, Tier::scale_up, 0.3));
        for (int g = 0; g < 2; ++g) {
            const VertexId gpu =
                builder.add({.name = "gpu" + std::to_string(2 * l + g), .node = builder.add_node(), .relays = false});
            builder.connect(gpu, leaf, wire(450, Tier::scale_up, 0.2));
        }
    }
    const Fabric fabric = builder.build();
    Router router(fabric, RoutingPolicy::static_, 1);
    const std::vector<VertexId> all(fabric.gpus().begin(), fabric.gpus().end());
    CHECK(router.sum_route(all).links.size() == 2 * (6 + 3));
    CHECK(router.sum_route(all).latency.value == Approx(1e-6));
    CHECK(router.sum_route(std::span(all).first(2)).links.size() == 4);
    const std::vector<std::vector<VertexId>> groups{all};
    CHECK(reducing_tiers(fabric, groups).front() == Tier::scale_up);
}
