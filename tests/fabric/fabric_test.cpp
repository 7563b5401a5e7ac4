#include "sim/fabric/fabric.h"

#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/fabric/graph.h"

using namespace lockstep;
using namespace lockstep::fabric;
using namespace lockstep::literals;

namespace {

Link cable(Bandwidth bandwidth) { return {.bandwidth = bandwidth, .line_rate = bandwidth, .latency = 1.0_us}; }

std::vector<VertexId> targets(const Fabric& fabric, VertexId vertex) {
    std::vector<VertexId> result;
    for (const LinkId link : fabric.links_out_of(vertex)) {
        result.push_back(fabric.to(link));
    }
    return result;
}

}  // namespace

TEST_CASE("fabric: every link has its reverse and its two ends", "[fabric]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a"});
    const auto b = builder.add({.name = "b"});
    const auto c = builder.add({.name = "c"});
    builder.connect(c, a, cable(1_GBps));
    builder.connect(a, b, cable(2_GBps));
    builder.connect(b, c, cable(3_GBps));
    const Fabric fabric = builder.build();

    REQUIRE(fabric.vertex_count() == 3);
    REQUIRE(fabric.link_count() == 6);
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        CAPTURE(i);
        CHECK(fabric.reverse(link) != link);
        CHECK(fabric.reverse(fabric.reverse(link)) == link);
        CHECK(fabric.from(fabric.reverse(link)) == fabric.to(link));
        CHECK(fabric.to(fabric.reverse(link)) == fabric.from(link));
        CHECK(fabric.link(fabric.reverse(link)).bandwidth == fabric.link(link).bandwidth);
    }
    CHECK(targets(fabric, a) == std::vector{c, b});
    CHECK(fabric.link(fabric.links_out_of(a)[1]).bandwidth == 2_GBps);
}

TEST_CASE("fabric: parallel cables stay apart and in the order they were connected", "[fabric]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a", .kind = VertexKind::switch_});
    const auto b = builder.add({.name = "b", .kind = VertexKind::switch_});
    for (unsigned long long rate = 1; rate <= 4; ++rate) {
        builder.connect(a, b, cable({static_cast<double>(rate)}));
    }
    const Fabric fabric = builder.build();

    REQUIRE(fabric.links_out_of(a).size() == 4);
    REQUIRE(fabric.links_out_of(b).size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        const LinkId out = fabric.links_out_of(a)[i];
        CHECK(fabric.link(out).bandwidth.value == static_cast<double>(i + 1));
        CHECK(fabric.reverse(out) == fabric.links_out_of(b)[i]);
    }
}

TEST_CASE("fabric: GPUs come node by node in the order they were added", "[fabric]") {
    FabricBuilder builder("test");
    const auto first = builder.add_node();
    const auto second = builder.add_node();
    const auto g2 = builder.add({.name = "node1.gpu0", .node = second});
    const auto g0 = builder.add({.name = "node0.gpu0", .node = first});
    const auto s = builder.add({.name = "switch", .kind = VertexKind::switch_});
    const auto n0 = builder.add({.name = "node0.nic0", .kind = VertexKind::nic, .node = first});
    const auto g1 = builder.add({.name = "node0.gpu1", .node = first});
    const Fabric fabric = builder.build();

    const auto as_vector = [](std::span<const VertexId> ids) { return std::vector(ids.begin(), ids.end()); };
    CHECK(fabric.node_count() == 2);
    CHECK(as_vector(fabric.gpus()) == std::vector{g0, g1, g2});
    CHECK(as_vector(fabric.gpus_of(first)) == std::vector{g0, g1});
    CHECK(as_vector(fabric.gpus_of(second)) == std::vector{g2});
    CHECK(as_vector(fabric.vertices_of(first)) == std::vector{g0, n0, g1});
    CHECK(fabric.find("switch") == s);
    CHECK(fabric.find("node0.nic0") == n0);
    CHECK_FALSE(fabric.find("node0"));
    CHECK(fabric.links_out_of(s).empty());
}

TEST_CASE("fabric: keeps the model of each GPU", "[fabric]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a"});
    const auto b = builder.add({.name = "b"});
    const auto c = builder.add({.name = "c"});
    const auto d = builder.add({.name = "d"});
    builder.set_gpu_model(a, {.name = "H100", .fp16_peak = FlopRate{989e12}});
    builder.set_gpu_model(b, {.name = "H100", .fp16_peak = FlopRate{800e12}});
    builder.set_gpu_model(c, {.name = "H100", .fp16_peak = FlopRate{989e12}});
    const Fabric fabric = builder.build();

    CHECK(fabric.gpu_model(a).fp16_peak->value == 989e12);
    CHECK(fabric.gpu_model(b).fp16_peak->value == 800e12);
    CHECK(fabric.gpu_model(c).fp16_peak->value == 989e12);
    CHECK(fabric.gpu_model(d).name.empty());
}

TEST_CASE("fabric: refuses what no fabric can be", "[fabric][error]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a"});
    builder.add({.name = "a"});
    CHECK_THROWS_WITH(builder.connect(a, a, cable(1_GBps)), "link from `a` to itself");
    CHECK_THROWS_WITH(builder.connect(a, VertexId{7}, cable(1_GBps)), "link to a vertex that was not added");
    CHECK_THROWS_WITH(builder.add({.name = "b", .node = NodeId{0}}), "vertex `b` is in a node that was not added");
    CHECK_THROWS_WITH(builder.build(), "two vertices are called `a`");
}

TEST_CASE("fabric: Boost.Graph algorithms see the same vertices and edges", "[fabric]") {
    FabricBuilder builder("test");
    const auto a = builder.add({.name = "a"});
    const auto b = builder.add({.name = "b"});
    builder.connect(a, b, cable(5_GBps));
    const Fabric fabric = builder.build();

    const Graph& graph = fabric.graph();
    REQUIRE(num_vertices(graph.csr) == 2);
    REQUIRE(num_edges(graph.csr) == 2);
    const auto [first, last] = out_edges(static_cast<std::uint32_t>(b), graph.csr);
    REQUIRE(last - first == 1);
    CHECK(link_id(graph, *first) == fabric.links_out_of(b)[0]);
    CHECK(graph.links[graph.csr[*first].link].bandwidth == 5_GBps);
    CHECK(graph.csr[target(*first, graph.csr)].name == "a");
}
