#include "sim/replay/time_fold.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "tests/replay/cluster.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/replay/repetition.h"

using namespace lockstep;
using namespace lockstep::literals;
using collective::Operation;
using replay::Folding;
using test::Bench;
using test::cluster;
using test::Flaw;
using test::Shape;

// That what repeats itself is added up to what playing it gives, and only then.

namespace {

replay::CollectiveRun run(const fabric::Fabric& fabric, const collective::Request& request, const std::string& name,
                          Folding folding) {
    Bench bench(fabric, engine::engine_named("fluid"));
    bench.settings.folding = folding;
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    return replay::run_collective(communicator, request, name, bench.settings);
}

void check_alike(const replay::CollectiveRun& folded, const replay::CollectiveRun& plain) {
    CHECK(folded.time.value == Approx(plain.time.value).epsilon(1e-9));
    CHECK(folded.simulator.messages == plain.simulator.messages);
    REQUIRE(folded.links.size() == plain.links.size());
    for (std::size_t i = 0; i < plain.links.size(); ++i) {
        CHECK(folded.links[i].link == plain.links[i].link);
        CHECK(folded.links[i].bytes == Approx(plain.links[i].bytes).epsilon(1e-9));
    }
}

/// A performance of one thread and one connection that goes round once a second, with `drift` more each time.
/// Returns: what was found to repeat itself, if anything was within so many laps.
std::optional<replay::Cycle> watch(int laps, double drift, bool grows) {
    replay::Repetition repetition;
    repetition.restart(Seconds{0});
    double now = 0.0;
    for (int lap = 1; lap <= laps; ++lap) {
        now += 1.0 + drift * lap;
        if (repetition.is_recording()) {
            repetition.note_event(7, Seconds{now - 0.25});
            repetition.note_event(8 + static_cast<unsigned>(lap) % 2, Seconds{now});  // two things at one instant,
            repetition.note_event(9 - static_cast<unsigned>(lap) % 2, Seconds{now});  // in either order
        }
        const auto count = static_cast<std::uint32_t>(lap);
        if (repetition.note_lap(1, Seconds{0.5}, Seconds{now})) {
            replay::Snapshot shot{.progress = {{0, count}},
                                  .counts = {grows ? count : 1U},
                                  .waits = {Seconds{0.1}},
                                  .busy = {true},
                                  .ready = {10'000 - 2 * count},
                                  .bytes = {10.0 * lap},
                                  .messages = 3ULL * count};
            if (auto cycle = repetition.note_snapshot(std::move(shot), Seconds{now})) {
                return cycle;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("time fold: laps, events and states that repeat themselves are found", "[replay][fold]") {
    const auto cycle = watch(40, 0.0, false);
    REQUIRE(cycle);
    CHECK(cycle->length.value == Approx(1.0).epsilon(1e-12));
    CHECK(cycle->progress == std::vector<replay::Progress>{{0, 1}});
    CHECK(cycle->fewer_queued == std::vector<std::int64_t>{2});
    CHECK(cycle->bytes == std::vector<double>{10.0});
    CHECK(cycle->messages == 3);
}

TEST_CASE("time fold: neither laps that drift nor a queue that grows count as a repetition", "[replay][fold]") {
    CHECK_FALSE(watch(1000, 1e-9, false));
    CHECK_FALSE(watch(1000, 0.0, true));
}

TEST_CASE("time fold: a long ring on one switch plays a few rounds of its loop", "[replay][fold]") {
    const fabric::Fabric fabric = test::star(512, 50_GBps, 1.0_us);
    const collective::Request request{.bytes = Bytes{512 * 4096}};
    const auto folded = run(fabric, request, "ring", Folding::on);
    const auto plain = run(fabric, request, "ring", Folding::off);
    check_alike(folded, plain);
    CHECK(folded.simulator.messages == 2ULL * 511 * 512);
    CHECK(folded.simulator.simulated_messages < 200);
    // 2 x 511 steps of two links' latency and 4096 bytes at 50 GB/s.
    CHECK(folded.time.value == Approx(1022 * (2e-6 + 4096 / 50e9)).epsilon(1e-9));
}

TEST_CASE("time fold: a pipeline of many pieces is filled and emptied, and steady between", "[replay][fold]") {
    const fabric::Fabric fabric = test::star(8, 50_GBps, 1.0_us);
    const collective::Request request{
        .operation = Operation::broadcast, .bytes = Bytes{50'000'000}, .tuning = {.pieces = 1000}};
    const auto folded = run(fabric, request, "chain", Folding::on);
    // Seven hops for the first piece of 50,000 bytes, 1 us of bandwidth each, then the other 999.
    CHECK(folded.time.value == Approx(7 * 3e-6 + 999 * 1e-6).epsilon(1e-9));
    CHECK(folded.simulator.simulated_messages < 1500);
    check_alike(folded, run(fabric, request, "chain", Folding::off));
}

TEST_CASE("time fold: contributions that queue for the switch are those of all members", "[replay][fold]") {
    const fabric::Fabric fabric = test::star(8, 50_GBps, 1.0_us, true);
    for (const Operation operation :
         {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast}) {
        const collective::Request request{
            .operation = operation, .bytes = Bytes{80'000'000}, .tuning = {.pieces = 1000}};
        const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
        const auto& algorithm = collective::algorithm_named("nvls");
        if (std::ranges::find(algorithm.operations, operation) == algorithm.operations.end() ||
            algorithm.obstacle(communicator, request)) {
            continue;
        }
        CAPTURE(collective::name_of(operation));
        const auto folded = run(fabric, request, "nvls", Folding::on);
        const auto plain = run(fabric, request, "nvls", Folding::off);
        check_alike(folded, plain);
        CHECK(folded.simulator.events < plain.simulator.events / 4);
    }
}

TEST_CASE("time fold: agrees with playing on random clusters, algorithms with long loops, and flaws",
          "[replay][fold]") {
    const auto part = GENERATE(range(0U, 4U));
    std::mt19937_64 random(part + 77);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::pair<const char*, Operation> kinds[] = {
        {"ring", Operation::broadcast},         {"ring", Operation::all_reduce},
        {"chain", Operation::reduce},           {"tree", Operation::all_reduce},
        {"torus", Operation::all_reduce},       {"bidirectional-ring", Operation::all_gather},
        {"binomial-tree", Operation::broadcast}};
    std::size_t folds = 0;
    for (std::uint32_t trial = 0; trial < 14; ++trial) {
        Shape shape{.nodes = 2 + below(5), .gpus = 1 + below(3)};
        shape.per_leaf = 1 + below(3);
        shape.spines = 1 + below(2);
        shape.rails = below(2) == 0;
        shape.flaw = below(2) == 0 ? Flaw::none : static_cast<Flaw>(1 + below(7));
        shape.flawed = below(shape.nodes);
        const fabric::Fabric fabric = cluster(shape);
        const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
        const auto& [name, operation] = kinds[trial % std::size(kinds)];
        const collective::Request request{.operation = operation,
                                          .bytes = Bytes{1'000'000 + static_cast<std::int64_t>(random() % 30'000'000)},
                                          .tuning = {.pieces = 100 + below(200)}};
        const auto& algorithm = collective::algorithm_named(name);
        if (algorithm.obstacle(communicator, request)) {
            continue;
        }
        CAPTURE(part, trial, shape.nodes, shape.gpus, shape.per_leaf, shape.spines, shape.rails,
                static_cast<int>(shape.flaw), name);
        const auto folded = run(fabric, request, name, Folding::on);
        check_alike(folded, run(fabric, request, name, Folding::off));
        folds +=
            folded.fold.classes == folded.fold.nodes && folded.simulator.simulated_messages < folded.simulator.messages
                ? 1
                : 0;
    }
    CHECK(folds > 0);
}
