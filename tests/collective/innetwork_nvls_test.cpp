#include <cmath>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using namespace lockstep::collective;

TEST_CASE("nvls: busbw of 8 GPUs reaches 2(N-1)/(N+1) of the link rate, which a ring cannot", "[innetwork]") {
    const auto& kind = each_engine();
    const auto fabric = test::star(8, Bandwidth{50e9}, Seconds{0.5e-6}, true);
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::all_reduce, .bytes = {1 << 30}};
    const auto busbw = [&](const char* algorithm) {
        const auto run = run_on(communicator, request, algorithm, kind);
        return busbw_factor(Operation::all_reduce, 8) * (run.bytes / run.time).value;
    };
    // Every port carries S and S/8: algbw 8/9 of the rate, busbw 2 * 7/8 * 8/9 = 14/9 of it. 256 pieces lose
    // 7/8 / 256 of S/B, a third of a percent.
    CHECK(busbw("nvls") > 0.995 * 14. / 9 * 50e9);
    CHECK(busbw("nvls") <= 14. / 9 * 50e9);
    CHECK(busbw("ring") < 50e9);
}

TEST_CASE("nvls: all-reduce takes its closed forms, where latency is hidden and where it is not", "[innetwork]") {
    const auto& kind = each_engine();
    const auto ranks = GENERATE(2U, 3U, 8U);
    const auto pieces = GENERATE(1U, 2U, 8U);
    CAPTURE(kind.name, ranks, pieces);
    const double alpha = 4e-6;
    const double rate = 50e9;
    const auto fabric = test::star(ranks, Bandwidth{rate}, Seconds{alpha / 2}, true);
    const double n = ranks;
    const double k = pieces;
    for (const std::int64_t part : {800, 800'000}) {  // of a rank
        const Request request{
            .operation = Operation::all_reduce, .bytes = {part * ranks}, .tuning = {.pieces = pieces}};
        const double whole = n * static_cast<double>(part) / rate;
        // The sums of all pieces take S/B; a first copy can start 2α + S/(kB) after the beginning. If that is later
        // than the last sum, copies follow by themselves: S/B. Else sums and copies share the ports at (n+1)/n S/B in
        // all; what is lost is (n-1)/n of a port's time for one piece at each end, and α but for what sums did in it.
        const double hidden = (2 - 1 / n) * alpha + ((n + 1) / n + (n - 1) / n / k) * whole;
        const double bare = 2 * alpha + (1 + 1 / k) * whole;
        const double expected = alpha >= (1 - 1 / k) * whole ? bare : hidden;
        CHECK(run_on(everybody(fabric), request, "nvls", kind).time.value == Approx(expected).epsilon(1e-9));
        const Cost cost = algorithm_named("nvls").cost(everybody(fabric), request);
        CHECK(cost.alphas * alpha + cost.bytes / rate == Approx(expected).epsilon(1e-9));
    }
}

TEST_CASE("nvls: a broadcast and a reduce take one S/B, whoever is the root", "[innetwork]") {
    const auto& kind = each_engine();
    const auto root = GENERATE(0U, 5U);
    const auto fabric = test::star(6, Bandwidth{50e9}, Seconds{1e-6}, true);
    for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
        for (const Tuning& tuning : {Tuning{}, Tuning{.pieces = 5}}) {
            const Request request{
                .operation = operation, .bytes = {10'000'000}, .root = RankId{root}, .tuning = tuning};
            // 10 MB / 50 GB/s and two links of 1 us.
            CHECK(run_on(everybody(fabric), request, "nvls", kind).time.value == Approx(202e-6).epsilon(1e-9));
            check_proved(algorithm_named("nvls"), everybody(fabric), request);
        }
    }
}

TEST_CASE("nvls-tree: sums inside nodes, trees on rails between them", "[innetwork]") {
    const auto& kind = each_engine();
    const auto nodes = GENERATE(2U, 3U, 6U);
    CAPTURE(kind.name, nodes);
    const auto fabric = network({.leaves = 1, .nodes_on_leaf = nodes, .gpus_in_node = 4});
    const Request request{.operation = Operation::all_reduce, .bytes = {80'000'000}};
    const auto run = run_on(everybody(fabric), request, "nvls-tree", kind);
    double busiest = 0;
    double to_islands = 0;
    for (const auto& use : run.links) {
        const auto& link = fabric.link(use.link);
        busiest = link.tier == fabric::Tier::scale_out ? std::max(busiest, use.bytes) : busiest;
        const bool up = fabric.vertex(fabric.from(use.link)).kind == fabric::VertexKind::gpu;
        to_islands = link.tier == fabric::Tier::scale_up && up ? std::max(to_islands, use.bytes) : to_islands;
    }
    // A head has 20 MB of the data, 10 MB in each tree, which go up to a parent and down to each child. Of two nodes
    // each is the other's child once and parent once; of three one has a child in both trees and a parent in one; from
    // four on an inner node has two children in one tree and a parent in both.
    CHECK(busiest == Approx(nodes == 2 ? 20e6 : nodes == 3 ? 30e6 : 40e6));
    // To the switch: everything once for the sums, and the head's part again for the copies.
    CHECK(to_islands == Approx(100e6));
    // 64 pieces in each tree: the links' time, and less than a third of it to fill 2 log2 + 2 stages.
    CHECK(run.time.value > busiest / 50e9);
    CHECK(run.time.value < 4. / 3 * busiest / 50e9 + 50e-6);
}

TEST_CASE("nvls-tree: is proved on nodes of any number and size", "[innetwork][proof]") {
    const auto nodes = GENERATE(2U, 3U, 4U, 5U, 7U, 8U);
    const auto gpus = GENERATE(2U, 3U);
    const auto fabric = network({.leaves = 1, .nodes_on_leaf = nodes, .gpus_in_node = gpus});
    for (const Tuning& tuning : {Tuning{}, Tuning{.pieces = 3, .channels = 1}, Tuning{.pieces = 2}}) {
        check_proved(algorithm_named("nvls-tree"), everybody(fabric),
                     {.operation = Operation::all_reduce, .bytes = {100'003}, .tuning = tuning});
    }
    // One more node, but with two of its three GPUs only.
    if (gpus == 3) {
        std::vector<VertexId> some(fabric.gpus().begin(), fabric.gpus().end() - 1);
        check_proved(algorithm_named("nvls-tree"), {fabric, some},
                     {.operation = Operation::all_reduce, .bytes = {100'003}});
    }
}

TEST_CASE("nvls-tree: says what it lacks", "[innetwork][error]") {
    const Request request{.operation = Operation::all_reduce, .bytes = {1000}};
    const auto obstacle = [&](const fabric::Fabric& fabric) {
        return algorithm_named("nvls-tree").obstacle(everybody(fabric), request).value_or("none");
    };
    CHECK(obstacle(network({.gpus_in_node = 2})) == "none");
    CHECK(obstacle(network({.leaves = 1, .nodes_on_leaf = 1, .gpus_in_node = 2})) ==
          "nvls-tree needs ranks on at least two nodes");
    const std::string inside =
        "nvls-tree needs on each node several ranks and a switch that can reduce and that they are cabled to";
    CHECK(obstacle(network({.gpus_in_node = 2, .inside = Island::switched})) == inside);
    CHECK(obstacle(network({.gpus_in_node = 1})) == inside);
}
