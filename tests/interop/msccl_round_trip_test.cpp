// Every algorithm of the table, written as MSCCL XML and read back, does the same: proved, as fast, with as many
// messages and as many bytes on every link.

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"
#include "sim/engine/engines.h"
#include "sim/interop/msccl.h"
#include "sim/replay/replay.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::string written(const Schedule& schedule) {
    std::ostringstream out;
    interop::write_msccl(out, schedule);
    return out.str();
}

replay::CollectiveRun replayed(const Communicator& communicator, const Schedule& schedule, Bytes bytes) {
    fabric::Router router(communicator.fabric(), fabric::RoutingPolicy::static_, 1);
    replay::Settings settings;
    settings.make_engine = engine::engines().front().make;
    settings.router = &router;
    return replay::run_schedule(communicator, schedule, bytes, settings);
}

bool adds_in_switches(const Schedule& schedule) {
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
            for (const Block& block : thread.blocks) {
                for (const Instruction& instruction : block.body) {
                    switch (instruction.verb) {
                        case Verb::contribute:
                        case Verb::reduce_in_switch:
                        case Verb::multicast:
                        case Verb::receive_multicast:
                        case Verb::contribute_to_all:
                        case Verb::receive_sum:
                            return true;
                        default:
                            break;
                    }
                }
            }
        }
    }
    return false;
}

bool is_known(Operation operation) {
    return operation != Operation::all_to_all_v && operation != Operation::send_recv && operation != Operation::barrier;
}

void check_round_trip(const Communicator& communicator, const Schedule& schedule) {
    if (adds_in_switches(schedule)) {
        CHECK_THROWS_WITH(written(schedule), Catch::Contains("adds up or copies in switches"));
        return;
    }
    const Schedule back = interop::parse_msccl(written(schedule), "back.xml");
    CHECK(back.algorithm == schedule.algorithm);
    CHECK(back.operation == schedule.operation);
    CHECK(back.ranks == schedule.ranks);
    CHECK(back.chunks == schedule.chunks);
    CHECK(back.root == schedule.root);
    // A size that the chunks divide: chunks of scratch are then as large as those that are packed in them.
    const Bytes bytes{std::int64_t{schedule.chunks} * 4096};
    const Proof before = prove(schedule, bytes);
    for (const Turns turns : {Turns::forward, Turns::backward}) {
        const Proof after = prove(back, bytes, turns);
        for (const Finding& finding : after.findings) {
            FAIL_CHECK(finding.text);
        }
        CHECK(after.messages == before.messages);
        CHECK(after.bytes_out == before.bytes_out);
        CHECK(after.bytes_in == before.bytes_in);
        CHECK(after.depth == before.depth);
    }
    const replay::CollectiveRun as_it_is = replayed(communicator, schedule, bytes);
    const replay::CollectiveRun read_back = replayed(communicator, back, bytes);
    CHECK(read_back.time.value == Approx(as_it_is.time.value).epsilon(1e-9).margin(0));
    CHECK(read_back.simulator.messages == as_it_is.simulator.messages);
    REQUIRE(read_back.links.size() == as_it_is.links.size());
    for (std::size_t at = 0; at < as_it_is.links.size(); ++at) {
        CHECK(read_back.links[at].link == as_it_is.links[at].link);
        CHECK(read_back.links[at].bytes == Approx(as_it_is.links[at].bytes).epsilon(1e-9));
    }
}

/// All operations of all algorithms that can serve; returns how many were tried.
int check_all(const fabric::Fabric& fabric) {
    int tried = 0;
    const Communicator communicator = everybody(fabric);
    for (const Algorithm& algorithm : algorithms()) {
        for (const Operation operation : algorithm.operations) {
            Request request{.operation = operation, .bytes = Bytes{1 << 20}};
            if (!is_known(operation)) {
                continue;
            }
            if (has_root(operation)) {
                request.root = id_at<RankId>(communicator.size() / 2);
            }
            if (algorithm.obstacle(communicator, request)) {
                continue;
            }
            CAPTURE(algorithm.name, name_of(operation), communicator.size());
            check_round_trip(communicator, algorithm.make(communicator, request));
            ++tried;
        }
    }
    return tried;
}

}  // namespace

TEST_CASE("MSCCL: every algorithm comes back as it was, on one switch", "[interop]") {
    const std::uint32_t ranks = GENERATE(2U, 3U, 4U, 5U, 6U, 7U, 8U);
    CHECK(check_all(single_switch(ranks)) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, on one switch with many ranks", "[interop]") {
    const std::uint32_t ranks = GENERATE(9U, 12U, 13U, 16U);
    CHECK(check_all(single_switch(ranks)) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, in a cluster", "[interop]") {
    CHECK(check_all(dgx_cluster(2, 4, Island::switched)) > 20);
    CHECK(check_all(dgx_cluster(2, 4, Island::reducing)) > 20);
    CHECK(check_all(dgx_cluster(3, 2, Island::full_mesh)) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, on a torus", "[interop]") {
    CHECK(check_all(grid({4, 3}, Wrap::all)) > 10);
    CHECK(check_all(grid({2, 2, 3}, Wrap::none)) > 10);
}
