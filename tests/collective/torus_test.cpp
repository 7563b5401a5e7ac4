#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/collective/fabrics.h"
#include "tests/collective/proofs.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"
#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

using namespace lockstep;
using namespace lockstep::collective;

// Links of 50 GB/s and 1 us, one direction, to each neighbour.

namespace {

using Extents = std::vector<std::uint32_t>;

constexpr double alpha = 1e-6;
constexpr double rate = 50e9;

replay::CollectiveRun run(const Communicator& communicator, const char* algorithm, const Request& request,
                          const engine::EngineKind& kind = engine::engine_named("fluid")) {
    test::Bench bench(communicator.fabric(), kind);
    return replay::run_schedule(communicator, algorithm_named(algorithm).make(communicator, request), request.bytes,
                                bench.settings);
}

const engine::EngineKind& any_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

Request all_reduce_of(std::int64_t bytes) { return {.operation = Operation::all_reduce, .bytes = {bytes}}; }

/// How much of a port's time the lower bound accounts for.
double part_of_bound(const replay::CollectiveRun& result) { return result.lower_bound / result.time; }

}  // namespace

TEST_CASE("torus: an all-reduce on a 4 x 4 x 4 torus keeps all six links of every GPU busy", "[replay][torus]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    const auto fabric = grid({4, 4, 4}, Wrap::all);
    const Communicator communicator = everybody(fabric);
    // Six parts, 3 beginnings times 2 directions. Each takes 3 steps in each dimension, there and back: 18 latencies,
    // and 2 * 63/64 of it crosses one of the links.
    const std::int64_t bytes = 64 * 6 * 1'000'000;
    const auto result = run(communicator, "torus", all_reduce_of(bytes), kind);
    const double through_link = 2. * 63 / 64 * static_cast<double>(bytes) / 6;
    CHECK(result.time.value == Approx(18 * alpha + through_link / rate).epsilon(1e-9));
    CHECK(part_of_bound(result) > 0.95);
    CHECK(part_of_bound(result) <= 1);
    REQUIRE(result.links.size() == 64 * 6);
    for (const replay::LinkUse& use : result.links) {
        CHECK(use.bytes == Approx(through_link).epsilon(1e-9));
    }
}

TEST_CASE("torus: without wraparound it takes twice as long", "[replay][torus]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    // Each ring of 4 is a row of 3 links. Going up, 3 hops use a link each and the fourth goes back down over all
    // three; going down, the same the other way: every link carries one hop and one way back, 2 messages for one.
    const std::int64_t bytes = 64 * 6 * 1'000'000;
    const auto wrapped = grid({4, 4, 4}, Wrap::all);
    const auto open = grid({4, 4, 4}, Wrap::none);
    const double with = run(everybody(wrapped), "torus", all_reduce_of(bytes), kind).time.value;
    const auto result = run(everybody(open), "torus", all_reduce_of(bytes), kind);
    CHECK(result.time.value / with > 1.95);
    CHECK(result.time.value / with < 2.05);
    REQUIRE(result.links.size() == 3 * 16 * 3 * 2);
    for (const replay::LinkUse& use : result.links) {
        CHECK(use.bytes == Approx(2 * 2. * 63 / 64 * static_cast<double>(bytes) / 6).epsilon(1e-9));
    }
}

TEST_CASE("torus: equal extents take the closed form in any number of dimensions", "[replay][torus]") {
    struct Row {
        Extents extents;
        double links;  // of each GPU
    };
    // Rings of two have one link a dimension.
    const Row row = GENERATE(Row{{6}, 2}, Row{{3, 3}, 4}, Row{{5, 5}, 4}, Row{{2, 2}, 2}, Row{{2, 2, 2}, 3},
                             Row{{3, 3, 3}, 6}, Row{{3, 1, 3}, 4}, Row{{2, 2, 2, 2}, 4}, Row{{3, 3, 3, 3}, 8});
    CAPTURE(row.extents);
    const auto fabric = grid(row.extents, Wrap::all);
    const auto n = static_cast<double>(fabric.gpus().size());
    const double steps = std::accumulate(row.extents.begin(), row.extents.end(), 0.0,
                                         [](double sum, std::uint32_t extent) { return sum + extent - 1; });
    const std::int64_t bytes = static_cast<std::int64_t>(n) * 8 * 30'000;
    const double once = (n - 1) / n * static_cast<double>(bytes) / row.links / rate;
    Request request = all_reduce_of(bytes);
    const Communicator communicator = everybody(fabric);
    CHECK(run(communicator, "torus", request).time.value == Approx(2 * (steps * alpha + once)).epsilon(1e-9));
    for (const Operation half : {Operation::reduce_scatter, Operation::all_gather}) {
        request.operation = half;
        CHECK(run(communicator, "torus", request).time.value == Approx(steps * alpha + once).epsilon(1e-9));
    }
    const Cost cost = algorithm_named("torus").cost(communicator, all_reduce_of(bytes));
    CHECK(cost.holds == Cost::Holds::exactly);
    CHECK(cost.alphas * alpha + cost.bytes / rate == Approx(2 * (steps * alpha + once)).epsilon(1e-12));
}

TEST_CASE("torus: coordinates come from the links, whatever the numbers of GPUs and ranks", "[replay][torus]") {
    const auto fabric = scattered_grid({3, 3, 3}, Wrap::all, 5);
    std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
    std::reverse(gpus.begin() + 4, gpus.end());
    const std::int64_t bytes = 27 * 6 * 100'000;
    const double expected = 2 * (6 * alpha + 26. / 27 * static_cast<double>(bytes) / 6 / rate);
    CHECK(run({fabric, gpus}, "torus", all_reduce_of(bytes)).time.value == Approx(expected).epsilon(1e-9));
    // Where listed in order, asking for its extents changes nothing.
    Request request = all_reduce_of(bytes);
    request.tuning.dimensions = {3, 3, 3};
    CHECK(run({fabric, gpus}, "torus", request).time.value == Approx(expected).epsilon(1e-9));
}

TEST_CASE("torus: unequal extents come close to the bound of all links", "[replay][torus]") {
    // In pieces, and with the shares of the beginnings chosen so that no dimension has more to do than others.
    struct Row {
        Extents extents;
        double least;
    };
    const Row row = GENERATE(Row{{3, 5}, 0.95}, Row{{4, 8}, 0.95}, Row{{6, 4, 3}, 0.93}, Row{{2, 4}, 0.95});
    CAPTURE(row.extents);
    const auto fabric = grid(row.extents, Wrap::all);
    const auto result = run(everybody(fabric), "torus", all_reduce_of(1 << 30));
    CHECK(part_of_bound(result) > row.least);
    CHECK(part_of_bound(result) <= 1);
}

TEST_CASE("torus: a dimension without wraparound beside one with it", "[replay][torus]") {
    // 3 x 4, where only the rings of 3 close: cut out of 3 x 8.
    const auto fabric = grid({3, 8}, Wrap::all);
    const auto all = fabric.gpus();
    const Communicator part(fabric, {all.begin(), all.begin() + 12});
    const auto result = run(part, "torus", all_reduce_of(120'000'000));
    CHECK(part_of_bound(result) <= 1);
    const auto cost = algorithm_named("torus").cost(part, all_reduce_of(120'000'000));
    CHECK(cost.holds == Cost::Holds::approximately);
    CHECK(result.time.value == Approx(cost.alphas * alpha + cost.bytes / rate).epsilon(0.1));
}

TEST_CASE("torus: bytes and steps", "[torus]") {
    const auto fabric = grid({4, 4, 4}, Wrap::all);
    const Communicator communicator = everybody(fabric);
    const Request request = all_reduce_of(64 * 6 * 1000);
    const Proof proof = prove(algorithm_named("torus").make(communicator, request), request.bytes);
    CHECK(proof.holds());
    CHECK(proof.bytes_out == std::vector<std::int64_t>(64, 2 * 63 * 6 * 1000));
    CHECK(proof.bytes_in == std::vector<std::int64_t>(64, 2 * 63 * 6 * 1000));
    CHECK(proof.depth == 18);
}

namespace {

/// Proves what works dimension by dimension on a torus and a grid of these extents.
void prove_on_grids(const Extents& extents, std::optional<std::uint32_t> pieces) {
    for (const Wrap wrap : {Wrap::all, Wrap::none}) {
        CAPTURE(extents, wrap, pieces.value_or(0));
        const auto fabric = pieces ? grid(extents, wrap) : scattered_grid(extents, wrap, 11);
        const Communicator communicator = everybody(fabric);
        for (const char* name : {"torus", "blueconnect", "swing", "bidirectional-ring", "chain"}) {
            const Algorithm& algorithm = algorithm_named(name);
            for (const Operation operation : algorithm.operations) {
                Request request = plain_request(operation, static_cast<std::uint32_t>(communicator.size()), {999'999});
                request.tuning.pieces = pieces;
                const auto obstacle = algorithm.obstacle(communicator, request);
                if (std::string(name) == "torus" || std::string(name) == "swing") {
                    CHECK(obstacle.value_or("none") == "none");
                }
                if (!obstacle) {
                    check_proved(algorithm, communicator, request);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("grid algorithms: deliver on tori and grids of one and two dimensions", "[collective][proof][torus]") {
    const auto extents = GENERATE(Extents{2}, Extents{5}, Extents{2, 2}, Extents{3, 4}, Extents{1, 6});
    prove_on_grids(extents, std::nullopt);
}

TEST_CASE("grid algorithms: deliver on tori and grids of one and two dimensions in pieces",
          "[collective][proof][torus]") {
    const auto extents = GENERATE(Extents{2}, Extents{5}, Extents{2, 2}, Extents{3, 4});
    prove_on_grids(extents, 3);
}

TEST_CASE("grid algorithms: deliver on a torus and a grid of equal extents", "[collective][proof][torus]") {
    prove_on_grids({4, 4}, std::nullopt);
    prove_on_grids({4, 4}, 2);
}

TEST_CASE("grid algorithms: deliver on tori and grids of three dimensions", "[collective][proof][torus]") {
    prove_on_grids({3, 2, 3}, std::nullopt);
}

TEST_CASE("grid algorithms: deliver on tori and grids of three dimensions in pieces", "[collective][proof][torus]") {
    prove_on_grids({2, 3, 1, 2}, 2);
}

TEST_CASE("blueconnect: dimensions go on within what earlier ones have left", "[replay][torus]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    // On one switch every rank sends 2 * 11/12 of the data, in 2 (2 + 3) steps; two links of 1 us each.
    const auto fabric = single_switch(12, {rate}, {alpha});
    Request request = all_reduce_of(12'000'000);
    request.tuning.dimensions = {3, 4};
    CHECK(run(everybody(fabric), "blueconnect", request, kind).time.value ==
          Approx(10 * 2 * alpha + 2. * 11 / 12 * 12e6 / rate).epsilon(1e-9));
    request.operation = Operation::all_gather;
    CHECK(run(everybody(fabric), "blueconnect", request, kind).time.value ==
          Approx(5 * 2 * alpha + 11. / 12 * 12e6 / rate).epsilon(1e-9));
}

TEST_CASE("blueconnect: between nodes only the share of each GPU moves", "[replay][torus]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    // 4 nodes of 4 GPUs: 450 GB/s inside, two links of 0.1 us; 50 GB/s between, over PCIe (0.1 us), NIC and leaf (1 us
    // each), 2.2 us in all. In one piece: 2 * 3/4 S inside and 2 * 3/4 S/4 between, one after the other.
    const auto fabric = dgx_cluster(4, 4, Island::switched);
    Request request = all_reduce_of(64'000'000);
    request.tuning.pieces = 1;
    const double inside = 6 * 0.2e-6 + 1.5 * 64e6 / 450e9;
    const double between = 6 * 2.2e-6 + 1.5 * 16e6 / 50e9;
    const double whole = run(everybody(fabric), "blueconnect", request, kind).time.value;
    CHECK(whole == Approx(inside + between).epsilon(1e-9));
    // In pieces, what moves inside hides behind what moves between, but for filling the pipeline.
    request.tuning.pieces = 8;
    const double pieces = run(everybody(fabric), "blueconnect", request, kind).time.value;
    CHECK(pieces < between + inside / 4 + 8 * 6 * 2.2e-6);
    CHECK(pieces > between);
}
