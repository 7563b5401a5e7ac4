#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/tree_shape.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::vector<int> parents(std::uint32_t size, Twin twin) {
    std::vector<int> all;
    for (std::uint32_t v = 0; v < size; ++v) {
        const auto parent = tree_parent(v, size, twin);
        all.push_back(parent ? static_cast<int>(*parent) : -1);
    }
    return all;
}

}  // namespace

TEST_CASE("tree_parent: builds the trees that NCCL builds", "[collective]") {
    // Worked out from NCCL 2.30's ncclGetBtree and ncclGetDtree.
    CHECK(parents(1, Twin::first) == std::vector{-1});
    CHECK(parents(4, Twin::first) == std::vector{-1, 2, 0, 2});
    CHECK(parents(4, Twin::second) == std::vector{1, 3, 1, -1});
    CHECK(parents(5, Twin::first) == std::vector{-1, 2, 4, 2, 0});
    CHECK(parents(5, Twin::second) == std::vector{1, -1, 3, 0, 3});
    CHECK(parents(6, Twin::first) == std::vector{-1, 2, 4, 2, 0, 4});
    CHECK(parents(6, Twin::second) == std::vector{1, 5, 3, 1, 3, -1});
    CHECK(parents(7, Twin::first) == std::vector{-1, 2, 4, 2, 0, 6, 4});
    CHECK(parents(7, Twin::second) == std::vector{5, -1, 3, 5, 3, 1, 0});
    CHECK(parents(8, Twin::first) == std::vector{-1, 2, 4, 2, 0, 6, 4, 6});
    CHECK(parents(8, Twin::second) == std::vector{1, 3, 1, 7, 5, 3, 5, -1});
    CHECK(parents(12, Twin::first) == std::vector{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10});
}

TEST_CASE("tree_parent: both twins are binary trees of least depth, and leaves of one are inner in the other",
          "[collective]") {
    for (std::uint32_t size = 2; size <= 300; ++size) {
        CAPTURE(size);
        std::vector<int> inner(size, 0);
        for (const Twin twin : {Twin::first, Twin::second}) {
            std::vector<std::uint32_t> children(size, 0);
            std::uint32_t roots = 0;
            std::uint32_t deepest = 0;
            for (std::uint32_t v = 0; v < size; ++v) {
                std::uint32_t depth = 0;
                for (auto at = tree_parent(v, size, twin); at; at = tree_parent(*at, size, twin)) {
                    REQUIRE(++depth < size);
                }
                deepest = std::max(deepest, depth);
                const auto parent = tree_parent(v, size, twin);
                roots += parent ? 0 : 1;
                if (parent) {
                    ++children[*parent];
                }
            }
            CHECK(roots == 1);
            // ceil(log2 size) is the number of bits of size - 1.
            std::uint32_t bits = 0;
            while ((size - 1) >> bits > 0) {
                ++bits;
            }
            CHECK(deepest == bits);
            for (std::uint32_t v = 0; v < size; ++v) {
                CHECK(children[v] <= 2);
                inner[v] += children[v] > 0 ? 1 : 0;
            }
        }
        if (size % 2 == 0) {
            CHECK(std::count(inner.begin(), inner.end(), 1) == size);
        }
    }
}

TEST_CASE("rank_trees: nodes are joined at GPUs of one rail, and each rail has its pair of trees", "[collective]") {
    const auto nodes = GENERATE(2U, 3U, 4U, 5U);
    const auto island = GENERATE(Island::switched, Island::full_mesh);
    CAPTURE(nodes, island);
    const auto fabric = dgx_cluster(nodes, 4, island);
    const Communicator communicator = everybody(fabric);
    const auto trees = rank_trees(communicator);
    REQUIRE(trees.size() == 8);
    std::vector<int> leaving(communicator.size(), 0);
    for (const auto& tree : trees) {
        std::size_t inside = 0;
        for (std::size_t r = 0; r < tree.size(); ++r) {
            CHECK(tree[r].children.size() <= 3);
            if (!tree[r].parent) {
                continue;
            }
            const RankId parent = *tree[r].parent;
            if (communicator.node_of(parent) == communicator.node_of(id_at<RankId>(r))) {
                ++inside;
            } else {
                CHECK(index(parent) % 4 == r % 4);
                ++leaving[r];
            }
        }
        CHECK(inside == nodes * 3);
    }
    // Every node but the root hangs on another one, in each of a rail's two trees.
    for (std::size_t rail = 0; rail < 4; ++rail) {
        int links = 0;
        for (std::size_t r = rail; r < communicator.size(); r += 4) {
            links += leaving[r];
        }
        CHECK(links == 2 * (static_cast<int>(nodes) - 1));
    }
}
