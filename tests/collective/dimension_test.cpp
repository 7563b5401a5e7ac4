#include <algorithm>
#include <numeric>
#include <random>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/dimensions.h"
#include "sim/collective/direct_links.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

using Extents = std::vector<std::uint32_t>;

Extents extents_of(const RankGrid& grid) {
    Extents extents;
    for (const Dimension& dimension : grid.dimensions()) {
        extents.push_back(dimension.extent);
    }
    return extents;
}

Extents sorted(Extents extents) {
    std::sort(extents.begin(), extents.end());
    return extents;
}

/// Every GPU of the fabric in an order drawn from `seed`.
Communicator shuffled(const fabric::Fabric& fabric, std::uint64_t seed) {
    std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
    std::mt19937_64 random(seed);
    for (std::size_t i = gpus.size() - 1; i > 0; --i) {
        std::swap(gpus[i], gpus[random() % (i + 1)]);
    }
    return {fabric, gpus};
}

/// That neighbours in the grid are neighbours on the fabric, where the grid says so.
void check_neighbours(const Communicator& communicator, const RankGrid& grid) {
    const DirectLinks links(communicator.fabric(), communicator.gpus());
    for (std::uint32_t point = 0; point < grid.size(); ++point) {
        CHECK(grid.point_of(grid.rank_at(point)) == point);
        for (std::size_t d = 0; d < grid.dimension_count(); ++d) {
            const std::uint32_t at = grid.coordinate(point, d);
            if (at + 1 < grid.extent(d) || grid.dimensions()[d].wraps) {
                const std::uint32_t next = grid.moved(point, d, (at + 1) % grid.extent(d));
                CHECK(links.joins(index(grid.rank_at(point)), index(grid.rank_at(next))));
            }
        }
    }
}

}  // namespace

TEST_CASE("dimensions: of a torus or grid, whatever the order of its ranks", "[collective][dimensions]") {
    const auto extents = GENERATE(Extents{4, 4, 4}, Extents{5, 6}, Extents{3, 5, 2}, Extents{7}, Extents{8, 2, 2},
                                  Extents{2, 2}, Extents{2}, Extents{1, 3, 1, 4}, Extents{3, 3});
    const auto wrap = GENERATE(Wrap::all, Wrap::none);
    CAPTURE(extents, wrap);
    Extents longer_than_one;
    std::copy_if(extents.begin(), extents.end(), std::back_inserter(longer_than_one), [](auto e) { return e > 1; });
    const auto fabric = grid(extents, wrap);
    for (const Communicator& communicator : {everybody(fabric), shuffled(fabric, 3)}) {
        const auto found = grid_of_links(communicator);
        REQUIRE(found);
        CHECK(extents_of(*found) == longer_than_one);
        for (const Dimension& dimension : found->dimensions()) {
            CHECK(dimension.linked);
            CHECK(dimension.wraps == (wrap == Wrap::all || dimension.extent == 2));
        }
        check_neighbours(communicator, *found);
    }
}

TEST_CASE("dimensions: of a torus whose GPUs are numbered at random", "[collective][dimensions]") {
    const auto extents =
        GENERATE(Extents{5, 6}, Extents{3, 5, 2}, Extents{24}, Extents{3, 3, 3}, Extents{6, 7, 8}, Extents{2, 2, 2});
    const auto wrap = GENERATE(Wrap::all, Wrap::none);
    const auto seed = GENERATE(1U, 2U, 3U);
    CAPTURE(extents, wrap, seed);
    const auto fabric = scattered_grid(extents, wrap, seed);
    const Communicator communicator = everybody(fabric);
    const auto found = grid_of_links(communicator);
    REQUIRE(found);
    CHECK(sorted(extents_of(*found)) == sorted(extents));
    check_neighbours(communicator, *found);
}

TEST_CASE("dimensions: a ring of four is two pairs when nothing but the links says otherwise",
          "[collective][dimensions]") {
    const auto fabric = scattered_grid({4, 5}, Wrap::all, 4);
    const Communicator communicator = everybody(fabric);
    const auto found = grid_of_links(communicator);
    REQUIRE(found);
    CHECK(sorted(extents_of(*found)) == Extents{2, 2, 5});
    check_neighbours(communicator, *found);
}

TEST_CASE("dimensions: part of a torus is a grid if it is a box", "[collective][dimensions]") {
    const auto fabric = grid({4, 4}, Wrap::all);
    const auto all = fabric.gpus();
    // Two rows: 4 wraps, 2 does not need to.
    const auto rows = grid_of_links({fabric, {all.begin(), all.begin() + 8}});
    REQUIRE(rows);
    CHECK(rows->dimensions() == std::vector<Dimension>{{4, true, true}, {2, true, true}});
    // Three columns: cut out of a ring of four, they do not wrap.
    std::vector<VertexId> columns;
    std::copy_if(all.begin(), all.end(), std::back_inserter(columns), [](VertexId gpu) { return index(gpu) % 4 < 3; });
    const auto three = grid_of_links({fabric, columns});
    REQUIRE(three);
    CHECK(three->dimensions() == std::vector<Dimension>{{3, true, false}, {4, true, true}});
    CHECK_FALSE(grid_of_links({fabric, {all.begin(), all.begin() + 7}}));
    CHECK_FALSE(grid_of_links({fabric, {all[0], all[5]}}));
    CHECK_FALSE(grid_of_links({fabric, {all[0]}}));
}

TEST_CASE("dimensions: other meshes and switches are no grid", "[collective][dimensions]") {
    const auto mesh = full_mesh(5);
    CHECK_FALSE(grid_of_links(everybody(mesh)));
    const auto cube = cube_mesh();
    CHECK_FALSE(grid_of_links(everybody(cube)));
    const auto star = single_switch(8);
    CHECK_FALSE(grid_of_links(everybody(star)));
    const auto loops = dgx_cluster(2, 4, Island::loop);
    CHECK_FALSE(grid_of_links(everybody(loops)));
    // A ring with one chord.
    fabric::FabricBuilder builder("chord");
    std::vector<VertexId> gpus;
    for (std::uint32_t g = 0; g < 8; ++g) {
        gpus.push_back(builder.add({.name = "gpu" + std::to_string(g)}));
    }
    const fabric::Link link{.bandwidth = {1e9}, .line_rate = {1e9}, .latency = {1e-6}};
    for (std::uint32_t g = 0; g < 8; ++g) {
        builder.connect(gpus[g], gpus[(g + 1) % 8], link);
    }
    builder.connect(gpus[0], gpus[4], link);
    const auto chord = builder.build();
    CHECK_FALSE(grid_of_links(everybody(chord)));
}

TEST_CASE("dimensions: of nodes are their ranks, then the nodes", "[collective][dimensions]") {
    const auto fabric = dgx_cluster(3, 4, Island::switched);
    const auto found = grid_of_nodes(everybody(fabric));
    REQUIRE(found);
    CHECK(extents_of(*found) == Extents{4, 3});
    CHECK(found->rank_at(0) == RankId{0});
    CHECK(found->rank_at(1) == RankId{1});
    CHECK(found->rank_at(4) == RankId{4});
    const auto all = fabric.gpus();
    // Ranks that count across nodes first.
    const auto across = grid_of_nodes({fabric, {all[0], all[4], all[1], all[5]}});
    REQUIRE(across);
    CHECK(across->point_of(RankId{2}) == 1);
    CHECK(across->point_of(RankId{1}) == 2);
    CHECK_FALSE(grid_of_nodes({fabric, {all[0], all[1], all[4]}}));
    CHECK(grid_of_nodes({fabric, {all[0]}})->dimension_count() == 0);
}

TEST_CASE("dimensions: those asked for number the ranks, or name those of the torus", "[collective][dimensions]") {
    const auto star = single_switch(12);
    const Communicator communicator = everybody(star);
    const auto asked = grid_of_extents(communicator, {3, 1, 4});
    REQUIRE(asked);
    CHECK(asked->dimensions() == std::vector<Dimension>{{3, false, false}, {4, false, false}});
    CHECK(asked->rank_at(5) == RankId{5});
    CHECK_FALSE(grid_of_extents(communicator, {3, 3}));
    CHECK_FALSE(grid_of_extents(communicator, {65536, 65536}));
    CHECK(extents_complaint({3, 3}, 12) == "dimensions 3 x 3 are 9 ranks, but there are 12");
    CHECK(extents_complaint({65536, 65536, 65536}, 12) ==
          "dimensions 65536 x 65536 x 65536 are far more than the 12 ranks");

    const auto torus = grid({3, 5}, Wrap::all);
    const Communicator shuffled_torus = shuffled(torus, 9);
    const auto turned = grid_of_extents(shuffled_torus, {5, 3});
    REQUIRE(turned);
    CHECK(turned->dimensions() == std::vector<Dimension>{{5, true, true}, {3, true, true}});
    check_neighbours(shuffled_torus, *turned);
    const auto flat = grid_of_extents(shuffled_torus, {15});
    REQUIRE(flat);
    CHECK(flat->dimensions() == std::vector<Dimension>{{15, false, false}});
}
