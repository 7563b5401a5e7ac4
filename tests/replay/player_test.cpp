#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/collective/communicator.h"

using namespace lockstep;
using collective::Verb;
using test::Bench;

namespace {

/// A schedule of `ranks` whose programs are given as they are.
collective::Schedule schedule_of(std::vector<collective::RankProgram> programs, std::uint32_t chunks) {
    const auto ranks = static_cast<std::uint32_t>(programs.size());
    return {.algorithm = "by-hand",
            .operation = collective::Operation::broadcast,
            .ranks = ranks,
            .chunks = chunks,
            .program = [programs = std::move(programs)](RankId rank) { return programs[index(rank)]; }};
}

collective::Thread thread_of(std::vector<collective::Block> blocks) {
    collective::Thread thread;
    thread.blocks = std::move(blocks);
    return thread;
}

/// One step towards or from `peer`, repeated for chunks 0, 1, 2, ... of `chunks`.
collective::Block repeated(Verb verb, std::uint32_t peer, std::uint32_t chunks) {
    collective::Instruction step;
    step.verb = verb;
    step.peer = RankId{peer};
    step.chunk = {.first = 0, .stride = 1, .modulus = chunks};
    return {.iterations = chunks, .body = {step}};
}

replay::CollectiveRun run(const fabric::Fabric& fabric, const collective::Schedule& schedule, Bytes bytes,
                          const engine::EngineKind& kind) {
    Bench bench(fabric, kind);
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, schedule.ranks));
    return replay::run_schedule(communicator, schedule, bytes, bench.settings);
}

}  // namespace

TEST_CASE("player: a message takes its route's latency plus its bytes over the rate, once", "[replay]") {
    const auto& kind = GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
    CAPTURE(kind.name);
    const auto fabric = test::star(2, Bandwidth{50e9}, Seconds{1e-6});
    const auto schedule =
        schedule_of({{thread_of({repeated(Verb::send, 1, 1)})}, {thread_of({repeated(Verb::receive, 0, 1)})}}, 1);
    // Cut-through: two links of 1 us, then 100 MB at 50 GB/s once.
    CHECK(run(fabric, schedule, Bytes{100'000'000}, kind).time.value == Approx(2e-6 + 2e-3).epsilon(1e-9));
}

TEST_CASE("player: successive messages of a connection overlap their latencies, not their bytes", "[replay]") {
    const auto& kind = GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
    CAPTURE(kind.name);
    const auto fabric = test::star(2, Bandwidth{50e9}, Seconds{1e-3});
    const auto schedule =
        schedule_of({{thread_of({repeated(Verb::send, 1, 10)})}, {thread_of({repeated(Verb::receive, 0, 10)})}}, 10);
    // 10 chunks of 10 MB: 2 ms of latency once, 10 * 0.2 ms of bytes.
    const auto result = run(fabric, schedule, Bytes{100'000'000}, kind);
    CHECK(result.time.value == Approx(2e-3 + 2e-3).epsilon(1e-9));
    CHECK(result.simulator.messages == 10);
}

TEST_CASE("player: a rank that drains sends one message after the other, each at the full rate", "[replay]") {
    const auto& kind = GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
    CAPTURE(kind.name);
    const auto fabric = test::star(4, Bandwidth{50e9}, Seconds{1e-6});
    // Rank 0 sends 100 MB (2 ms) to ranks 1 and 2; rank 1 passes it on to rank 3.
    const auto to = [](std::uint32_t peer) { return repeated(Verb::send, peer, 1); };
    const auto from = [](std::uint32_t peer) { return repeated(Verb::receive, peer, 1); };
    const auto time = [&](const std::vector<collective::Block>& sends) {
        const auto schedule = schedule_of(
            {{thread_of(sends)}, {thread_of({from(0), to(3)})}, {thread_of({from(0)})}, {thread_of({from(1)})}}, 1);
        return run(fabric, schedule, Bytes{100'000'000}, kind).time.value;
    };
    // At once, both take twice 2 ms, and rank 1 begins after that.
    CHECK(time({to(1), to(2)}) == Approx(2e-6 + 4e-3 + 2e-6 + 2e-3).epsilon(1e-9));
    // In turn, rank 1 begins after 2 ms, beside rank 0's second message.
    CHECK(time({to(1), repeated(Verb::drain, 1, 1), to(2)}) == Approx(2e-6 + 2e-3 + 2e-6 + 2e-3).epsilon(1e-9));
}

TEST_CASE("player: ranks that wait for each other are a deadlock with the ranks named", "[replay][error]") {
    const auto& kind = GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
    CAPTURE(kind.name);
    const auto fabric = test::star(3, Bandwidth{50e9}, Seconds{1e-6});
    const auto schedule = schedule_of({{thread_of({repeated(Verb::receive, 1, 1), repeated(Verb::send, 1, 1)})},
                                       {thread_of({repeated(Verb::receive, 0, 1), repeated(Verb::send, 0, 1)})},
                                       {}},
                                      1);
    CHECK_THROWS_WITH(run(fabric, schedule, Bytes{8}, kind),
                      "deadlock: 2 of 3 ranks cannot finish `by-hand`: rank 0 waits for a message from rank 1 "
                      "(channel 0); rank 1 waits for a message from rank 0 (channel 0)");
}

TEST_CASE("player: an in-switch reduction moves each member's bytes up once and the sum down once", "[replay]") {
    const auto& kind = GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
    CAPTURE(kind.name);
    const auto fabric = test::star(4, Bandwidth{50e9}, Seconds{1e-6}, true);
    collective::Instruction give;
    give.verb = Verb::contribute;
    collective::Instruction read = give;
    read.verb = Verb::reduce_in_switch;
    collective::Instruction cast = give;
    cast.verb = Verb::multicast;
    collective::Instruction take = give;
    take.verb = Verb::receive_multicast;
    const collective::RankProgram member = {thread_of({{.iterations = 1, .body = {give, take}}})};
    collective::Thread teller = thread_of({{.iterations = 1, .body = {read, cast}}});
    collective::RankProgram root = member;
    root.push_back(teller);
    auto schedule = schedule_of({root, member, member, member}, 1);
    schedule.groups = {{RankId{0}, RankId{1}, RankId{2}, RankId{3}}};
    const auto result = run(fabric, schedule, Bytes{50'000'000}, kind);
    // Up and down: 2 us and 1 ms for the reduction, the same again for the multicast.
    CHECK(result.time.value == Approx(2 * (2e-6 + 1e-3)).epsilon(1e-9));
    double bytes = 0;
    for (const auto& use : result.links) {
        bytes += use.bytes;
    }
    // Reduction: 4 up, 1 down. Multicast: 1 up, 4 down.
    CHECK(bytes == Approx(10 * 50e6));
}

TEST_CASE("player: programs that are none are refused with the rank", "[replay][error]") {
    const auto fabric = test::star(2, Bandwidth{50e9}, Seconds{1e-6});
    const auto refused = [&](collective::RankProgram program) {
        return run(fabric, schedule_of({std::move(program), {}}, 2), Bytes{8}, engine::engines().front());
    };
    CHECK_THROWS_WITH(refused({thread_of({repeated(Verb::send, 7, 1)})}), "schedule of rank 0: peer 7 does not exist");
    CHECK_THROWS_WITH(refused({thread_of({repeated(Verb::send, 0, 1)})}),
                      "schedule of rank 0: sends to or receives from itself");
    CHECK_THROWS_WITH(refused({thread_of({repeated(Verb::send, 1, 3)})}), "schedule of rank 0: chunk 2 of 2");
    CHECK_THROWS_WITH(refused({thread_of({repeated(Verb::send, 1, 1)}), thread_of({repeated(Verb::send, 1, 1)})}),
                      "schedule of rank 0: two threads of channel 0 send to rank 1");
}
