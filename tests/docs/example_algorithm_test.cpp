#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"
#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

using namespace lockstep;

namespace lockstep::collective {
Algorithm centre_algorithm();  // as docs/collectives/adding-an-algorithm.md has it
}

namespace {

fabric::Fabric star(std::uint32_t gpus) {
    fabric::FabricBuilder builder("star");
    const VertexId hub = builder.add({.name = "switch", .kind = fabric::VertexKind::switch_});
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
        const VertexId vertex = builder.add({.name = "gpu" + std::to_string(gpu)});
        builder.connect(vertex, hub,
                        {.bandwidth = Bandwidth{50e9}, .line_rate = Bandwidth{50e9}, .latency = Seconds{1e-6}});
    }
    return builder.build();
}

}  // namespace

TEST_CASE("docs: the example algorithm is proved and takes what it says", "[docs]") {
    const auto ranks = GENERATE(1U, 2U, 3U, 8U, 17U);
    const fabric::Fabric fabric = star(ranks);
    const collective::Communicator communicator(fabric, {fabric.gpus().begin(), fabric.gpus().end()});
    const collective::Algorithm algorithm = collective::centre_algorithm();
    const collective::Request request{.bytes = Bytes{1'000'000}};
    REQUIRE_FALSE(algorithm.obstacle(communicator, request));
    const collective::Schedule schedule = algorithm.make(communicator, request);
    const collective::Proof proof = collective::prove(schedule, request.bytes);
    CHECK(proof.holds());
    CHECK(static_cast<double>(proof.messages) == algorithm.messages(communicator, request));
    if (ranks > 1) {
        fabric::Router router(fabric, fabric.routing(), 1);
        replay::Settings settings;
        settings.make_engine = engine::engine_named("fluid").make;
        settings.router = &router;
        const auto run = replay::run_schedule(communicator, schedule, request.bytes, settings);
        // Two latencies of two links of 1 us; n-1 vectors of 20 us in and out.
        CHECK(run.time.value == Approx(4e-6 + 2 * (ranks - 1) * 20e-6).epsilon(1e-9));
        const collective::Cost cost = algorithm.cost(communicator, request);
        CHECK(run.time.value == Approx(cost.alphas * 2e-6 + cost.bytes / 50e9).epsilon(1e-9));
    }
}
