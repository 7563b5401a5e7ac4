#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/report/explained.h"
#include <catch2/catch.hpp>

#include "sim/report/explain_words.h"

namespace lockstep::report {

using collective::Operation;
using collective::Verb;
using testing::Explained;

namespace {

/// Divides evenly by all numbers of ranks and pieces below, several times.
constexpr Bytes even{std::int64_t{720720} * 64};

collective::Request all_reduce(Bytes bytes) { return {.operation = Operation::all_reduce, .bytes = bytes}; }

std::vector<std::uint32_t> ranks_in(const Explanation& told, ContentAt content) {
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, times] : told.contents[content].ranks) {
        CHECK(times == 1);
        ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace

TEST_CASE("a ring of three is told step by step", "[explain]") {
    const Explained ring("ring", 3, all_reduce({900}));
    const Explanation& told = *ring;
    // Two passes of n - 1 = 2 steps, a chunk of 300 B from every rank to the next in each.
    REQUIRE(told.steps.size() == 4);
    CHECK(told.results == 9);
    CHECK(told.complete_at_start == 0);
    std::vector<std::uint64_t> complete;
    for (const Step& step : told.steps) {
        REQUIRE(step.moves.size() == 3);
        for (std::uint32_t sender = 0; sender < 3; ++sender) {
            const Move& move = step.moves[sender];
            CHECK(move.from == std::vector{id_at<RankId>(sender)});
            CHECK(move.to == std::vector{id_at<RankId>((sender + 1) % 3)});
            CHECK(move.bytes.value == 300);
            CHECK(move.chunks.size() == 1);
        }
        CHECK(step.changes.size() == 3);
        // Each message up one link and down another.
        CHECK(step.links.size() == 6);
        CHECK(std::ranges::all_of(step.links, [](const LinkLoad& load) { return load.bytes == 300; }));
        complete.push_back(step.complete);
    }
    CHECK(complete == std::vector<std::uint64_t>{0, 3, 6, 9});

    // In the first step rank 1 takes chunk 0 of rank 0 and has both contributions then.
    const Change& change = told.steps[0].changes[1];
    CHECK(change.rank == RankId{1});
    CHECK(change.chunk == 0);
    CHECK(ranks_in(told, change.held.content) == std::vector<std::uint32_t>{0, 1});
    CHECK_FALSE(change.held.complete);

    CHECK(told.steps[0].sentence ==
          "Every rank sends a chunk to the next rank. What arrives is added to what is there.");
    CHECK(told.steps[1].sentence ==
          "Every rank sends a chunk to the next rank. What arrives completes the sum there. Now 3 of 9 results are "
          "complete.");
    CHECK(told.steps[3].sentence ==
          "Every rank sends a chunk to the next rank. What arrives is a complete sum. Now all is where it belongs.");

    // 2 (n-1) latencies, and 2 (n-1)/n of 900 B: a quarter of both with each step.
    CHECK(told.steps[0].spent.alphas == 1);
    CHECK(told.steps[0].spent.bytes == 300);
    CHECK(told.steps[3].spent.alphas == 4);
    CHECK(told.steps[3].spent.bytes == 1200);
}

TEST_CASE("a step of a schedule names who sends what in words", "[explain]") {
    const auto first = [](const Explained& told) { return told->steps.front().sentence; };
    CHECK(first(Explained("recursive-doubling", 4, all_reduce({1000}))) ==
          "Every rank swaps a chunk with one other rank: 0↔1 and 2↔3. What arrives is added to what is there.");
    CHECK(first(Explained("direct", 4, all_reduce({1000}))) ==
          "Every rank sends a chunk to every other. What arrives completes the sum there. Now 4 of 16 results are "
          "complete.");
    CHECK(
        first(Explained("binomial-tree", 4, {.operation = Operation::broadcast, .bytes = {1000}, .root = RankId{3}})) ==
        "Rank 3 sends a chunk to rank 1. Now 2 of 4 results are complete.");
    CHECK(first(Explained("nvls", 4, {.operation = Operation::all_gather, .bytes = {1000}})) ==
          "Every rank writes its own part once to the switch, which copies it to everybody. Now all is where it "
          "belongs.");
}

// The α that the steps count and the bytes that the busiest port carries in each, added up, are those of the formula,
// wherever it holds exactly. And whatever the operation, all that is due is complete in the end.
TEST_CASE("steps spend what the formula says", "[explain]") {
    const auto ranks = GENERATE(2, 3, 4, 6, 8);
    const fabric::Fabric fabric = testing::reducing_star("star", static_cast<std::size_t>(ranks));
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    std::size_t tried = 0;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        for (const Operation operation : algorithm.operations) {
            collective::Request request{.operation = operation, .bytes = even};
            request.tuning.pieces = 2;
            if (operation == Operation::barrier) {
                request.bytes = {};
            }
            if (operation == Operation::all_to_all_v || algorithm.obstacle(communicator, request)) {
                continue;
            }
            INFO(algorithm.name << " " << collective::name_of(operation) << " of " << ranks);
            const Explained told(algorithm.name, static_cast<std::size_t>(ranks), request);
            REQUIRE(told->proof.holds());
            REQUIRE(!told->steps.empty());
            const Step& last = told->steps.back();
            CHECK(last.complete == told->results);
            CHECK(told->results > 0);
            const collective::Cost& cost = *told->cost;
            CHECK(last.spent.alphas == Approx(cost.alphas).epsilon(1e-9));
            if (cost.holds == collective::Cost::Holds::exactly) {
                CHECK(last.spent.bytes == Approx(cost.bytes).epsilon(1e-9));
            }
            ++tried;
        }
    }
    CHECK(tried > 30);
}

TEST_CASE("what is held follows from what is moved, for ranks that rearrange as well", "[explain]") {
    // Bruck's all-to-all turns its blocks before the first message and after the last.
    const Explained told("bruck", 5, {.operation = Operation::all_to_all, .bytes = even});
    REQUIRE(told->steps.size() > 1);
    CHECK(told->steps.front().number == 0);
    CHECK(std::ranges::all_of(told->steps.front().moves, [](const Move& move) { return move.verb == Verb::copy; }));
    CHECK(told->steps.front().links.empty());
    // Each rank's own block is there from the start.
    CHECK(told->complete_at_start == 5);
    CHECK(told->results == 25);
    std::set<collective::Buffer> buffers;
    for (const Holdings& holdings : told->holdings) {
        buffers.insert(holdings.buffer);
    }
    CHECK(buffers == std::set{collective::Buffer::received, collective::Buffer::scratch});
}

TEST_CASE("one multicast is one move, whoever receives it", "[explain]") {
    const Explained told("nvls", 4, all_reduce(even));
    std::size_t multicasts = 0;
    for (const Step& step : told->steps) {
        for (const Move& move : step.moves) {
            if (move.verb == Verb::receive_multicast) {
                ++multicasts;
                CHECK(move.to.size() == 4);
                CHECK(move.from.size() == 1);
            } else {
                CHECK(move.verb == Verb::reduce_in_switch);
                CHECK(move.from.size() == 4);
                CHECK(move.to.size() == 1);
            }
        }
    }
    CHECK(multicasts == told->schedule.chunks);
}

TEST_CASE("busbw above the ring's is put down to the switch that adds up", "[explain]") {
    const auto text_of = [](const Explained& told) {
        const auto paragraphs = conclusions(*told);
        return std::accumulate(paragraphs.begin(), paragraphs.end(), std::string());
    };
    // n = 8: a ring moves 2 7/8 of the data through each port, NVLS 9/8, so busbw can reach 14/9 of the rate: 77.78
    // GB/s.
    const std::string nvls = text_of(Explained("nvls", 8, all_reduce({std::int64_t{1} << 30})));
    INFO(nvls);
    CHECK(nvls.find("Why busbw is above the rate of the link") != std::string::npos);
    CHECK(nvls.find("2(n-1)/n = 1.75 bytes") != std::string::npos);
    CHECK(nvls.find("only (n+1)/n = 1.125") != std::string::npos);
    CHECK(nvls.find("2(n-1)/(n+1) = 1.556 times the 50 GB/s of a link, 77.78 GB/s") != std::string::npos);
    const std::string ring = text_of(Explained("ring", 8, all_reduce({std::int64_t{1} << 30})));
    INFO(ring);
    CHECK(ring.find("above") == std::string::npos);
    CHECK(ring.find("takes exactly what the formula says") != std::string::npos);
    CHECK(ring.find("exactly what all_reduce promises") != std::string::npos);
}

TEST_CASE("a schedule that is wrong is told as far as it goes, with what is wrong", "[explain]") {
    // Rank 0 sends its whole vector to rank 1, which adds it and keeps the sum for itself.
    collective::Schedule schedule{.algorithm = "half", .operation = Operation::all_reduce, .ranks = 2};
    schedule.program = [](RankId rank) -> collective::RankProgram {
        const bool sends = rank == RankId{0};
        return {{.blocks = {{.body = {{.verb = sends ? Verb::send : Verb::receive_reduce,
                                       .peer = sends ? RankId{1} : RankId{0}}}}}}};
    };
    const Explained told(std::move(schedule), {100});
    CHECK_FALSE(told->proof.holds());
    REQUIRE(told->steps.size() == 1);
    CHECK(told->steps[0].complete == 1);
    CHECK(told->results == 2);
    // A paragraph for each finding: of the two chunks that are due, rank 0's lacks a contribution.
    const std::vector<std::string> texts = conclusions(*told);
    REQUIRE(texts.size() == 2);
    INFO(texts[0] << "\n" << texts[1]);
    CHECK(texts[0].starts_with("This schedule is wrong: it does not do what all_reduce promises."));
    CHECK(texts[1].starts_with("missing: rank 0 "));
    CHECK_FALSE(told->run.has_value());
}

TEST_CASE("results that a wrong schedule spoils are counted off again", "[explain]") {
    // Both ranks send their own block of an all_gather and store what comes upon it: 2 of 4 results are complete at the
    // start, none after.
    collective::Schedule schedule{.algorithm = "spoilt", .operation = Operation::all_gather, .ranks = 2, .chunks = 2};
    schedule.program = [](RankId rank) -> collective::RankProgram {
        const auto own = static_cast<std::uint32_t>(rank);
        const RankId other{1 - own};
        return {{.blocks = {{.body = {{.verb = Verb::send, .peer = other, .chunk = {.offset = own}},
                                      {.verb = Verb::receive, .peer = other, .chunk = {.offset = own}}}}}}};
    };
    const Explained told(std::move(schedule), {100});
    REQUIRE(told->steps.size() == 1);
    CHECK(told->complete_at_start == 2);
    CHECK(told->steps[0].complete == 0);
    CHECK(told->results == 4);
    INFO(told->steps[0].sentence);
    CHECK(told->steps[0].sentence.find("complete") == std::string::npos);
}

TEST_CASE("where pairs of ranks differ, busbw is not held against one link", "[explain]") {
    Explained told("nvls", 8, all_reduce({std::int64_t{1} << 20}));
    REQUIRE(told->model.has_value());
    told.mutable_explanation().model->uniform = false;
    std::string all;
    for (const std::string& text : conclusions(*told)) {
        all += text + "\n";
    }
    INFO(all);
    CHECK(all.find("busbw has no rate to be held against") != std::string::npos);
    CHECK(all.find("can reach") == std::string::npos);
}

TEST_CASE("one rank has nothing to be told", "[explain]") {
    const Explained told("ring", 1, all_reduce({1000}));
    CHECK(told->steps.empty());
    CHECK(told->complete_at_start == told->results);
    CHECK_FALSE(told->model.has_value());
    CHECK(conclusions(*told).size() == 1);
}

}  // namespace lockstep::report
