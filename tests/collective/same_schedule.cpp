#include "tests/collective/same_schedule.h"

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"
#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

namespace lockstep::collective {

namespace {

replay::CollectiveRun replayed(const Communicator& communicator, const Schedule& schedule, Bytes bytes) {
    fabric::Router router(communicator.fabric(), fabric::RoutingPolicy::static_, 1);
    replay::Settings settings;
    settings.make_engine = engine::engines().front().make;
    settings.router = &router;
    return replay::run_schedule(communicator, schedule, bytes, settings);
}

}  // namespace

void check_same(const Communicator& communicator, const Schedule& before, const Schedule& after) {
    CHECK(after.algorithm == before.algorithm);
    CHECK(after.operation == before.operation);
    CHECK(after.ranks == before.ranks);
    CHECK(after.channels == before.channels);
    CHECK(after.chunks == before.chunks);
    CHECK(after.result == before.result);
    CHECK(after.root == before.root);
    // A size that the chunks divide: chunks of scratch are then as large as those that are packed in them.
    const Bytes bytes{before.operation == Operation::barrier ? 0 : std::int64_t{before.chunks} * 4096};
    const Proof expected = prove(before, bytes);
    for (const Turns turns : {Turns::forward, Turns::backward}) {
        const Proof proof = prove(after, bytes, turns);
        for (const Finding& finding : proof.findings) {
            FAIL_CHECK(finding.text);
        }
        CHECK(proof.messages == expected.messages);
        CHECK(proof.bytes_out == expected.bytes_out);
        CHECK(proof.bytes_in == expected.bytes_in);
        CHECK(proof.depth == expected.depth);
    }
    const replay::CollectiveRun was = replayed(communicator, before, bytes);
    const replay::CollectiveRun is = replayed(communicator, after, bytes);
    CHECK(is.time.value == Approx(was.time.value).epsilon(1e-9).margin(0));
    CHECK(is.simulator.messages == was.simulator.messages);
    REQUIRE(is.links.size() == was.links.size());
    for (std::size_t at = 0; at < was.links.size(); ++at) {
        CHECK(is.links[at].link == was.links[at].link);
        CHECK(is.links[at].bytes == Approx(was.links[at].bytes).epsilon(1e-9));
    }
}

int for_each_schedule(const fabric::Fabric& fabric,
                      const std::function<void(const Communicator&, const Schedule&)>& check) {
    int count = 0;
    const Communicator communicator = everybody(fabric);
    for (const Algorithm& algorithm : algorithms()) {
        for (const Operation operation : algorithm.operations) {
            Request request{.operation = operation, .bytes = Bytes{1 << 20}};
            if (operation == Operation::barrier) {
                request.bytes = {};
            }
            if (operation == Operation::all_to_all_v) {
                auto sizes = std::make_shared<SizeMatrix>();
                sizes->ranks = static_cast<std::uint32_t>(communicator.size());
                for (std::size_t pair = 0; pair < communicator.size() * communicator.size(); ++pair) {
                    sizes->bytes.push_back(Bytes{static_cast<std::int64_t>(pair % 5) * 1000});
                }
                request.sizes = sizes;
            }
            if (has_root(operation)) {
                request.root = id_at<RankId>(communicator.size() / 2);
            }
            if (algorithm.obstacle(communicator, request)) {
                continue;
            }
            CAPTURE(algorithm.name, name_of(operation), communicator.size());
            check(communicator, algorithm.make(communicator, request));
            ++count;
        }
    }
    return count;
}

}  // namespace lockstep::collective
