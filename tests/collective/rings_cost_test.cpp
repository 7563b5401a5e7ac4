#include "tests/collective/fabrics.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/port_model.h"
#include "sim/collective/prover.h"
#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

using namespace lockstep;
using namespace lockstep::collective;

// Simulated times of the algorithms on rings and chains against hand calculations, on one switch and on links of their
// own.

namespace {

double simulated(const fabric::Fabric& fabric, const char* algorithm, const Request& request,
                 const engine::EngineKind& kind) {
    test::Bench bench(fabric, kind);
    const Communicator communicator = everybody(fabric);
    return replay::run_schedule(communicator, algorithm_named(algorithm).make(communicator, request), request.bytes,
                                bench.settings)
        .time.value;
}

const engine::EngineKind& any_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

constexpr double alpha = 2e-6;  // two links of 1 us
constexpr double rate = 50e9;

fabric::Fabric switch_of(std::uint32_t ranks) { return single_switch(ranks, {rate}, {alpha / 2}); }

struct Row {
    const char* algorithm;
    Operation operation;
    double alphas;
    double vectors;  ///< that cross a port
};

void check_row(const Row& row, std::uint32_t ranks, std::int64_t bytes, const Tuning& tuning,
               const engine::EngineKind& kind) {
    CAPTURE(kind.name, row.algorithm, name_of(row.operation), ranks);
    const Request request{
        .operation = row.operation, .bytes = {bytes}, .root = id_at<RankId>(ranks / 2), .tuning = tuning};
    const auto fabric = switch_of(ranks);
    const double expected = row.alphas * alpha + row.vectors * static_cast<double>(bytes) / rate;
    CHECK(simulated(fabric, row.algorithm, request, kind) == Approx(expected).epsilon(1e-9));
}

}  // namespace

TEST_CASE("ring cost: eight ranks take the closed forms to the last digit", "[replay]") {
    const auto& kind = any_engine();
    // 8 ranks; 8 MB take 160 us through a port. Broadcast and reduce in 4 pieces: 1 + 6/4 vectors. All-to-all: blocks
    // travel 1 .. 7 hops, 28/8 vectors in all. Chain all-reduce: see its own test.
    for (const Row& row :
         {Row{"ring", Operation::all_reduce, 14, 14. / 8}, Row{"ring", Operation::reduce_scatter, 7, 7. / 8},
          Row{"ring", Operation::all_gather, 7, 7. / 8}, Row{"ring", Operation::all_to_all, 7, 28. / 8},
          Row{"ring", Operation::gather, 7, 7. / 8}, Row{"ring", Operation::scatter, 7, 7. / 8},
          Row{"ring", Operation::send_recv, 1, 1}, Row{"bidirectional-ring", Operation::all_reduce, 14, 14. / 8},
          Row{"bidirectional-ring", Operation::reduce_scatter, 7, 7. / 8},
          Row{"bidirectional-ring", Operation::all_gather, 7, 7. / 8}}) {
        check_row(row, 8, 8'000'000, {}, kind);
    }
    for (const char* algorithm : {"ring", "chain"}) {
        check_row({algorithm, Operation::broadcast, 7, 1 + 6. / 4}, 8, 8'000'000, {.pieces = 4}, kind);
        check_row({algorithm, Operation::reduce, 7, 1 + 6. / 4}, 8, 8'000'000, {.pieces = 4}, kind);
    }
}

TEST_CASE("ring cost: any number of ranks", "[replay]") {
    const auto ranks = GENERATE(2U, 3U, 5U, 12U, 17U);
    const double n = ranks;
    const auto& kind = engine::engine_named("fluid");
    const std::int64_t bytes = 100'000 * std::int64_t{ranks} * 12;
    check_row({"ring", Operation::all_reduce, 2 * (n - 1), 2 * (n - 1) / n}, ranks, bytes, {}, kind);
    check_row({"ring", Operation::all_to_all, n - 1, (n - 1) / 2}, ranks, bytes, {}, kind);
    check_row({"ring", Operation::gather, n - 1, (n - 1) / n}, ranks, bytes, {}, kind);
    check_row({"ring", Operation::scatter, n - 1, (n - 1) / n}, ranks, bytes, {}, kind);
    check_row({"ring", Operation::reduce, n - 1, 1 + (n - 2) / 6}, ranks, bytes, {.pieces = 6}, kind);
    check_row({"chain", Operation::reduce, n - 1, 1 + (n - 2) / 6}, ranks, bytes, {.pieces = 6}, kind);
    check_row({"chain", Operation::broadcast, n - 1, 1 + (n - 2) / 6}, ranks, bytes, {.pieces = 6}, kind);
    check_row({"bidirectional-ring", Operation::all_reduce, 2 * (n - 1), 2 * (n - 1) / n}, ranks, bytes, {}, kind);
}

TEST_CASE("ring cost: a barrier takes 2(n-1) latencies", "[replay]") {
    const auto& kind = any_engine();
    const auto ranks = GENERATE(2U, 3U, 4U, 9U);
    CHECK(simulated(switch_of(ranks), "ring", {.operation = Operation::barrier}, kind) ==
          Approx(2 * (ranks - 1) * alpha).epsilon(1e-9));
}

TEST_CASE("ring cost: pieces hide latency behind data", "[replay]") {
    const auto& kind = any_engine();
    const auto fabric = switch_of(8);
    Request request{.operation = Operation::all_reduce, .bytes = {8'000'000}, .tuning = {.pieces = 4}};
    // Blocks of 1 MB take 20 us, pieces 5 us. A piece comes back to where it can be sent on after 2 + 5 us, before the
    // port has sent the other three: 14 blocks without a gap, and one latency at the end.
    CHECK(simulated(fabric, "ring", request, kind) == Approx(14 * 20e-6 + alpha).epsilon(1e-9));
    // Blocks of 10 KB take 0.2 us, pieces 0.05 us: a step takes the latency and one piece; the rest of the block
    // follows once.
    request.bytes = {80'000};
    CHECK(simulated(fabric, "ring", request, kind) == Approx(14 * (alpha + 0.05e-6) + 0.15e-6).epsilon(1e-9));
    for (const Operation half : {Operation::reduce_scatter, Operation::all_gather}) {
        request.operation = half;
        request.bytes = {8'000'000};
        CHECK(simulated(fabric, "ring", request, kind) == Approx(7 * 20e-6 + alpha).epsilon(1e-9));
    }
}

TEST_CASE("ring cost: a bidirectional ring takes half where both ways have links of their own", "[replay]") {
    const auto& kind = any_engine();
    // 10 GPUs in a ring of links, 50 GB/s and 1 us each: 10 MB in blocks of 1 MB, or 2 x 0.5 MB.
    const auto fabric = grid({10}, Wrap::all);
    Request request{.operation = Operation::all_reduce, .bytes = {10'000'000}};
    CHECK(simulated(fabric, "bidirectional-ring", request, kind) == Approx(18 * (1e-6 + 10e-6)).epsilon(1e-9));
    // The communicator of a torus has a ring each way round, and one channel means one of them.
    CHECK(simulated(fabric, "ring", request, kind) == Approx(18 * (1e-6 + 10e-6)).epsilon(1e-9));
    request.tuning.channels = 1;
    CHECK(simulated(fabric, "ring", request, kind) == Approx(18 * (1e-6 + 20e-6)).epsilon(1e-9));
}

TEST_CASE("chain cost: an all-reduce down and up a line of links takes one vector and the fill", "[replay]") {
    const auto& kind = any_engine();
    // 5 GPUs in a row; links 50 GB/s, 1 us. The sums of 10 pieces of 1 MB (20 us) reach the head over 4 hops and go
    // back over 4, in the links' other directions: 9 pieces behind the first, which takes 8 hops.
    const auto fabric = grid({5}, Wrap::none);
    const Request request{
        .operation = Operation::all_reduce, .bytes = {10'000'000}, .tuning = {.pieces = 10, .channels = 1}};
    CHECK(simulated(fabric, "chain", request, kind) == Approx(8 * (1e-6 + 20e-6) + 9 * 20e-6).epsilon(1e-9));
    // On one switch the two streams share each inner rank's port: twice the data, about.
    const double shared = simulated(switch_of(5), "chain", request, kind);
    CHECK(shared > 2 * 200e-6);
    CHECK(shared < 2 * 200e-6 + 8 * (alpha + 20e-6));
}

TEST_CASE("port model: leaves out pairs that no path joins", "[collective]") {
    // Cube mesh: neighbours have one or two links of 25 GB/s and 0.1 us; four of the seven others are neighbours.
    const auto fabric = cube_mesh();
    const Communicator communicator = everybody(fabric);
    fabric::Router router(fabric, fabric::RoutingPolicy::static_, 1);
    const auto model = port_model(communicator, router);
    REQUIRE(model);
    CHECK_FALSE(model->uniform);
    CHECK(model->alpha.value == Approx(0.1e-6));
    CHECK(model->rate.value == Approx(25e9));
    const auto gpus = fabric.gpus();
    const Communicator strangers(fabric, {gpus[0], gpus[7]});
    CHECK_FALSE(port_model(strangers, router));
}

TEST_CASE("port model: a mesh has more ports than the book knows of", "[collective]") {
    const auto ports_of = [](const fabric::Fabric& fabric) {
        const Communicator communicator = everybody(fabric);
        fabric::Router router(fabric, fabric::RoutingPolicy::static_, 1);
        return port_model(communicator, router);
    };
    // Each of 4 GPUs has a link of 64 GB/s to each other: alike for all pairs, and 192 GB/s to all three together.
    const auto in_mesh = ports_of(full_mesh(4));
    REQUIRE(in_mesh);
    CHECK(in_mesh->uniform);
    CHECK(in_mesh->rate.value == Approx(64e9));
    CHECK_FALSE(in_mesh->one_port);
    CHECK(ports_of(switch_of(4))->one_port);
    CHECK(ports_of(dgx_cluster(1, 4, Island::switched))->one_port);  // a PCIe port is no way to other GPUs here
    CHECK(ports_of(switch_of(2))->one_port);
}

TEST_CASE("ring cost: bytes and depth", "[collective]") {
    const auto fabric = switch_of(6);
    const Communicator communicator = everybody(fabric);
    const auto proof_of = [&](const char* algorithm, Operation operation, Tuning tuning = {}) {
        const Request request{
            .operation = operation, .bytes = {6'000'000}, .root = RankId{2}, .tuning = std::move(tuning)};
        return prove(algorithm_named(algorithm).make(communicator, request), request.bytes);
    };
    const auto each = [](std::int64_t bytes) { return std::vector<std::int64_t>(6, bytes); };
    CHECK(proof_of("ring", Operation::all_to_all).bytes_out == each(15'000'000));  // 1 + 2 + .. + 5 blocks of 1 MB
    CHECK(proof_of("ring", Operation::all_to_all).depth == 5);
    CHECK(proof_of("ring", Operation::all_reduce, {.pieces = 3}).bytes_out == each(10'000'000));
    CHECK(proof_of("ring", Operation::all_reduce, {.pieces = 3}).depth == 10);
    // The root gets five blocks; whoever is d hops before it sends its own and those of the 5 - d behind it.
    CHECK(proof_of("ring", Operation::gather).bytes_out ==
          std::vector<std::int64_t>{4'000'000, 5'000'000, 0, 1'000'000, 2'000'000, 3'000'000});
    CHECK(proof_of("ring", Operation::scatter).bytes_out ==
          std::vector<std::int64_t>{1'000'000, 0, 5'000'000, 4'000'000, 3'000'000, 2'000'000});
    CHECK(proof_of("ring", Operation::barrier).depth == 10);
    CHECK(proof_of("bidirectional-ring", Operation::all_reduce).bytes_out == each(10'000'000));
    CHECK(proof_of("bidirectional-ring", Operation::all_reduce).depth == 10);
    CHECK(proof_of("chain", Operation::all_reduce, {.pieces = 1}).depth == 10);
    CHECK(proof_of("blueconnect", Operation::all_reduce, {.dimensions = {2, 3}}).bytes_out == each(10'000'000));
    CHECK(proof_of("blueconnect", Operation::all_reduce, {.dimensions = {2, 3}}).depth == 6);
    CHECK(proof_of("swing", Operation::all_reduce).bytes_out == each(10'000'000));
    CHECK(proof_of("swing", Operation::all_reduce).depth == 6);
}
