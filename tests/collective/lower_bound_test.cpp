#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/fabric/route.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

double bound(const Communicator& communicator, Operation operation, std::int64_t bytes, std::uint32_t root = 0) {
    return lower_bound(communicator, {.operation = operation, .bytes = {bytes}, .root = RankId{root}}).value;
}

constexpr std::int64_t gigabyte = 1'000'000'000;

}  // namespace

TEST_CASE("lower_bound: on one switch it is the port's", "[collective]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    const double latency = 2 * 10e-9;
    // 2 * 7/8 * 100 MB / 50 GB/s = 3.5 ms, and two links for the first message.
    CHECK(bound(communicator, Operation::all_reduce, 100'000'000) == Approx(3.5e-3 + latency).epsilon(1e-12));
    CHECK(bound(communicator, Operation::reduce_scatter, 100'000'000) == Approx(1.75e-3 + latency).epsilon(1e-12));
    CHECK(bound(communicator, Operation::all_gather, 100'000'000) == Approx(1.75e-3 + latency).epsilon(1e-12));
    CHECK(bound(communicator, Operation::all_to_all, 100'000'000) == Approx(1.75e-3 + latency).epsilon(1e-12));
    CHECK(bound(communicator, Operation::broadcast, 100'000'000, 3) == Approx(2e-3 + latency).epsilon(1e-12));
    CHECK(bound(communicator, Operation::all_reduce, 0) == 0);
    const auto one = single_switch(1);
    CHECK(bound(everybody(one), Operation::all_reduce, 100) == 0);
    // Two ranks exchange their data: S/B, not twice that.
    const auto two = single_switch(2);
    CHECK(bound(everybody(two), Operation::all_reduce, 100'000'000) == Approx(2e-3 + latency).epsilon(1e-12));
}

TEST_CASE("lower_bound: a switch that reduces spares the second half", "[collective]") {
    const auto plain = dgx_cluster(1, 8, Island::switched);
    const auto reducing = dgx_cluster(1, 8, Island::reducing);
    const double latency = 2 * 1e-7;
    CHECK(bound(everybody(plain), Operation::all_reduce, gigabyte) ==
          Approx(2 * 7.0 / 8 / 450 + latency).epsilon(1e-12));
    CHECK(bound(everybody(reducing), Operation::all_reduce, gigabyte) == Approx(1.0 / 450 + latency).epsilon(1e-12));
    // Every rank still has to receive the others' parts.
    CHECK(bound(everybody(reducing), Operation::all_gather, gigabyte) ==
          Approx(7.0 / 8 / 450 + latency).epsilon(1e-12));
}

TEST_CASE("lower_bound: between nodes the NICs count", "[collective]") {
    const auto plain = dgx_cluster(2, 8, Island::switched);
    const auto reducing = dgx_cluster(2, 8, Island::reducing);
    const double latency = 2 * 1e-7;  // two GPUs of one node
    // GPUs: 16 ports of 450 + 50 GB/s for 2 * 15 GB: 3.75 ms; nodes: 2 GB over two times 400 GB/s: 2.5 ms.
    CHECK(bound(everybody(plain), Operation::all_reduce, gigabyte) == Approx(3.75e-3 + latency).epsilon(1e-12));
    // Reduced in the island, a GPU needs 1 GB / 500 GB/s = 2 ms: the nodes' 2.5 ms remain.
    CHECK(bound(everybody(reducing), Operation::all_reduce, gigabyte) == Approx(2.5e-3 + latency).epsilon(1e-12));
    // Half of every rank's data goes to the other node: 8 * 0.5 GB over 400 GB/s.
    CHECK(bound(everybody(plain), Operation::all_to_all, gigabyte) == Approx(10e-3 + latency).epsilon(1e-12));
    // The other node must receive the data: 1 GB over 400 GB/s; a GPU: 1 GB over 500 GB/s.
    CHECK(bound(everybody(plain), Operation::broadcast, gigabyte) == Approx(2.5e-3 + latency).epsilon(1e-12));
    // 8/16 of the data must come in: 1.25 ms; the GPUs' 15/16 over 500 GB/s take longer.
    CHECK(bound(everybody(plain), Operation::all_gather, gigabyte) == Approx(15.0 / 16 / 500 + latency).epsilon(1e-12));
}

TEST_CASE("lower_bound: one rank per node has its own NIC only", "[collective]") {
    const auto fabric = dgx_cluster(2, 8, Island::switched);
    const auto all = fabric.gpus();
    // GPU, NIC, leaf, NIC, GPU: 0.1 + 1 + 1 + 0.1 us.
    CHECK(bound({fabric, {all[3], all[11]}}, Operation::all_reduce, gigabyte) ==
          Approx(1.0 / 50 + 2.2e-6).epsilon(1e-12));
    // On different rails the way is two links longer.
    CHECK(bound({fabric, {all[3], all[12]}}, Operation::all_reduce, gigabyte) ==
          Approx(1.0 / 50 + 4.2e-6).epsilon(1e-12));
}

TEST_CASE("lower_bound: GPUs that do not forward are no way between others", "[collective]") {
    const auto fabric = cube_mesh();
    const auto gpus = fabric.gpus();
    // gpu0 and gpu3 are linked (0.1 us).
    CHECK(bound({fabric, {gpus[0], gpus[3]}}, Operation::broadcast, 1) == Approx(1e-7 + 1.0 / 50e9).epsilon(1e-12));
    // A row of three that forward: the ends are two links apart.
    const auto row = grid({3}, Wrap::none);
    const auto ends = row.gpus();
    CHECK(bound({row, {ends[0], ends[2]}}, Operation::broadcast, 1) == Approx(2e-6 + 1.0 / 50e9).epsilon(1e-12));
}

TEST_CASE("lower_bound: blocks are equal, fractions of bytes included", "[collective]") {
    // Three fast GPUs and one at 1 B/s. Of 3 bytes each block is 3/4.
    fabric::FabricBuilder builder("slow-last");
    const auto hub = builder.add({.name = "switch", .kind = fabric::VertexKind::switch_});
    for (const double rate : {1e15, 1e15, 1e15, 1.0}) {
        const auto gpu = builder.add({.name = "gpu" + std::to_string(builder.vertex_count() - 1), .relays = false});
        builder.connect(gpu, hub, {.bandwidth = {rate}, .line_rate = {rate}, .tier = fabric::Tier::scale_out});
    }
    const auto fabric = builder.build();
    const Communicator communicator = everybody(fabric);
    // The slow one sends the sums of the others' blocks; or receives them.
    CHECK(bound(communicator, Operation::reduce_scatter, 3) == Approx(2.25).epsilon(1e-12));
    CHECK(bound(communicator, Operation::all_gather, 3) == Approx(2.25).epsilon(1e-12));
    // 3/4 of a byte to each of the three others.
    CHECK(bound(communicator, Operation::all_to_all, 3) == Approx(2.25).epsilon(1e-12));
    // A quarter of a byte for each of the three others.
    CHECK(bound(communicator, Operation::reduce_scatter, 1) == Approx(0.75).epsilon(1e-12));
    CHECK(bound(communicator, Operation::all_reduce, 3) == Approx(3).epsilon(1e-12));
}

TEST_CASE("lower_bound: two linked GPUs without a switch reach it by the router's path", "[collective]") {
    fabric::FabricBuilder builder("row");
    std::vector<VertexId> gpus;
    for (const char* const name : {"gpu0", "gpu1", "gpu2"}) {
        gpus.push_back(builder.add({.name = name, .relays = false}));
    }
    for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
        builder.connect(gpus[i], gpus[i + 1],
                        {.bandwidth = {1e9}, .line_rate = {1e9}, .latency = {1e-6}, .tier = fabric::Tier::scale_out});
    }
    const auto fabric = builder.build();
    // No vertex forwards, so no end is attached to anything: the search must do with an empty list of attachments.
    fabric::Router router(fabric, fabric::RoutingPolicy::ecmp, 1);
    const auto path = router.route(gpus[0], gpus[1], 0, {}).links;
    REQUIRE(path.size() == 1);
    // 8 bytes at 1 GB/s and one link.
    CHECK(bound({fabric, {gpus[0], gpus[1]}}, Operation::broadcast, 8) ==
          Approx(fabric.link(path[0].link).latency.value + 8e-9).epsilon(1e-12));
}
