#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/collective/fabrics.h"
#include "tests/collective/proofs.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"
#include "sim/collective/swing_pattern.h"
#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

using Extents = std::vector<std::uint32_t>;

constexpr double alpha = 1e-6;  // of a link
constexpr double rate = 50e9;

double simulated(const fabric::Fabric& fabric, const Request& request, const engine::EngineKind& kind) {
    test::Bench bench(fabric, kind);
    const Communicator communicator = everybody(fabric);
    return replay::run_schedule(communicator, algorithm_named("swing").make(communicator, request), request.bytes,
                                bench.settings)
        .time.value;
}

const engine::EngineKind& any_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

Request all_reduce_of(std::int64_t bytes) { return {.operation = Operation::all_reduce, .bytes = {bytes}}; }

std::vector<std::uint32_t> peers_of(const Schedule& schedule, RankId rank) {
    std::vector<std::uint32_t> peers;
    const RankProgram program = schedule.program(rank);
    for (const Block& block : program.front().blocks) {
        for (const Instruction& instruction : block.body) {
            if (instruction.verb == Verb::send) {
                peers.push_back(static_cast<std::uint32_t>(instruction.peer));
            }
        }
    }
    return peers;
}

}  // namespace

TEST_CASE("swing: partners are 1, -1, 3, -5 places further on, backwards for odd ranks", "[swing]") {
    // The paper's equation: r + (1 - (-2)^(s+1)) / 3 for even r, minus for odd.
    const auto fabric = single_switch(16);
    const Communicator communicator = everybody(fabric);
    Request request = all_reduce_of(1600);
    const Schedule both = algorithm_named("swing").make(communicator, request);
    CHECK(peers_of(both, RankId{0}) == std::vector<std::uint32_t>{1, 15, 3, 11, 11, 3, 15, 1});
    CHECK(peers_of(both, RankId{3}) == std::vector<std::uint32_t>{2, 4, 0, 8, 8, 0, 4, 2});
    request.operation = Operation::reduce_scatter;
    const Schedule half = algorithm_named("swing").make(communicator, request);
    CHECK(peers_of(half, RankId{0}) == std::vector<std::uint32_t>{1, 15, 3, 11});
}

TEST_CASE("swing: the pattern reaches everybody once, along any even extent", "[swing]") {
    for (std::uint32_t extent = 2; extent <= 1500; extent += 2) {
        CAPTURE(extent);
        const SwingPattern pattern = swing_pattern(extent);
        std::vector<std::uint32_t> reached = pattern.had.front();
        std::sort(reached.begin(), reached.end());
        std::vector<std::uint32_t> everybody(extent);
        std::iota(everybody.begin(), everybody.end(), 0U);
        REQUIRE(reached == everybody);
        std::size_t given = 0;
        for (const auto& blocks : pattern.given) {
            given += blocks.size();
        }
        CHECK(given == extent - 1);  // as many as it gets: every block but its own
    }
}

TEST_CASE("swing: every even number of ranks takes ceil(log2 n) steps and moves as little as possible",
          "[replay][swing]") {
    const auto& kind = any_engine();
    const auto ranks = GENERATE(2U, 4U, 6U, 8U, 10U, 12U, 14U, 16U, 24U, 32U);
    CAPTURE(kind.name, ranks);
    const auto fabric = single_switch(ranks, {rate}, {alpha});
    const double n = ranks;
    const double steps = std::ceil(std::log2(n));
    const std::int64_t bytes = 100'000 * std::int64_t{ranks};
    const double once = steps * 2 * alpha + (n - 1) / n * static_cast<double>(bytes) / rate;
    Request request = all_reduce_of(bytes);
    CHECK(simulated(fabric, request, kind) == Approx(2 * once).epsilon(1e-9));
    for (const Operation half : {Operation::reduce_scatter, Operation::all_gather}) {
        request.operation = half;
        CHECK(simulated(fabric, request, kind) == Approx(once).epsilon(1e-9));
    }
}

TEST_CASE("swing: of an odd number of ranks one stays outside, and nobody sends more than needed", "[replay][swing]") {
    const auto ranks = GENERATE(3U, 5U, 7U, 9U, 15U, 33U);
    CAPTURE(ranks);
    const auto fabric = single_switch(ranks, {rate}, {alpha});
    const Communicator communicator = everybody(fabric);
    const Request request = all_reduce_of(100'000 * std::int64_t{ranks});
    const Proof proof = prove(algorithm_named("swing").make(communicator, request), request.bytes);
    CHECK(proof.holds());
    CHECK(proof.bytes_out == std::vector<std::int64_t>(ranks, 2 * 100'000 * (std::int64_t{ranks} - 1)));
    CHECK(proof.bytes_in == proof.bytes_out);
    const Cost cost = algorithm_named("swing").cost(communicator, request);
    const double book = cost.alphas * 2 * alpha + cost.bytes / rate;
    CHECK(cost.holds == Cost::Holds::approximately);
    CHECK(simulated(fabric, request, engine::engine_named("fluid")) < 1.35 * book);
}

TEST_CASE("swing: on a torus each link carries the messages of as many pairs as lie apart", "[replay][swing]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    struct Row {
        Extents extents;
        double ways;
        double hops;      // of all steps of one pass
        double crossing;  // sum over steps of hops times the part of a way's data that is sent
    };
    // A ring of 8: halves, quarters, eighths over 1, 1, 3 links. 4 x 4: all partners are neighbours. 8 x 8: 1, 1, 1, 1,
    // 3, 3, steps alternating between dimensions. 4 x 4 x 4: six steps over one link.
    const Row row = GENERATE(Row{{8}, 2, 5, 1. / 2 + 1. / 4 + 3. / 8}, Row{{4, 4}, 4, 4, 15. / 16},
                             Row{{8, 8}, 4, 10, 15. / 16 + 3. / 32 + 3. / 64}, Row{{4, 4, 4}, 6, 6, 63. / 64},
                             Row{{2, 2}, 2, 2, 3. / 4});
    CAPTURE(row.extents);
    const auto fabric = grid(row.extents, Wrap::all);
    const std::int64_t bytes = static_cast<std::int64_t>(fabric.gpus().size()) * 12 * 10'000;
    const double part = static_cast<double>(bytes) / row.ways;
    CHECK(simulated(fabric, all_reduce_of(bytes), kind) ==
          Approx(2 * (row.hops * alpha + row.crossing * part / rate)).epsilon(1e-9));
    const Cost cost = algorithm_named("swing").cost(everybody(fabric), all_reduce_of(bytes));
    CHECK(cost.bytes == Approx(2 * row.crossing * part).epsilon(1e-12));
}

TEST_CASE("swing: congestion on large tori is that of the paper", "[swing]") {
    // 1.19 times the bandwidth term in two dimensions, 1.03 in three, in the limit of large extents.
    const auto square = grid({64, 64}, Wrap::all);
    const Communicator two(square, {square.gpus().begin(), square.gpus().end()});
    const double least_two = 2 * 1e9 / 4;
    CHECK(algorithm_named("swing").cost(two, all_reduce_of(1'000'000'000)).bytes / least_two ==
          Approx(1.19).epsilon(0.005));
    const auto cube = grid({16, 16, 16}, Wrap::all);
    const Communicator three(cube, {cube.gpus().begin(), cube.gpus().end()});
    const double least_three = 2 * 1e9 / 6;
    CHECK(algorithm_named("swing").cost(three, all_reduce_of(1'000'000'000)).bytes / least_three ==
          Approx(1.03).epsilon(0.005));
}

TEST_CASE("swing: delivers for 1 to 40 and 64 ranks", "[collective][proof][swing]") {
    const auto ranks = GENERATE(range(1U, 41U), 64U);
    const auto fabric = single_switch(ranks);
    for (const Operation operation : algorithm_named("swing").operations) {
        check_proved(algorithm_named("swing"), everybody(fabric), plain_request(operation, ranks, {100'003}));
    }
}
