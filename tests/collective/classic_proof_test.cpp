#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

constexpr const char* classics[] = {"direct",   "halving-doubling", "recursive-doubling", "binomial-tree",      "bruck",
                                    "pairwise", "one-shot",         "scatter-all-gather", "nccl-point-to-point"};

std::shared_ptr<const SizeMatrix> uneven_sizes(std::uint32_t ranks) {
    SizeMatrix sizes{.ranks = ranks};
    for (std::uint32_t i = 0; i < ranks * ranks; ++i) {
        sizes.bytes.push_back({static_cast<std::int64_t>(i * 7919 % 1000)});  // some pairs have nothing
    }
    return std::make_shared<const SizeMatrix>(std::move(sizes));
}

Request request_for(Operation operation, std::uint32_t ranks, std::int64_t bytes, std::uint32_t root) {
    Request request{.operation = operation, .bytes = {bytes}, .root = RankId{root}};
    if (operation == Operation::barrier) {
        request.bytes = {};
    }
    if (operation == Operation::all_to_all_v) {
        request.sizes = uneven_sizes(ranks);
    }
    return request;
}

std::vector<std::string> texts(const Proof& proof) {
    std::vector<std::string> all;
    for (const Finding& finding : proof.findings) {
        all.push_back(finding.text);
    }
    return all;
}

Proof proof_of(const Communicator& communicator, const char* name, const Request& request,
               Turns turns = Turns::forward) {
    const Algorithm& algorithm = algorithm_named(name);
    REQUIRE(algorithm.obstacle(communicator, request) == std::nullopt);
    return prove(algorithm.make(communicator, request), request.bytes, turns);
}

void prove_all(const Communicator& communicator, std::int64_t bytes, const std::vector<std::uint32_t>& roots) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    for (const char* name : classics) {
        const Algorithm& algorithm = algorithm_named(name);
        for (const Operation operation : algorithm.operations) {
            for (const std::uint32_t root : has_root(operation) ? roots : std::vector<std::uint32_t>{0}) {
                const Request request = request_for(operation, ranks, bytes, root);
                for (const Turns turns : {Turns::forward, Turns::backward}) {
                    CAPTURE(name, name_of(operation), ranks, root);
                    const Proof proof = proof_of(communicator, name, request, turns);
                    CHECK(texts(proof) == std::vector<std::string>{});
                    CHECK(static_cast<double>(proof.messages) == algorithm.messages(communicator, request));
                }
            }
        }
    }
}

std::vector<std::uint32_t> all_roots(std::uint32_t ranks) {
    std::vector<std::uint32_t> roots;
    for (std::uint32_t root = 0; root < ranks; ++root) {
        roots.push_back(root);
    }
    return roots;
}

/// What each rank sends, in order: "1:3,4 " is chunks 3 and 4 to rank 1.
std::string sends_of(const Schedule& schedule, std::uint32_t rank) {
    std::string text;
    for (const Thread& thread : schedule.program(RankId{rank})) {
        for (const Block& block : thread.blocks) {
            for (const Instruction& instruction : block.body) {
                if (instruction.verb != Verb::send) {
                    continue;
                }
                text += std::to_string(index(instruction.peer)) + ":";
                std::vector<std::uint32_t> chunks;
                for (std::uint32_t i = 0; i < instruction.count; ++i) {
                    chunks.push_back(instruction.chunk.at(0) + i);
                }
                for (const std::uint32_t chunk : instruction.chunks ? *instruction.chunks : chunks) {
                    text += std::to_string(chunk) + ",";
                }
                text.back() = ' ';
            }
        }
    }
    return text;
}

Schedule schedule_of(const char* name, Operation operation, std::uint32_t ranks, std::uint32_t root = 0) {
    const auto fabric = single_switch(ranks);
    return algorithm_named(name).make(everybody(fabric), request_for(operation, ranks, 1000, root));
}

}  // namespace

TEST_CASE("classic: every algorithm delivers for few ranks and every root", "[collective][proof]") {
    const auto ranks = GENERATE(range(1U, 13U));
    const auto fabric = single_switch(ranks);
    prove_all(everybody(fabric), 10'007, all_roots(ranks));
}

TEST_CASE("classic: every algorithm delivers for many ranks and some roots", "[collective][proof]") {
    const auto ranks = GENERATE(13U, 16U, 24U, 33U);
    const auto fabric = single_switch(ranks);
    prove_all(everybody(fabric), 100'000, {1, ranks - 1});
}

TEST_CASE("classic: every algorithm delivers on nodes of equal and unequal size", "[collective][proof]") {
    struct Cluster {
        std::uint32_t nodes;
        std::uint32_t gpus;
    };
    const auto cluster = GENERATE(Cluster{1, 8}, Cluster{2, 4}, Cluster{3, 6}, Cluster{3, 8});
    const auto fabric = dgx_cluster(cluster.nodes, cluster.gpus, Island::switched);
    prove_all(everybody(fabric), 1'000'003, {0, 3});
    const auto all = fabric.gpus();
    const Communicator without_first(fabric, {all.begin() + 1, all.end()});
    prove_all(without_first, 1'000'003, {0, 3});
}

TEST_CASE("classic: vectors shorter than ranks, and of nothing, are delivered", "[collective][proof]") {
    const auto bytes = GENERATE(0, 1, 3);
    for (const std::uint32_t ranks : {5U, 8U}) {
        const auto fabric = single_switch(ranks);
        prove_all(everybody(fabric), bytes, {0, 2});
    }
}

TEST_CASE("classic: short broadcasts of powers of two spread by doubling, others round the ring", "[collective]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    const auto depth = [&](std::int64_t bytes) {
        return proof_of(communicator, "scatter-all-gather", request_for(Operation::broadcast, 8, bytes, 0)).depth;
    };
    CHECK(depth((512 << 10) - 1) == 3 + 3);
    CHECK(depth(512 << 10) == 3 + 7);
}

TEST_CASE("classic: bytes per rank and messages one after the other are the book's", "[collective]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    struct Row {
        const char* algorithm;
        Operation operation;
        std::int64_t most_out;  // in eighths of the vector
        std::int64_t most_in;
        std::uint32_t depth;
    };
    // 8 ranks, so 3 steps of doubling. Reduce by halves: 7 eighths sent, then at most 4 (rank 4's half) to the root.
    const auto row = GENERATE(
        Row{"halving-doubling", Operation::all_reduce, 14, 14, 6},
        Row{"halving-doubling", Operation::reduce, 11, 14, 6},
        Row{"recursive-doubling", Operation::all_reduce, 24, 24, 3},
        Row{"recursive-doubling", Operation::all_gather, 7, 7, 3}, Row{"binomial-tree", Operation::broadcast, 24, 8, 3},
        Row{"binomial-tree", Operation::reduce, 8, 24, 3}, Row{"binomial-tree", Operation::all_reduce, 24, 24, 6},
        Row{"binomial-tree", Operation::scatter, 7, 4, 3}, Row{"binomial-tree", Operation::gather, 4, 7, 3},
        Row{"bruck", Operation::all_gather, 7, 7, 3}, Row{"bruck", Operation::reduce_scatter, 7, 7, 3},
        Row{"bruck", Operation::all_reduce, 14, 14, 6}, Row{"bruck", Operation::all_to_all, 12, 12, 3},
        Row{"pairwise", Operation::all_to_all, 7, 7, 7}, Row{"pairwise", Operation::reduce_scatter, 7, 7, 7},
        Row{"one-shot", Operation::all_reduce, 56, 56, 1},
        Row{"scatter-all-gather", Operation::broadcast, 14, 7 + 4, 10},
        Row{"nccl-point-to-point", Operation::all_to_all, 7, 7, 1}, Row{"direct", Operation::reduce, 8, 56, 1},
        Row{"direct", Operation::gather, 1, 7, 1}, Row{"direct", Operation::scatter, 7, 1, 1},
        Row{"direct", Operation::send_recv, 8, 8, 1});
    CAPTURE(row.algorithm, name_of(row.operation));
    const Proof proof = proof_of(communicator, row.algorithm, request_for(row.operation, 8, 8'000'000, 0));
    CHECK(*std::max_element(proof.bytes_out.begin(), proof.bytes_out.end()) == row.most_out * 1'000'000);
    CHECK(*std::max_element(proof.bytes_in.begin(), proof.bytes_in.end()) == row.most_in * 1'000'000);
    CHECK(proof.depth == row.depth);
}

TEST_CASE("classic: the pairs of an odd number of ranks halve the vector between them", "[collective]") {
    // 3 ranks are 2 corners: rank 0, and ranks 1 and 2. The vector is chunk 0 (corner 0's) and chunk 1.
    const Schedule schedule = schedule_of("halving-doubling", Operation::all_reduce, 3);
    CHECK(schedule.chunks == 2);
    // Rank 0 gives chunk 1 to the one of the pair that has its sum, rank 2, and later its own sum of chunk 0 to rank 1.
    CHECK(sends_of(schedule, 0) == "2:1 1:0 ");
    // Rank 1 leaves chunk 1 to rank 2, gives the pair's sum of chunk 0 to rank 0, and passes the result of it on.
    CHECK(sends_of(schedule, 1) == "2:1 0:0 2:0 ");
    // Rank 2 leaves chunk 0 to rank 1, gets the sum of chunk 1, and gives it to both.
    CHECK(sends_of(schedule, 2) == "1:0 0:1 1:1 ");
    // 12 ranks on 8 corners: ranks 0 | 1 2 | 3 | 4 5 | 6 | 7 8 | 9 | 10 11. Of a pair, the one that goes on receives
    // 1/2 from the other and 7/8 while halving, then 3/8 while doubling (up to its half) and 1/2 from the other: 2.25
    // S. Messages one after the other: one in the pair and 3 of halving, and back.
    const auto fabric = single_switch(12);
    const Proof proof =
        proof_of(everybody(fabric), "halving-doubling", request_for(Operation::all_reduce, 12, 8'000'000, 0));
    CHECK(*std::max_element(proof.bytes_in.begin(), proof.bytes_in.end()) == 18'000'000);
    CHECK(*std::max_element(proof.bytes_out.begin(), proof.bytes_out.end()) == 18'000'000);
    CHECK(proof.depth == 9);
}

TEST_CASE("classic: a reduction of paired ranks takes as many messages to every root", "[collective]") {
    const auto root = GENERATE(range(0U, 6U));
    const auto fabric = single_switch(6);
    // The root is always alone on its corner: 0 | 1 2 | 3 | 4 5 counted from the root. One message in the pairs, one of
    // halving between them, two of halving with the single ones, which wait; the sum of a quarter comes from there, to
    // be gathered in two.
    CHECK(proof_of(everybody(fabric), "halving-doubling", request_for(Operation::reduce, 6, 1000, root)).depth == 6);
}

TEST_CASE("classic: binomial trees serve the largest subtree first", "[collective]") {
    // 6 ranks from root 2: places 0..5 are ranks 2 3 4 5 0 1. Place 0 -> 4, 2, 1; 4 -> 5; 2 -> 3.
    const Schedule broadcast = schedule_of("binomial-tree", Operation::broadcast, 6, 2);
    CHECK(sends_of(broadcast, 2) == "0:0 4:0 3:0 ");
    CHECK(sends_of(broadcast, 0) == "1:0 ");
    CHECK(sends_of(broadcast, 4) == "5:0 ");
    CHECK(sends_of(broadcast, 3).empty());
    const Schedule scatter = schedule_of("binomial-tree", Operation::scatter, 6, 2);
    CHECK(sends_of(scatter, 2) == "0:0,1 4:4,5 3:3 ");
    CHECK(sends_of(scatter, 0) == "1:1 ");
    // From root 3 the subtree of place 2 is ranks 5 and 0: not in a row.
    CHECK(sends_of(schedule_of("binomial-tree", Operation::scatter, 6, 3), 3) == "1:1,2 5:5,0 4:4 ");
    CHECK(sends_of(schedule_of("binomial-tree", Operation::gather, 6, 3), 5) == "3:5,0 ");
}

TEST_CASE("classic: Bruck's partners are 1, 2, 4 ranks on, and the last message carries what is missing",
          "[collective]") {
    // 6 ranks: rank 4 sends its own block to 3, its two to 2, and of its four two to 0, which has 0..3 then.
    CHECK(sends_of(schedule_of("bruck", Operation::all_gather, 6), 4) == "3:4 2:4,5 0:4,5 ");
    // Backwards: the two blocks that rank 4 + 4 = 2 and the next are to have, then those of 0 and 1, then that of 5.
    CHECK(sends_of(schedule_of("bruck", Operation::reduce_scatter, 6), 4) == "2:2,3 0:0,1 5:5 ");
    // All-to-all: blocks that go 1, 3 or 5 ranks travel in the first step, 2 and 3 in the second, 4 and 5 in the third.
    CHECK(sends_of(schedule_of("bruck", Operation::all_to_all, 6), 4) == "5:1,3,5 0:2,3 2:4,5 ");
}

TEST_CASE("classic: pairwise goes on only when both messages of a step are done", "[collective]") {
    const Schedule schedule = schedule_of("pairwise", Operation::all_to_all, 4);
    std::vector<Verb> verbs;
    const RankProgram program = schedule.program(RankId{1});
    for (const Instruction& step : program.front().blocks.front().body) {
        verbs.push_back(step.verb);
    }
    CHECK(verbs == std::vector<Verb>{Verb::send, Verb::receive, Verb::drain, Verb::send, Verb::receive, Verb::drain,
                                     Verb::send, Verb::receive});
    CHECK(sends_of(schedule, 1) == "2:2 3:3 0:0 ");
}

TEST_CASE("classic: NCCL's order goes by triangular numbers of groups and one by one inside", "[collective]") {
    // One GPU to a node, 16 of them: 0 1 3 6 10 15 5 12 4 13 7 2 14 11 9 8 groups ahead (NCCL's own example).
    CHECK(sends_of(schedule_of("nccl-point-to-point", Operation::all_to_all, 16), 0) ==
          "1:1 3:3 6:6 10:10 15:15 5:5 12:12 4:4 13:13 7:7 2:2 14:14 11:11 9:9 8:8 ");
    // Of 6 the numbers modulo 8, 0 1 3 6 2 7 5 4, without 6 and 7.
    CHECK(sends_of(schedule_of("nccl-point-to-point", Operation::all_to_all, 6), 1) == "2:2 4:4 3:3 0:0 5:5 ");
    // Nodes of 4 are groups of 4, nodes of 6 are three groups of 2.
    const auto sends = [](std::uint32_t nodes, std::uint32_t gpus, std::uint32_t rank) {
        const auto fabric = dgx_cluster(nodes, gpus, Island::switched);
        return sends_of(algorithm_named("nccl-point-to-point")
                            .make(everybody(fabric), request_for(Operation::all_to_all, nodes * gpus, 1000, 0)),
                        rank);
    };
    CHECK(sends(2, 4, 1) == "2:2 3:3 0:0 5:5 6:6 7:7 4:4 ");
    CHECK(sends(1, 6, 1) == "0:0 3:3 2:2 5:5 4:4 ");
}

TEST_CASE("classic: NCCL's order has at most eight messages of a rank under way", "[collective]") {
    for (const Operation operation : {Operation::all_to_all, Operation::scatter}) {
        const Schedule schedule = schedule_of("nccl-point-to-point", operation, 20, 5);
        int under_way = 0;
        int most = 0;
        const RankProgram program = schedule.program(RankId{5});
        for (const Instruction& step : program.front().blocks.front().body) {
            under_way += step.verb == Verb::send ? 1 : step.verb == Verb::drain ? -1 : 0;
            most = std::max(most, under_way);
        }
        CHECK(most == 8);
    }
}

TEST_CASE("classic: a chain of messages that a mesh cannot carry is refused with the pair", "[collective][error]") {
    const auto fabric = cube_mesh();
    const Communicator communicator = everybody(fabric);
    // Ranks follow the ring 0-3-2-1-5-6-7-4, and GPUs do not relay: rank 0 (gpu0) has links to gpu1, 2, 3 and 4, which
    // are ranks 3, 2, 1 and 7.
    struct Row {
        const char* algorithm;
        Operation operation;
    };
    for (const Row& row :
         {Row{"direct", Operation::gather}, Row{"recursive-doubling", Operation::all_reduce},
          Row{"binomial-tree", Operation::broadcast}, Row{"bruck", Operation::all_gather},
          Row{"pairwise", Operation::all_to_all}, Row{"one-shot", Operation::all_reduce},
          Row{"halving-doubling", Operation::all_reduce}, Row{"scatter-all-gather", Operation::broadcast},
          Row{"nccl-point-to-point", Operation::all_to_all}}) {
        CAPTURE(row.algorithm);
        const auto obstacle =
            algorithm_named(row.algorithm).obstacle(communicator, request_for(row.operation, 8, 1000, 0));
        REQUIRE(obstacle);
        CHECK_THAT(*obstacle, Catch::Contains("no path leads from rank ") &&
                                  Catch::Contains("since GPUs do not relay in this topology"));
    }
    // To the next rank there is always a link.
    const Request around = request_for(Operation::send_recv, 8, 1000, 0);
    CHECK(algorithm_named("direct").obstacle(communicator, around) == std::nullopt);
    CHECK(algorithm_named("nccl-point-to-point").obstacle(communicator, around) == std::nullopt);
}
