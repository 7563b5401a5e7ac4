#include "sim/report/route_paths.h"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::report {

using namespace lockstep::literals;

namespace {

/// Two GPUs of a node on two switches that can add up, to which their links are 3 : 1 in rate.
fabric::Fabric two_planes() {
    fabric::FabricBuilder builder("planes");
    const NodeId node = builder.add_node();
    const VertexId a = builder.add({.name = "gpu0", .node = node});
    const VertexId b = builder.add({.name = "gpu1", .node = node});
    for (const int plane : {0, 1}) {
        const VertexId hub = builder.add({.name = fmt::format("switch{}", plane),
                                          .kind = fabric::VertexKind::switch_,
                                          .node = node,
                                          .reduces = true});
        const Bandwidth rate = plane == 0 ? 30_GBps : 10_GBps;
        for (const VertexId gpu : {a, b}) {
            builder.connect(gpu, hub, {.bandwidth = rate, .line_rate = rate, .tier = fabric::Tier::scale_up});
        }
    }
    return builder.build();
}

}  // namespace

TEST_CASE("a striped route is the paths over its planes", "[explain]") {
    const fabric::Fabric fabric = two_planes();
    fabric::Router router(fabric, fabric::RoutingPolicy::static_, 1);
    const VertexId from = fabric.gpus()[0];
    const VertexId to = fabric.gpus()[1];
    const auto paths = paths_of(fabric, router.route(from, to, 0, {}), from, to);
    REQUIRE(paths.size() == 2);
    // Striped in proportion to the rates: 3/4 and 1/4.
    CHECK(paths[0].share == Approx(0.75));
    CHECK(paths[1].share == Approx(0.25));
    for (const RoutePath& path : paths) {
        REQUIRE(path.links.size() == 2);
        CHECK(fabric.from(path.links[0]) == from);
        CHECK(fabric.to(path.links[0]) == fabric.from(path.links[1]));
        CHECK(fabric.to(path.links[1]) == to);
        CHECK(path.leg == Leg::whole);
    }
    CHECK(paths_of(fabric, router.route(from, to, 0, {}), from, to, 1).size() == 1);
}

TEST_CASE("what a switch adds up goes up from all and down to one", "[explain]") {
    const fabric::Fabric fabric = two_planes();
    fabric::Router router(fabric, fabric::RoutingPolicy::static_, 1);
    const std::vector<VertexId> members(fabric.gpus().begin(), fabric.gpus().end());
    const std::vector<VertexId> root{members[1]};
    const auto paths = switch_paths(fabric, router.reduction_route(members, root[0]), members, root);
    const auto count = [&](Leg leg) { return std::ranges::count(paths, leg, &RoutePath::leg); };
    CHECK(count(Leg::to_switch) == 4);    // two members, two planes
    CHECK(count(Leg::from_switch) == 2);  // one root, two planes
    const double down = std::accumulate(paths.begin(), paths.end(), 0.0, [](double sum, const RoutePath& path) {
        return sum + (path.leg == Leg::from_switch ? path.share : 0.0);
    });
    CHECK(down == Approx(1.0));
}

}  // namespace lockstep::report
