#include <algorithm>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/tree_shape.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::size_t depth_of(const std::vector<TreePlace>& tree) {
    std::size_t deepest = 0;
    for (std::size_t rank = 0; rank < tree.size(); ++rank) {
        std::size_t depth = 0;
        for (auto at = tree[rank].parent; at; at = tree[index(*at)].parent) {
            REQUIRE(++depth < tree.size());
        }
        deepest = std::max(deepest, depth);
    }
    return deepest;
}

}  // namespace

TEST_CASE("rooted_rank_trees: the root feeds two binary trees over the others, and nobody sends more than it gets",
          "[tree]") {
    const auto ranks = GENERATE(2U, 3U, 4U, 5U, 8U, 13U, 16U, 31U);
    const auto fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    for (std::uint32_t root = 0; root < ranks; ++root) {
        CAPTURE(ranks, root);
        const auto trees = rooted_rank_trees(communicator, RankId{root});
        REQUIRE(trees.size() == 2);
        for (const auto& tree : trees) {
            CHECK(depth_of(tree) <= tree_depth(communicator, TreeRoot::given));
            CHECK_FALSE(tree[root].parent);
            CHECK(tree[root].children.size() == 1);
            CHECK(std::count_if(tree.begin(), tree.end(), [](const TreePlace& p) { return !p.parent; }) == 1);
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            // Each child takes half of the data.
            CHECK(trees[0][rank].children.size() + trees[1][rank].children.size() <= 2);
        }
    }
}

TEST_CASE("rooted_rank_trees: with several GPUs to a node every NIC carries its rail's share", "[tree]") {
    const auto island = GENERATE(Island::switched, Island::full_mesh, Island::loop);
    const auto nodes = GENERATE(1U, 2U, 4U, 5U);
    const auto fabric = dgx_cluster(nodes, 4, island);
    const Communicator communicator = everybody(fabric);
    for (std::uint32_t root = 0; root < communicator.size(); root += 3) {
        CAPTURE(nodes, island, root);
        const auto trees = rooted_rank_trees(communicator, RankId{root});
        CHECK(trees.size() == 2 * communicator.rings().size());
        std::vector<int> leaving(communicator.size(), 0);
        for (const auto& tree : trees) {
            CHECK(depth_of(tree) <= tree_depth(communicator, TreeRoot::given));
            for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
                CHECK(tree[rank].parent.has_value() == (rank != root));
                for (const RankId child : tree[rank].children) {
                    leaving[rank] += communicator.node_of(child) == communicator.node_of(id_at<RankId>(rank)) ? 0 : 1;
                }
            }
        }
        // A rail has two trees, and a node sends to two others in all by each of its rails.
        CHECK(*std::max_element(leaving.begin(), leaving.end()) <= 2);
    }
}

TEST_CASE("tree: a broadcast and a reduce run at the port's full rate once the trees are filled", "[tree]") {
    const auto& kind = each_engine();
    const auto operation = GENERATE(Operation::broadcast, Operation::reduce);
    const auto ranks = GENERATE(4U, 8U, 15U);
    CAPTURE(kind.name, name_of(operation), ranks);
    const auto fabric = single_switch(ranks, {50e9}, {0.5e-6});
    const Communicator communicator = everybody(fabric);
    const Request request{
        .operation = operation, .bytes = {96'000'000}, .root = RankId{ranks / 2}, .tuning = {.pieces = 96}};
    const auto run = run_on(communicator, request, "tree", kind);
    // Both trees move at half the rate, so that 96 pieces of 500 kB take 20 us each, and the last has h - 1 hops to go
    // behind the first: h α + (96 + h - 1) 20 us, where h is 1 + ceil(log2(n-1)).
    const auto hops = static_cast<double>(tree_depth(communicator, TreeRoot::given));
    CHECK(run.time.value == Approx(hops * 1e-6 + (95 + hops) * 20e-6).epsilon(0.02));
    CHECK(run.time.value >= run.lower_bound.value);
}

TEST_CASE("tree: one tree alone sends everything to two children", "[tree]") {
    const auto& kind = each_engine();
    const auto fabric = single_switch(8, {50e9}, {0.5e-6});
    const Communicator communicator = everybody(fabric);
    const auto time = [&](std::uint32_t channels) {
        const Request request{
            .operation = Operation::broadcast, .bytes = {96'000'000}, .tuning = {.pieces = 96, .channels = channels}};
        return run_on(communicator, request, "tree", kind).time.value;
    };
    // 96 MB / 50 GB/s = 1.92 ms; an inner rank sends it twice.
    CHECK(time(1) > 2 * 1.92e-3);
    CHECK(time(1) < 2 * 1.92e-3 * 1.1);
    CHECK(time(2) < 1.92e-3 * 1.1);
    CHECK(time(9) == time(2));  // there are no more
}

TEST_CASE("tree: cuts data as asked", "[tree]") {
    const auto fabric = single_switch(6);
    for (const Operation operation : {Operation::all_reduce, Operation::broadcast, Operation::reduce}) {
        const Request request{
            .operation = operation, .bytes = {1'000'000}, .root = RankId{4}, .tuning = {.pieces = 5, .channels = 1}};
        CHECK(algorithm_named("tree").make(everybody(fabric), request).chunks == 5);
        check_proved(algorithm_named("tree"), everybody(fabric), request);
    }
}

TEST_CASE("tree: broadcasts and reduces to any root on nodes of any kind", "[tree][proof]") {
    const auto island = GENERATE(Island::switched, Island::full_mesh, Island::loop);
    const auto nodes = GENERATE(1U, 2U, 3U);
    const auto fabric = dgx_cluster(nodes, 4, island);
    const Communicator communicator = everybody(fabric);
    for (std::uint32_t root = 0; root < communicator.size(); ++root) {
        for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
            check_proved(algorithm_named("tree"), communicator,
                         {.operation = operation, .bytes = {100'003}, .root = RankId{root}, .tuning = {.pieces = 2}});
        }
    }
}
