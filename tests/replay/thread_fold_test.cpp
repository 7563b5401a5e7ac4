#include "sim/replay/thread_fold.h"

#include <algorithm>
#include <random>
#include <set>

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

// That folding alike threads changes no result, for every algorithm, with rails that can be turned and with rails that
// cannot; and that there is folding where they can.

namespace {

replay::CollectiveRun run(const collective::Communicator& communicator, const collective::Request& request,
                          const collective::Algorithm& algorithm, Folding folding) {
    Bench bench(communicator.fabric(), engine::engine_named("fluid"));
    bench.settings.folding = folding;
    bench.settings.fold_threads_from = 0;
    return replay::run_schedule(communicator, algorithm.make(communicator, request), request.bytes, bench.settings);
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

collective::Request request_for(Operation operation, std::size_t ranks, RankId root) {
    const auto n = static_cast<std::int64_t>(ranks);
    return {.operation = operation,
            .bytes = operation == Operation::barrier ? Bytes{0} : Bytes{n * n * 7680},
            .root = root,
            .tuning = {.pieces = 4}};
}

/// Every operation by every algorithm that can do it. Returns: names of those whose threads were folded.
std::set<std::string> check_all(const fabric::Fabric& fabric, RankId root) {
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    std::set<std::string> folded_ones;
    for (const Operation operation : collective::operations()) {
        if (operation == Operation::all_to_all_v) {
            continue;  // sizes of each pair's own
        }
        const auto request = request_for(operation, communicator.size(), root);
        for (const collective::Algorithm* algorithm : collective::candidates(communicator, request)) {
            CAPTURE(algorithm->name, collective::name_of(operation));
            const auto folded = run(communicator, request, *algorithm, Folding::on);
            check_alike(folded, run(communicator, request, *algorithm, Folding::off));
            CHECK((folded.fold.thread_classes < folded.fold.threads) == folded.fold.threads_broken_by.empty());
            if (folded.fold.threads_broken_by.empty()) {
                folded_ones.insert(algorithm->name);
            }
        }
    }
    return folded_ones;
}

}  // namespace

TEST_CASE("thread fold: nothing changes on clusters whose rails can be turned, by any algorithm", "[replay][fold]") {
    const auto nodes = GENERATE(1U, 2U, 3U, 4U, 6U);
    const auto gpus = GENERATE(2U, 3U, 4U);
    const auto reduces = GENERATE(false, true);
    CAPTURE(nodes, gpus, reduces);
    const auto folded = check_all(
        cluster({.nodes = nodes, .gpus = gpus, .per_leaf = 2, .spines = gpus, .reduces = reduces}), RankId{0});
    CHECK(folded.contains("direct"));
    CHECK(folded.contains("ring"));
}

TEST_CASE("thread fold: nothing changes where rails differ, nodes differ, or paths are hashed", "[replay][fold]") {
    const auto flaw = GENERATE(Flaw::slow_nic, Flaw::slow_island, Flaw::long_cable, Flaw::slow_spine, Flaw::failed_nic,
                               Flaw::smaller_node, Flaw::slow_rail);
    const auto routing =
        GENERATE(fabric::RoutingPolicy::static_, fabric::RoutingPolicy::ecmp, fabric::RoutingPolicy::spray);
    CAPTURE(static_cast<int>(flaw), fabric::name_of(routing));
    check_all(cluster({.nodes = 4,
                       .gpus = 4,
                       .per_leaf = 2,
                       .spines = 2,
                       .flaw = flaw,
                       .flawed = 1,
                       .routing = routing,
                       .reduces = true}),
              RankId{3});
}

TEST_CASE("thread fold: turning rails folds each ring and each tree onto the others", "[replay][fold]") {
    // 4 rails, so 4 rings and 8 trees, all alike but for where they begin.
    Shape shape{.nodes = 4, .gpus = 4, .per_leaf = 4, .spines = 1};
    const auto turned = cluster(shape);
    shape.flaw = Flaw::slow_rail;
    const auto fixed = cluster(shape);
    const collective::Communicator whole(turned, collective::default_placement(turned, std::nullopt));
    const collective::Communicator uneven(fixed, collective::default_placement(fixed, std::nullopt));
    const auto request = request_for(Operation::all_reduce, 16, RankId{0});
    const auto& ring = collective::algorithm_named("ring");
    REQUIRE(ring.make(whole, request).channels == 4);
    // A ring comes into a node on one rail and leaves it on the next, into the next node, which it leaves on the first:
    // two kinds of nodes. But turned they are the same: of 4 threads on each of the 4 GPUs of both there are 4 kinds,
    // by the place along the ring inside the node.
    const auto ringed = run(whole, request, ring, Folding::on);
    CHECK(ringed.fold.classes == 2);
    CHECK(ringed.fold.threads == 32);
    CHECK(ringed.fold.thread_classes == 4);
    CHECK(ringed.simulator.simulated_messages * 16 == ringed.simulator.messages);
    // With a slow rail two rings cross it and two do not. The two are alike, but what one does in a node of the one
    // kind the other does in one of the other kind.
    const auto uneven_rings = run(uneven, request, ring, Folding::on);
    CHECK(uneven_rings.fold.thread_classes == 16);

    // Two trees of a rail are the mirror image of each other at most.
    const auto tree = run(whole, request, collective::algorithm_named("tree"), Folding::on);
    CHECK(tree.simulator.simulated_messages * 4 <= tree.simulator.messages);
}

TEST_CASE("thread fold: a thread that waits for several alike threads of its rank waits for all of them",
          "[replay][fold]") {
    // Rank 1 sends a chunk of 1 MB on each of 4 channels to rank 0, where a thread for each signals that it is there;
    // once all are, a fifth thread sends one on to rank 2. Over ports of 1 GB/s and links of 1 us: 2 us + 4 ms for the
    // four, which share ports, and 2 us + 1 ms.
    using collective::Verb;
    collective::Schedule schedule{.algorithm = "relay", .ranks = 3, .channels = 5, .chunks = 5};
    schedule.program = [](RankId rank) {
        collective::RankProgram program;
        for (std::uint32_t channel = 0; channel < 4; ++channel) {
            const collective::ChunkIndex chunk{.offset = channel};
            if (rank == RankId{1}) {
                program.push_back({.channel = channel, .blocks = {{.body = {{.peer = RankId{0}, .chunk = chunk}}}}});
            } else if (rank == RankId{0}) {
                program.push_back({.channel = channel,
                                   .blocks = {{.body = {{.verb = Verb::receive, .peer = RankId{1}, .chunk = chunk},
                                                        {.verb = Verb::signal, .event = 3}}}}});
            }
        }
        const collective::Instruction wait{.verb = Verb::wait, .event = 3};
        if (rank == RankId{0}) {
            program.push_back(
                {.channel = 4,
                 .blocks = {{.body = {wait, wait, wait, wait, {.verb = Verb::send, .peer = RankId{2}}}}}});
        } else if (rank == RankId{2}) {
            program.push_back({.channel = 4, .blocks = {{.body = {{.verb = Verb::receive, .peer = RankId{0}}}}}});
        }
        return program;
    };
    const auto fabric = test::star(3, {1e9}, {1e-6});
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    Bench bench(fabric, engine::engine_named("fluid"));
    bench.settings.folding = Folding::on;
    bench.settings.fold_threads_from = 0;
    const auto folded = replay::run_schedule(communicator, schedule, Bytes{5'000'000}, bench.settings);
    CHECK(folded.fold.threads == 10);
    CHECK(folded.fold.thread_classes == 4);
    CHECK(folded.simulator.messages == 5);
    CHECK(folded.simulator.simulated_messages == 2);
    CHECK(folded.time.value == Approx(5.004e-3));
}

TEST_CASE("thread fold: it is not looked for where there are few messages, and says why it does not fold",
          "[replay][fold]") {
    const auto fabric = cluster({.nodes = 4, .gpus = 4, .per_leaf = 4});
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    const auto request = request_for(Operation::all_reduce, 16, RankId{0});
    const auto schedule = collective::algorithm_named("direct").make(communicator, request);
    Bench bench(fabric, engine::engine_named("fluid"));
    bench.settings.folding = Folding::on;
    CHECK(replay::run_schedule(communicator, schedule, request.bytes, bench.settings).fold.threads == 0);

    // All of direct's 2 x 16 x 15 messages are counted.
    replay::PreparedSchedule prepared(communicator, schedule, request.bytes);
    CHECK(replay::message_count(prepared) == 480);
    fabric::Router adaptive(fabric, fabric::RoutingPolicy::adaptive, 1);
    const replay::ThreadFold none(prepared, fabric, adaptive);
    CHECK_FALSE(none.folds());
    CHECK(none.broken_by() == "adaptive routing makes every path depend on all others");
    CHECK(none.class_count() == 16);
}
