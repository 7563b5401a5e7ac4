#include "sim/replay/fold.h"

#include <algorithm>
#include <optional>
#include <random>

#include "tests/replay/cluster.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using collective::Operation;
using replay::Folding;
using test::Bench;
using test::cluster;
using test::Flaw;
using test::Shape;

// That folded runs give what unfolded ones give, whatever breaks the symmetry, and that there is folding where nodes
// are alike.

namespace {

replay::CollectiveRun run(const fabric::Fabric& fabric, const collective::Request& request,
                          const collective::Algorithm& algorithm, const char* engine, Folding folding) {
    Bench bench(fabric, engine::engine_named(engine));
    bench.settings.folding = folding;
    bench.settings.fold_threads_from = 0;
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    return replay::run_collective(communicator, request, algorithm.name, bench.settings);
}

void check_alike(const replay::CollectiveRun& folded, const replay::CollectiveRun& plain, double within) {
    CHECK(folded.time.value == Approx(plain.time.value).epsilon(within));
    CHECK(folded.simulator.messages == plain.simulator.messages);
    REQUIRE(folded.links.size() == plain.links.size());
    for (std::size_t i = 0; i < plain.links.size(); ++i) {
        CHECK(folded.links[i].link == plain.links[i].link);
        CHECK(folded.links[i].bytes == Approx(plain.links[i].bytes).epsilon(1e-9));
    }
}

Shape random_shape(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    Shape shape;
    shape.gpus = 1 + below(4);
    shape.per_leaf = 1 + below(4);
    shape.nodes = 2 + below(9);
    shape.spines = 1 + below(3);
    shape.rails = below(2) == 0;
    shape.flaw = below(2) == 0 ? Flaw::none : static_cast<Flaw>(1 + below(7));
    shape.flawed = below(shape.nodes);
    shape.routing = below(4) == 0   ? fabric::RoutingPolicy::ecmp
                    : below(4) == 0 ? fabric::RoutingPolicy::spray
                                    : fabric::RoutingPolicy::static_;
    shape.reduces = below(4) == 0;
    return shape;
}

}  // namespace

TEST_CASE("fold: folded and unfolded agree on random clusters, algorithms and flaws", "[replay][fold]") {
    // 25 clusters in each of eight parts: 200, each with every operation in turn and two of its algorithms.
    const auto part = GENERATE(range(0U, 8U));
    std::mt19937_64 random(part + 1);
    std::size_t folds = 0;
    for (std::uint32_t trial = 0; trial < 25; ++trial) {
        const Shape shape = random_shape(random);
        const fabric::Fabric fabric = cluster(shape);
        const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
        const auto ranks = static_cast<std::int64_t>(communicator.size());
        const Operation operation = collective::operations()[trial % collective::operations().size()];
        if (operation == Operation::all_to_all_v) {
            continue;  // sizes of each pair's own
        }
        collective::Request request{.operation = operation,
                                    .bytes = Bytes{ranks * ranks * 7680 + static_cast<std::int64_t>(random() % 2)},
                                    .root = id_at<RankId>(random() % communicator.size()),
                                    .tuning = {.pieces = 4}};
        if (operation == Operation::barrier) {
            request.bytes = Bytes{0};
        }
        const auto able = collective::candidates(communicator, request);
        REQUIRE_FALSE(able.empty());
        for (int pick = 0; pick < 2; ++pick) {
            const collective::Algorithm& algorithm = *able[random() % able.size()];
            CAPTURE(part, trial, shape.nodes, shape.gpus, shape.per_leaf, shape.spines, shape.rails,
                    static_cast<int>(shape.flaw), shape.flawed, fabric::name_of(shape.routing), algorithm.name,
                    collective::name_of(operation));
            const auto plain = run(fabric, request, algorithm, "fluid", Folding::off);
            const auto folded = run(fabric, request, algorithm, "fluid", Folding::on);
            check_alike(folded, plain, 1e-9);
            folds += folded.simulator.simulated_messages < folded.simulator.messages ? 1 : 0;
            if (trial % 5 == 0) {
                check_alike(folded, run(fabric, request, algorithm, "simgrid", Folding::off), 1e-6);
            }
        }
    }
    CHECK(folds > 0);
}

TEST_CASE("fold: alike nodes fold to one, and a flaw in one node leaves it a class of its own", "[replay][fold]") {
    // Halving-doubling among 8 nodes of one GPU on one leaf: each node sends to one partner at each distance.
    Shape shape{.nodes = 8, .gpus = 1, .per_leaf = 8};
    const auto& algorithm = collective::algorithm_named("halving-doubling");
    const collective::Request request{.bytes = Bytes{8 << 20}};
    const auto whole = run(cluster(shape), request, algorithm, "fluid", Folding::on);
    CHECK(whole.fold.nodes == 8);
    CHECK(whole.fold.classes == 1);
    CHECK(whole.simulator.messages == 8 * 6);
    CHECK(whole.simulator.simulated_messages == 6);

    // Direct: all others are alike, whichever is slow.
    shape.flaw = Flaw::slow_nic;
    shape.flawed = 5;
    const auto direct = run(cluster(shape), request, collective::algorithm_named("direct"), "fluid", Folding::on);
    CHECK(direct.fold.classes == 2);
    // From the slow one to the others, from those to it, and among those; each in two passes.
    CHECK(direct.simulator.simulated_messages == 6);
    CHECK(direct.simulator.messages == 2 * 8 * 7);
}

TEST_CASE("fold: what keeps nodes apart is said", "[replay][fold]") {
    const auto& direct = collective::algorithm_named("direct");
    const Shape shape{.nodes = 8, .gpus = 1, .per_leaf = 8};
    // That 8 does not divide the bytes does not.
    CHECK(run(cluster(shape), {.bytes = Bytes{1'000'001}}, direct, "fluid", Folding::on).fold.classes == 1);
    const auto untried = run(cluster(shape), {.bytes = Bytes{1 << 20}}, direct, "fluid", Folding::off);
    CHECK(untried.fold.nodes == 0);
    const auto tree =
        run(cluster(shape), {.bytes = Bytes{1 << 20}}, collective::algorithm_named("tree"), "fluid", Folding::on);
    CHECK(tree.fold.broken_by == "messages between nodes take unlike paths, or go to unlike nodes");
}
