#include <string>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

constexpr double rate = 50e9;

std::string obstacle(const Communicator& communicator, Operation operation) {
    const Request request{.operation = operation, .bytes = {1000}};
    return algorithm_named("collnet").obstacle(communicator, request).value_or("none");
}

}  // namespace

TEST_CASE("collnet: an all-reduce takes one trip up and down and S/B, however many ranks and levels", "[innetwork]") {
    const auto& kind = each_engine();
    const auto leaves = GENERATE(1U, 2U, 5U);
    const auto nodes = GENERATE(2U, 3U, 8U);
    CAPTURE(kind.name, leaves, nodes);
    const auto fabric = network({.leaves = leaves, .nodes_on_leaf = nodes, .spines = 2});
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::all_reduce, .bytes = {10'000'000}};
    // Under one leaf 0.1 + 1 us up and as much down, over a spine 2 us more each way. 10 MB / 50 GB/s = 200 us.
    const double alpha = leaves == 1 ? 2.2e-6 : 6.2e-6;
    const auto run = run_on(communicator, request, "collnet", kind);
    CHECK(run.time.value == Approx(alpha + 200e-6).epsilon(1e-9));
    CHECK(run.time.value >= run.lower_bound.value * (1 - 1e-9));
    // The tree's links carry the data once up and once down: two links for each rank, one for each leaf.
    CHECK(run.links.size() == 2 * (2 * leaves * nodes + (leaves == 1 ? 0 : leaves)));
    for (const auto& use : run.links) {
        CHECK(use.bytes == Approx(10e6).epsilon(1e-12));
    }
    const Cost cost = algorithm_named("collnet").cost(communicator, request);
    CHECK(cost.alphas == 1);
    CHECK(cost.bytes == 10e6);
}

TEST_CASE("collnet: pieces of a lone stream cost nothing", "[innetwork]") {
    const auto& kind = each_engine();
    const auto fabric = network({});
    const Request request{.operation = Operation::all_reduce, .bytes = {10'000'000}, .tuning = {.pieces = 7}};
    CHECK(run_on(everybody(fabric), request, "collnet", kind).time.value == Approx(6.2e-6 + 200e-6).epsilon(1e-9));
}

TEST_CASE("collnet: other operations of one rank a node take S/B as well", "[innetwork]") {
    const auto& kind = each_engine();
    const auto operation =
        GENERATE(Operation::reduce, Operation::broadcast, Operation::reduce_scatter, Operation::all_gather);
    CAPTURE(kind.name, name_of(operation));
    const auto fabric = network({.leaves = 3, .nodes_on_leaf = 2});
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = operation, .bytes = {12'000'000}, .root = RankId{3}};
    // 12 MB / 50 GB/s = 240 us: reductions fill every rank's way up, copies its way down.
    CHECK(run_on(communicator, request, "collnet", kind).time.value == Approx(6.2e-6 + 240e-6).epsilon(1e-9));
}

TEST_CASE("collnet: a GPU's NICs carry a part of the data each", "[innetwork]") {
    const auto& kind = each_engine();
    const auto fabric = network({.leaves = 2, .nodes_on_leaf = 2, .nics_of_gpu = 2, .spines = 2});
    const Request request{.operation = Operation::all_reduce, .bytes = {10'000'000}};
    // Two trees, one for each NIC, over a spine of its own.
    CHECK(run_on(everybody(fabric), request, "collnet", kind).time.value == Approx(6.2e-6 + 100e-6).epsilon(1e-9));
}

TEST_CASE("collnet: GPUs of a node share the NICs' work, and the slower of the stages sets the pace", "[innetwork]") {
    const auto& kind = each_engine();
    const auto inside = GENERATE(Island::reducing, Island::switched, Island::full_mesh);
    CAPTURE(kind.name, static_cast<int>(inside));
    const auto fabric = network({.leaves = 2, .nodes_on_leaf = 2, .gpus_in_node = 4, .spines = 4, .inside = inside});
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::all_reduce, .bytes = {400'000'000}, .tuning = {.pieces = 50}};
    const auto run = run_on(communicator, request, "collnet", kind);
    // A NIC carries a quarter: 100 MB / 50 GB/s = 2 ms. The islands take less: with 400 GB/s each way, (1 + 1/4) S by
    // sums in the switch is 1.25 ms, 2 * 3/4 S by messages 1.5 ms, over the three links of a mesh 0.5 ms.
    const double least = 2e-3;
    CHECK(run.time.value > least);
    // One piece of 2 MB a head enters and one leaves while the network idles: below 2 * 8 MB / 400 GB/s = 40 us.
    CHECK(run.time.value < least + 40e-6 + 10e-6);
    CHECK(run.time.value >= run.lower_bound.value * (1 - 1e-9));
    // A spine for each rail: no link carries more than a quarter between the nodes.
    for (const auto& use : run.links) {
        if (fabric.link(use.link).tier == fabric::Tier::scale_out) {
            CHECK(use.bytes == Approx(100e6));
        }
    }
}

TEST_CASE("collnet: nodes need not be alike", "[innetwork][proof]") {
    const auto inside = GENERATE(Island::reducing, Island::switched, Island::full_mesh);
    const auto fabric = network({.leaves = 2, .nodes_on_leaf = 2, .gpus_in_node = 4, .inside = inside});
    const auto all = fabric.gpus();
    // All of the first node, three of the second, two of the third.
    const Communicator communicator(fabric, {all[0], all[1], all[2], all[3], all[5], all[4], all[7], all[8], all[11]});
    for (const std::int64_t bytes : {0, 1, 1000, 10'000'000}) {
        for (const Tuning& tuning : {Tuning{}, Tuning{.pieces = 3}}) {
            check_proved(algorithm_named("collnet"), communicator,
                         {.operation = Operation::all_reduce, .bytes = {bytes}, .tuning = tuning});
        }
    }
    const Request request{.operation = Operation::all_reduce, .bytes = {10'000'000}};
    const auto run = run_on(communicator, request, "collnet", each_engine());
    CHECK(run.time.value >= run.lower_bound.value * (1 - 1e-9));
}

TEST_CASE("collnet: says what it lacks", "[innetwork][error]") {
    const auto plain = network({.spines_reduce = false});
    CHECK(obstacle(everybody(plain), Operation::all_reduce) ==
          "collnet needs a tree of network switches that can reduce from node0.gpu0 to node3.gpu0");
    const auto all = plain.gpus();
    CHECK(obstacle({plain, {all[0], all[1]}}, Operation::all_reduce) == "none");  // under one leaf
    const auto blind = network({.leaves_reduce = false});
    CHECK(obstacle(everybody(blind), Operation::all_reduce) ==
          "collnet needs a tree of network switches that can reduce from node0.gpu0 to node3.gpu0");
    const auto nothing = network({.leaves_reduce = false, .spines_reduce = false});
    CHECK(obstacle(everybody(nothing), Operation::all_reduce) == "collnet needs network switches that can reduce");
    const auto wide = network({.gpus_in_node = 2});
    CHECK(obstacle(everybody(wide), Operation::all_reduce) == "none");
    CHECK(obstacle(everybody(wide), Operation::broadcast) == "collnet does broadcast with one rank on each node only");
    const auto gpus = wide.gpus();
    CHECK(obstacle({wide, {gpus[0], gpus[1]}}, Operation::all_reduce) ==
          "collnet needs ranks on at least two nodes: it is for the network between them");
}
