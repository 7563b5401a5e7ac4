#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"

using namespace lockstep;
using namespace lockstep::collective;

// What the closed forms of docs/collectives/README.md are made of: bytes per rank and messages one after the other.

namespace {

struct Traffic {
    std::vector<std::int64_t> out;
    std::vector<std::int64_t> in;
    std::uint32_t depth;
};

Traffic traffic_of(const Communicator& communicator, const char* algorithm, Operation operation, std::int64_t bytes) {
    const Request request{.operation = operation, .bytes = {bytes}};
    const Proof proof = prove(algorithm_named(algorithm).make(communicator, request), request.bytes);
    REQUIRE(proof.holds());
    return {proof.bytes_out, proof.bytes_in, proof.depth};
}

std::vector<std::int64_t> each(std::size_t ranks, std::int64_t bytes) { return std::vector(ranks, bytes); }

std::size_t instructions(const RankProgram& program) {
    std::size_t count = 0;
    for (const Thread& thread : program) {
        for (const Block& block : thread.blocks) {
            count += block.body.size();
        }
    }
    return count;
}

}  // namespace

TEST_CASE("cost: ring takes 2(n-1) steps of 1/n of the data, halving-doubling and direct move as much in fewer",
          "[collective]") {
    const auto ranks = GENERATE(2U, 4U, 8U, 16U);
    CAPTURE(ranks);
    const auto fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    const std::int64_t bytes = 1'600'000;
    const std::int64_t once = bytes / ranks * (ranks - 1);
    std::uint32_t log2 = 0;
    while ((ranks >> log2) > 1) {
        ++log2;
    }
    struct Row {
        const char* algorithm;
        std::uint32_t steps;  // of one pass
    };
    for (const Row& row : {Row{"ring", ranks - 1}, Row{"direct", 1}, Row{"halving-doubling", log2}}) {
        CAPTURE(row.algorithm);
        const Traffic all_reduce = traffic_of(communicator, row.algorithm, Operation::all_reduce, bytes);
        CHECK(all_reduce.out == each(ranks, 2 * once));
        CHECK(all_reduce.in == each(ranks, 2 * once));
        CHECK(all_reduce.depth == 2 * row.steps);
        for (const Operation half : {Operation::reduce_scatter, Operation::all_gather}) {
            const Traffic pass = traffic_of(communicator, row.algorithm, half, bytes);
            CHECK(pass.out == each(ranks, once));
            CHECK(pass.in == each(ranks, once));
            CHECK(pass.depth == row.steps);
        }
    }
    const Traffic exchange = traffic_of(communicator, "direct", Operation::all_to_all, bytes);
    CHECK(exchange.out == each(ranks, once));
    CHECK(exchange.in == each(ranks, once));
    CHECK(exchange.depth == 1);
}

TEST_CASE("cost: a ring of one channel moves each block whole", "[collective]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    const Schedule schedule =
        algorithm_named("ring").make(communicator, {.operation = Operation::all_reduce, .bytes = {100'000'000}});
    CHECK(schedule.channels == 1);
    CHECK(schedule.chunks == 8);
    CHECK(prove(schedule, {100'000'000}).messages == 8 * 14);
}

TEST_CASE("cost: rings of a cluster divide the data among the NICs", "[collective]") {
    const auto fabric = dgx_cluster(4, 8, Island::switched);
    const Communicator communicator = everybody(fabric);
    const Traffic all_reduce = traffic_of(communicator, "ring", Operation::all_reduce, 32 * 8 * 1000);
    CHECK(all_reduce.out == each(32, 2 * 31 * 8 * 1000));
    CHECK(all_reduce.depth == 62);
}

TEST_CASE("cost: a tree sends every rank at most twice the data, in at most 2 log2 n hops and pieces", "[collective]") {
    const auto ranks = GENERATE(2U, 5U, 8U, 16U, 33U);
    CAPTURE(ranks);
    const auto fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    const Traffic all_reduce = traffic_of(communicator, "tree", Operation::all_reduce, 10'000);
    std::int64_t total = 0;
    for (const std::int64_t out : all_reduce.out) {
        // Inner in one tree (up once, down twice) and leaf in the other (up once), of half of the data each; odd
        // numbers have one rank that is inner in both.
        CHECK(out <= (ranks % 2 == 0 ? 20'000 : 30'000));
        total += out;
    }
    CHECK(total == 2 * 10'000 * (std::int64_t{ranks} - 1));  // each edge of each tree carries its half up and down
    std::uint32_t bits = 0;
    while ((ranks - 1) >> bits > 0) {
        ++bits;
    }
    CHECK(all_reduce.depth == 2 * bits);
}

TEST_CASE("cost: hierarchical sends only a share of the data between nodes", "[collective]") {
    const auto fabric = dgx_cluster(3, 4, Island::switched);
    const Communicator communicator = everybody(fabric);
    const std::int64_t bytes = 12 * 12 * 1000;
    const Traffic all_reduce = traffic_of(communicator, "hierarchical", Operation::all_reduce, bytes);
    // 2 (g-1)/g S inside and 2 (n-1)/n S/g between: g = 4, n = 3.
    CHECK(all_reduce.out == each(12, 2 * bytes * 3 / 4 + 2 * bytes / 4 * 2 / 3));
    CHECK(all_reduce.depth == 2 + 2 * 2);
}

TEST_CASE("cost: in-switch reduction sends the data once and one part more", "[collective]") {
    const auto fabric = dgx_cluster(1, 8, Island::reducing);
    const Communicator communicator = everybody(fabric);
    const std::int64_t bytes = 64'000'000;
    CHECK(traffic_of(communicator, "nvls", Operation::all_reduce, bytes).out == each(8, bytes + bytes / 8));
    CHECK(traffic_of(communicator, "nvls", Operation::all_reduce, bytes).in == each(8, bytes + bytes / 8));
    CHECK(traffic_of(communicator, "nvls", Operation::reduce_scatter, bytes).out == each(8, bytes));
    CHECK(traffic_of(communicator, "nvls", Operation::reduce_scatter, bytes).in == each(8, bytes / 8));
    CHECK(traffic_of(communicator, "nvls", Operation::all_gather, bytes).out == each(8, bytes / 8));
    CHECK(traffic_of(communicator, "nvls", Operation::all_gather, bytes).in == each(8, bytes));
    // At most 2048 pieces of all heads together: 256 of each of 8, of 31 KB.
    const Schedule schedule =
        algorithm_named("nvls").make(communicator, {.operation = Operation::all_reduce, .bytes = {bytes}});
    CHECK(schedule.chunks == 8 * 256);
}

TEST_CASE("cost: a broadcast down a chain is cut into pieces, one straight from the root is not", "[collective]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::broadcast, .bytes = {100'000'000}};
    const Schedule chain = algorithm_named("ring").make(communicator, request);
    CHECK(chain.chunks == 16 * 7);
    const Proof proof = prove(chain, request.bytes);
    CHECK(proof.depth == 7);
    CHECK(proof.bytes_out == std::vector<std::int64_t>{100'000'000, 100'000'000, 100'000'000, 100'000'000, 100'000'000,
                                                       100'000'000, 100'000'000, 0});
    const Schedule direct = algorithm_named("direct").make(communicator, request);
    CHECK(prove(direct, request.bytes).depth == 1);
    CHECK(prove(direct, request.bytes).bytes_out.front() == 700'000'000);
}

TEST_CASE("programs keep loops as loops: their length does not grow with the number of ranks", "[collective]") {
    for (const Operation operation :
         {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast}) {
        const Request request{.operation = operation, .bytes = {1'000'000'000}};
        const auto few = single_switch(4);
        const auto many = single_switch(4096);
        const auto length = [&](const fabric::Fabric& fabric) {
            return instructions(algorithm_named("ring").make(everybody(fabric), request).program(RankId{2}));
        };
        CHECK(length(few) == length(many));
        const auto two_nodes = dgx_cluster(2, 4, Island::switched);
        const auto many_nodes = dgx_cluster(256, 4, Island::switched);
        CHECK(length(two_nodes) == length(many_nodes));
    }
    const Request request{.operation = Operation::all_reduce, .bytes = {std::int64_t{1} << 40}};
    const auto four_nodes = dgx_cluster(4, 4, Island::switched);
    const auto many_nodes = dgx_cluster(256, 4, Island::switched);
    for (const char* algorithm : {"hierarchical", "tree"}) {
        std::size_t most_of_few = 0;
        std::size_t most_of_many = 0;
        const Communicator few = everybody(four_nodes);
        const Communicator many = everybody(many_nodes);
        for (std::uint32_t r = 0; r < 16; ++r) {
            most_of_few =
                std::max(most_of_few, instructions(algorithm_named(algorithm).make(few, request).program(RankId{r})));
            most_of_many =
                std::max(most_of_many, instructions(algorithm_named(algorithm).make(many, request).program(RankId{r})));
        }
        CHECK(most_of_few == most_of_many);
    }
}

TEST_CASE("algorithms: say what they cannot do and why", "[collective][error]") {
    CHECK_THROWS_WITH(algorithm_named("rnig"),
                      Catch::Contains("unknown algorithm `rnig`") && Catch::Contains("did you mean `ring`?"));
    const auto seven = single_switch(12);
    const Communicator communicator = everybody(seven);
    const Request request{.operation = Operation::all_reduce, .bytes = {100}};
    const auto obstacle = [&](const char* name, const Communicator& ranks) {
        return algorithm_named(name).obstacle(ranks, request).value_or("none");
    };
    CHECK(obstacle("hierarchical", communicator) == "hierarchical needs at least two ranks on each node");
    CHECK(obstacle("nvls", communicator) == "nvls needs a switch that can reduce and that all ranks are cabled to");
    CHECK(obstacle("ring", communicator) == "none");

    const auto fabric = dgx_cluster(2, 4, Island::reducing);
    const auto all = fabric.gpus();
    CHECK(obstacle("hierarchical", {fabric, {all[0], all[1]}}) == "hierarchical needs at least two nodes");
    CHECK(obstacle("hierarchical", {fabric, {all[0], all[1], all[4]}}) ==
          "hierarchical needs nodes of one size, not 2 ranks on one and 1 on another");
    CHECK(obstacle("nvls", {fabric, {all[0], all[4]}}) != "none");
    CHECK(obstacle("nvls", {fabric, {all[0], all[2]}}) == "none");
}

TEST_CASE("algorithms: name the pair that no path joins", "[collective][error]") {
    const auto fabric = cube_mesh();
    const Communicator communicator = everybody(fabric);
    const Request all_to_all{.operation = Operation::all_to_all, .bytes = {800}};
    // Ranks follow the ring 0-3-2-1-5-6-7-4: rank 4 is gpu5, to which gpu0 has no link.
    CHECK(algorithm_named("direct").obstacle(communicator, all_to_all) ==
          "no path leads from rank 0 (gpu0) to rank 4 (gpu5), since GPUs do not relay in this topology");
    // Along the links it goes, with blocks passed on from GPU to GPU.
    const auto names = [&](const Request& request) {
        std::vector<std::string> able;
        for (const Algorithm* algorithm : candidates(communicator, request)) {
            able.push_back(algorithm->name);
        }
        return able;
    };
    CHECK(names(all_to_all) == std::vector<std::string>{"ring"});
    CHECK(names({.operation = Operation::all_reduce, .bytes = {800}}) ==
          std::vector<std::string>{"ring", "tree", "bidirectional-ring", "chain"});
    const auto gpus = fabric.gpus();
    const Communicator strangers(fabric, {gpus[0], gpus[7]});
    CHECK(algorithm_named("ring").obstacle(strangers, all_to_all) ==
          "no path leads from rank 0 (gpu0) to rank 1 (gpu7), since GPUs do not relay in this topology");
    // A grid whose GPUs forward has a path for every pair.
    const auto forwarding = grid({4, 4}, Wrap::none);
    CHECK(algorithm_named("direct").obstacle(everybody(forwarding), all_to_all) == std::nullopt);
}
