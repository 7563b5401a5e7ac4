#include <algorithm>
#include <map>
#include <set>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/cycles.h"
#include "sim/collective/direct_links.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::vector<RankId> counting(std::uint32_t ranks) {
    std::vector<RankId> order;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        order.push_back(RankId{r});
    }
    return order;
}

bool visits_everybody_once(const Communicator& communicator, std::vector<RankId> ring) {
    std::sort(ring.begin(), ring.end());
    return ring == counting(static_cast<std::uint32_t>(communicator.size()));
}

/// How often each pair follows each other on the rings.
std::map<std::pair<VertexId, VertexId>, std::uint32_t> hops(const Communicator& communicator) {
    std::map<std::pair<VertexId, VertexId>, std::uint32_t> counted;
    for (const auto& ring : communicator.rings()) {
        for (std::size_t p = 0; p < ring.size(); ++p) {
            ++counted[{communicator.gpu(ring[p]), communicator.gpu(ring[(p + 1) % ring.size()])}];
        }
    }
    return counted;
}

std::string name(const Communicator& communicator, VertexId gpu) { return communicator.fabric().vertex(gpu).name; }

/// `node3.gpu5` -> `gpu5`
std::string rail(const Communicator& communicator, VertexId gpu) {
    const std::string full = name(communicator, gpu);
    return full.substr(full.find('.') + 1);
}

}  // namespace

TEST_CASE("rings: one, in rank order, where a switch joins all", "[collective]") {
    const auto ranks = GENERATE(1U, 2U, 3U, 8U, 72U);
    const auto alone = single_switch(ranks);
    CHECK(everybody(alone).rings() == std::vector<std::vector<RankId>>{counting(ranks)});
    const auto island = dgx_cluster(1, ranks, Island::switched);
    CHECK(everybody(island).rings() == std::vector<std::vector<RankId>>{counting(ranks)});
}

TEST_CASE("rings: six on a cube mesh use every NVLink in both directions in full", "[collective]") {
    const auto fabric = cube_mesh();
    const Communicator communicator = everybody(fabric);
    REQUIRE(communicator.rings().size() == 6);
    for (const auto& ring : communicator.rings()) {
        CHECK(visits_everybody_once(communicator, ring));
    }
    // 6 rings of 8 hops are 48 hops: as many as there are NVLinks and directions (24 cables).
    const auto counted = hops(communicator);
    std::uint32_t cables = 0;
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        CAPTURE(name(communicator, fabric.from(link)), name(communicator, fabric.to(link)));
        REQUIRE(counted.count({fabric.from(link), fabric.to(link)}) == 1);
        CHECK(counted.at({fabric.from(link), fabric.to(link)}) == fabric.link(link).cables);
        cables += fabric.link(link).cables;
    }
    CHECK(cables == 48);
}

TEST_CASE("placement: a cube mesh is walked along its double links", "[collective]") {
    const auto fabric = cube_mesh();
    const auto placed = default_placement(fabric, std::nullopt);
    std::string order;
    for (const VertexId gpu : placed) {
        order += fabric.vertex(gpu).name.substr(3);
    }
    CHECK(order == "03215674");  // the ring 0-4-7-6-5-1-2-3, the other way round
    const DirectLinks links(fabric, placed);
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(links.bandwidth(i, (i + 1) % 8) == Bandwidth{50e9});
    }
    // The first four GPUs among themselves: 0-3, 3-2 and 2-1 are double.
    order.clear();
    for (const VertexId gpu : default_placement(fabric, 4)) {
        order += fabric.vertex(gpu).name.substr(3);
    }
    CHECK(order == "0123");
}

TEST_CASE("rings: a full mesh is taken apart into disjoint rings", "[collective]") {
    // Every number of GPUs but 4 and 6 allows n - 1 (Tillson 1980), which uses every link in both directions; those
    // allow n - 2.
    const auto gpus = GENERATE(range(3U, 17U));
    CAPTURE(gpus);
    const auto fabric = full_mesh(gpus);
    const Communicator communicator = everybody(fabric);
    CHECK(communicator.rings().size() == (gpus == 4 || gpus == 6 ? gpus - 2 : gpus - 1));
    for (const auto& [pair, times] : hops(communicator)) {
        CHECK(times == 1);
    }
    for (const auto& ring : communicator.rings()) {
        CHECK(visits_everybody_once(communicator, ring));
    }
}

TEST_CASE("rings: across nodes, every hop stays on a rail and every NIC carries one each way", "[collective]") {
    const auto nodes = GENERATE(2U, 3U, 4U, 5U, 8U);
    const auto gpus = GENERATE(2U, 4U, 8U);
    const auto island = GENERATE(Island::switched, Island::full_mesh, Island::loop);
    if (nodes % 2 == 1 && (gpus == 2 || island != Island::switched)) {
        return;  // two even nodes meet where the ring closes: one hop changes rails
    }
    CAPTURE(nodes, gpus, island);
    const auto fabric = dgx_cluster(nodes, gpus, island);
    const Communicator communicator = everybody(fabric);
    REQUIRE(communicator.rings().size() == gpus);
    std::map<VertexId, std::uint32_t> leaving;
    std::map<VertexId, std::uint32_t> entering;
    for (const auto& ring : communicator.rings()) {
        REQUIRE(visits_everybody_once(communicator, ring));
    }
    for (const auto& [pair, times] : hops(communicator)) {
        if (fabric.vertex(pair.first).node == fabric.vertex(pair.second).node) {
            const std::vector<VertexId> ends{pair.first, pair.second};
            CHECK((island == Island::switched || gpus == 2 || DirectLinks(fabric, ends).joins(0, 1)));
            continue;
        }
        CHECK(rail(communicator, pair.first) == rail(communicator, pair.second));
        leaving[pair.first] += times;
        entering[pair.second] += times;
    }
    CHECK(leaving.size() == communicator.size());
    CHECK(entering.size() == communicator.size());
    for (const VertexId gpu : communicator.gpus()) {
        CHECK(leaving[gpu] == 1);
        CHECK(entering[gpu] == 1);
    }
}

TEST_CASE("rings: inside meshed nodes of a cluster every link carries one ring", "[collective]") {
    const auto fabric = dgx_cluster(2, 8, Island::full_mesh);
    const Communicator communicator = everybody(fabric);
    std::uint32_t inside = 0;
    for (const auto& [pair, times] : hops(communicator)) {
        if (fabric.vertex(pair.first).node == fabric.vertex(pair.second).node) {
            CHECK(times == 1);
            inside += times;
        }
    }
    CHECK(inside == 2 * 8 * 7);  // all links of both nodes
}

TEST_CASE("rings: no more than a GPU can feed", "[collective]") {
    // 12 NICs of 50 GB/s in each node, but each GPU has 450 GB/s and is on every ring: 9.
    const auto fabric = dgx_cluster(2, 12, Island::switched);
    CHECK(everybody(fabric).rings().size() == 9);
}

TEST_CASE("rings: nodes of different size, or with one GPU each, make one ring, node by node", "[collective]") {
    const auto fabric = dgx_cluster(3, 4, Island::switched);
    const auto all = fabric.gpus();
    const Communicator uneven(fabric, {all[0], all[4], all[1], all[5], all[8]});
    CHECK(uneven.rings() == std::vector<std::vector<RankId>>{{RankId{0}, RankId{2}, RankId{1}, RankId{3}, RankId{4}}});
    const Communicator one_rail(fabric, {all[1], all[5], all[9]});
    CHECK(one_rail.rings() == std::vector<std::vector<RankId>>{counting(3)});
    const Communicator pairs(fabric, {all[0], all[1], all[4], all[5]});
    CHECK(pairs.rings().size() == 2);
}

TEST_CASE("rings: a torus is walked both ways along its links", "[collective]") {
    const auto extents = GENERATE(std::vector<std::uint32_t>{4, 4, 4}, std::vector<std::uint32_t>{5, 6},
                                  std::vector<std::uint32_t>{3, 5, 2}, std::vector<std::uint32_t>{20},
                                  std::vector<std::uint32_t>{8, 2, 2});
    CAPTURE(extents);
    const auto fabric = grid(extents, Wrap::all);
    const Communicator communicator = everybody(fabric);
    REQUIRE(communicator.rings().size() == 2);
    CHECK(communicator.rings()[0] == counting(static_cast<std::uint32_t>(communicator.size())));
    const DirectLinks links(fabric, communicator.gpus());
    for (const auto& ring : communicator.rings()) {
        CHECK(visits_everybody_once(communicator, ring));
        for (std::size_t p = 0; p < ring.size(); ++p) {
            CHECK(links.joins(index(ring[p]), index(ring[(p + 1) % ring.size()])));
        }
    }
}

TEST_CASE("rings: a grid without wraparound closes when a dimension is even", "[collective]") {
    const auto extents = GENERATE(std::vector<std::uint32_t>{4, 5}, std::vector<std::uint32_t>{5, 4},
                                  std::vector<std::uint32_t>{3, 4, 3}, std::vector<std::uint32_t>{2, 9});
    CAPTURE(extents);
    const auto fabric = grid(extents, Wrap::none);
    const Communicator communicator = everybody(fabric);
    const DirectLinks links(fabric, communicator.gpus());
    for (std::size_t r = 0; r < communicator.size(); ++r) {
        CHECK(links.joins(r, (r + 1) % communicator.size()));
    }
}

TEST_CASE("rings: a grid of odd dimensions is at least a path", "[collective]") {
    // Coloured like a chess board it has one place more of one colour: no cycle can close.
    const auto fabric = grid({5, 5}, Wrap::none);
    const Communicator communicator = everybody(fabric);
    const DirectLinks links(fabric, communicator.gpus());
    for (std::size_t r = 0; r + 1 < communicator.size(); ++r) {
        CHECK(links.joins(r, r + 1));
    }
    CHECK(visits_everybody_once(communicator, communicator.rings().front()));
}

TEST_CASE("rings: a ring of GPUs numbered at random is found by walking", "[collective]") {
    fabric::FabricBuilder builder("shuffled");
    std::vector<VertexId> gpus;
    for (std::uint32_t g = 0; g < 24; ++g) {
        gpus.push_back(builder.add({.name = "gpu" + std::to_string(g)}));
    }
    for (std::uint32_t i = 0; i < 24; ++i) {  // 7 and 24 have no common divisor: i -> 7i visits all
        builder.connect(gpus[7 * i % 24], gpus[7 * (i + 1) % 24],
                        {.bandwidth = {1e9}, .line_rate = {1e9}, .latency = {1e-6}});
    }
    const auto fabric = builder.build();
    const Communicator communicator = everybody(fabric);
    const DirectLinks links(fabric, communicator.gpus());
    for (std::size_t r = 0; r < 24; ++r) {
        CHECK(links.joins(r, (r + 1) % 24));
    }
}

TEST_CASE("placement: GPUs on switches stay in natural order", "[collective]") {
    // Also beyond ten: gpu10 comes after gpu9, not after gpu1.
    const auto fabric = single_switch(12);
    const auto placed = default_placement(fabric, std::nullopt);
    for (std::size_t r = 0; r < placed.size(); ++r) {
        CHECK(fabric.vertex(placed[r]).name == "gpu" + std::to_string(r));
    }
    CHECK(default_placement(fabric, 3).size() == 3);
    CHECK_THROWS_WITH(default_placement(fabric, 13), "13 ranks to place on 12 GPUs");
}

TEST_CASE("communicator: knows nodes and refuses what cannot be", "[collective][error]") {
    const auto fabric = dgx_cluster(2, 2, Island::reducing);
    const auto all = fabric.gpus();
    const Communicator communicator(fabric, {all[3], all[0], all[2]});
    CHECK(communicator.nodes() == std::vector<std::vector<RankId>>{{RankId{0}, RankId{2}}, {RankId{1}}});
    CHECK(communicator.node_of(RankId{1}) == 1);
    CHECK(communicator.can_reduce_in_switch(std::vector{RankId{0}, RankId{2}}));
    CHECK_FALSE(communicator.can_reduce_in_switch(std::vector{RankId{0}, RankId{1}}));
    CHECK_THROWS_AS(Communicator(fabric, {}), std::invalid_argument);
    CHECK_THROWS_AS(Communicator(fabric, {all[0], all[0]}), std::invalid_argument);
    CHECK_THROWS_AS(Communicator(fabric, {*fabric.find("spine")}), std::invalid_argument);
}
