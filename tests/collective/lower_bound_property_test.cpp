#include <algorithm>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

/// One switch that may reduce, with unequal links.
fabric::Fabric drawn_star(Draw& draw) {
    fabric::FabricBuilder builder("drawn star");
    const auto hub = builder.add({.name = "switch", .kind = fabric::VertexKind::switch_, .reduces = draw.one_in(2)});
    const std::uint32_t gpus = 2 + draw.below(7);
    for (std::uint32_t g = 0; g < gpus; ++g) {
        const auto gpu = builder.add({.name = fmt::format("gpu{}", g), .relays = false});
        const double rate = 1e9 * (1 + draw.below(50));
        builder.connect(gpu, hub, {.bandwidth = {rate}, .line_rate = {rate}, .latency = {1e-7 * draw.below(30)}});
    }
    return builder.build();
}

/// Nodes with islands, NICs and rails.
fabric::Fabric drawn_cluster(Draw& draw) {
    const Island island = draw.of(std::vector{Island::switched, Island::reducing, Island::full_mesh, Island::loop});
    return dgx_cluster(1 + draw.below(3), 1 + draw.below(3), island);
}

fabric::Fabric drawn_grid(Draw& draw) {
    return grid({2 + draw.below(2), 2 + draw.below(2)}, draw.one_in(2) ? Wrap::all : Wrap::none);
}

/// Networks whose switches can reduce, mostly.
fabric::Fabric drawn_network(Draw& draw) {
    const std::uint32_t gpus = 1 + draw.below(3);
    return network({.leaves = 1 + draw.below(2),
                    .nodes_on_leaf = 1 + draw.below(gpus > 1 ? 2 : 3),
                    .gpus_in_node = gpus,
                    .nics_of_gpu = 1 + draw.below(2),
                    .spines = 1 + draw.below(2),
                    .leaves_reduce = !draw.one_in(4),
                    .spines_reduce = !draw.one_in(4),
                    .inside = draw.of(std::vector{Island::switched, Island::reducing, Island::full_mesh}),
                    .nic = {1e9 * (5 + draw.below(60))},
                    .inside_rate = {1e9 * (20 + draw.below(400))}});
}

/// Some of the GPUs, in any order.
std::vector<VertexId> drawn_ranks(Draw& draw, const fabric::Fabric& fabric) {
    std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
    if (draw.one_in(2)) {
        for (std::size_t i = gpus.size(); i > 1; --i) {
            std::swap(gpus[i - 1], gpus[draw.below(static_cast<std::uint32_t>(i))]);
        }
        gpus.resize(1 + draw.below(static_cast<std::uint32_t>(gpus.size())));
    }
    return gpus;
}

/// Sizes for which pieces stay few, so that SimGrid is quick.
Bytes drawn_size(Draw& draw, std::uint32_t ranks) {
    return {draw.of(std::vector<std::int64_t>{1, ranks - 1, 1009, 100'000, 1'000'003, 8'000'000})};
}

/// Holds every algorithm that can serve against the bound, with every operation, on both engines.
void check_nobody_is_faster(std::uint32_t seed, fabric::Fabric (*drawn_fabric)(Draw&)) {
    Draw draw(seed);
    const auto fabric = drawn_fabric(draw);
    const Communicator communicator(fabric, drawn_ranks(draw, fabric));
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    for (const Operation operation : operations()) {
        Request request = draw.request(operation, ranks, id_at<RankId>(draw.below(ranks)));
        request.tuning.pieces = 1 + draw.below(6);
        if (operation != Operation::barrier && operation != Operation::all_to_all_v) {
            request.bytes = drawn_size(draw, ranks);
        }
        const double bound = lower_bound(communicator, request).value;
        for (const Algorithm* algorithm : candidates(communicator, request)) {
            for (const auto& kind : engine::engines()) {
                CAPTURE(seed, fabric.name(), ranks, name_of(operation), request.bytes.value, algorithm->name,
                        kind.name);
                const auto run = run_on(communicator, request, algorithm->name.c_str(), kind);
                CHECK(run.time.value >= bound * (1 - 1e-9));
                CHECK(run.lower_bound.value == bound);
            }
        }
    }
}

}  // namespace

TEST_CASE("lower_bound: no algorithm is faster on one switch with unequal links", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(0U, 8U)), drawn_star);
}

TEST_CASE("lower_bound: no algorithm is faster on nodes with rails", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(100U, 106U)), drawn_cluster);
}

TEST_CASE("lower_bound: no algorithm is faster on other nodes with rails", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(200U, 206U)), drawn_cluster);
}

TEST_CASE("lower_bound: no algorithm is faster on grids", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(300U, 304U)), drawn_grid);
}

TEST_CASE("lower_bound: no algorithm is faster where the network adds up", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(400U, 406U)), drawn_network);
}

TEST_CASE("lower_bound: no algorithm is faster where other networks add up", "[lower_bound][property]") {
    check_nobody_is_faster(GENERATE(range(500U, 506U)), drawn_network);
}

TEST_CASE("lower_bound: switches that add up behind NICs spare the second half", "[lower_bound]") {
    const auto bound = [](const Network& shape, Operation operation) {
        const auto fabric = network(shape);
        return lower_bound(everybody(fabric), {.operation = operation, .bytes = {1'000'000'000}}).value;
    };
    // Four nodes of one GPU with a NIC of 50 GB/s each: 1 GB up and 1 GB down at once is 20 ms; without switches that
    // add up 2 * 3/4 GB, 30 ms. The nearest two are 2.2 us apart.
    CHECK(bound({}, Operation::all_reduce) == Approx(20e-3 + 2.2e-6).epsilon(1e-12));
    CHECK(bound({.leaves_reduce = false, .spines_reduce = false}, Operation::all_reduce) ==
          Approx(30e-3 + 2.2e-6).epsilon(1e-12));
    // All parties together matter for an all-gather to a slow one only where nothing copies: 3/4 GB each, 15 ms.
    CHECK(bound({}, Operation::all_gather) == Approx(15e-3 + 2.2e-6).epsilon(1e-12));
}

TEST_CASE("lower_bound: nothing but data for oneself takes no time", "[lower_bound]") {
    const auto fabric = single_switch(3);
    SizeMatrix own{.ranks = 3, .bytes = std::vector<Bytes>(9)};
    own.bytes[0] = own.bytes[4] = Bytes{100};
    const Request request{
        .operation = Operation::all_to_all_v, .bytes = {100}, .sizes = std::make_shared<const SizeMatrix>(own)};
    CHECK(lower_bound(everybody(fabric), request).value == 0);
}

TEST_CASE("lower_bound: operations with a root, or with addresses, count what must cross", "[lower_bound]") {
    const auto fabric = single_switch(4, {1e9}, {1e-6});
    const Communicator communicator = everybody(fabric);
    const auto bound = [&](Operation operation) {
        return lower_bound(communicator, {.operation = operation, .bytes = {4'000'000}, .root = RankId{1}}).value;
    };
    const double alpha = 2e-6;
    // 4 MB at 1 GB/s: 4 ms in at the root of a reduce; three of four blocks leave that of a scatter, or reach that of a
    // gather; everybody passes on everything.
    CHECK(bound(Operation::reduce) == Approx(4e-3 + alpha).epsilon(1e-12));
    CHECK(bound(Operation::scatter) == Approx(3e-3 + alpha).epsilon(1e-12));
    CHECK(bound(Operation::gather) == Approx(3e-3 + alpha).epsilon(1e-12));
    CHECK(bound(Operation::send_recv) == Approx(4e-3 + alpha).epsilon(1e-12));
    CHECK(lower_bound(communicator, {.operation = Operation::barrier}).value == Approx(alpha).epsilon(1e-12));
    // Rank 2 receives 1 + 5 + 3 MB.
    SizeMatrix sizes{.ranks = 4, .bytes = std::vector<Bytes>(16)};
    sizes.bytes[2] = {1'000'000};
    sizes.bytes[4 + 2] = {5'000'000};
    sizes.bytes[8 + 2] = {9'000'000};  // its own
    sizes.bytes[12 + 2] = {3'000'000};
    const Request uneven{
        .operation = Operation::all_to_all_v, .bytes = {9'000'000}, .sizes = std::make_shared<const SizeMatrix>(sizes)};
    CHECK(lower_bound(communicator, uneven).value == Approx(9e-3 + alpha).epsilon(1e-12));
}
