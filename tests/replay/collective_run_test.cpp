#include <map>
#include <utility>
#include <vector>

#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/base/data_files.h"
#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"
#include "sim/fabric/load_fabric.h"

using namespace lockstep;
using collective::Operation;
using test::Bench;

namespace {

replay::CollectiveRun run(const fabric::Fabric& fabric, const collective::Request& request, std::string_view algorithm,
                          const engine::EngineKind& kind) {
    Bench bench(fabric, kind);
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    return replay::run_collective(communicator, request, algorithm, bench.settings);
}

const engine::EngineKind& any_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

}  // namespace

TEST_CASE("collective run: ring, direct and halving-doubling all-reduce take their closed forms", "[replay]") {
    const auto& kind = any_engine();
    CAPTURE(kind.name);
    const auto fabric = test::star(8, Bandwidth{50e9}, Seconds{10e-9});
    const collective::Request request{.operation = Operation::all_reduce, .bytes = Bytes{100'000'000}};
    // Every rank sends 2 * 7/8 * 100 MB = 175 MB at 50 GB/s = 3.5 ms; a message crosses two links of 10 ns; ring takes
    // 14 steps, direct 2, halving-doubling 2 log2(8) = 6.
    CHECK(run(fabric, request, "ring", kind).time.value == Approx(3.5e-3 + 14 * 20e-9).epsilon(1e-9));
    CHECK(run(fabric, request, "direct", kind).time.value == Approx(3.5e-3 + 2 * 20e-9).epsilon(1e-9));
    CHECK(run(fabric, request, "halving-doubling", kind).time.value == Approx(3.5e-3 + 6 * 20e-9).epsilon(1e-9));
}

TEST_CASE("collective run: GB is 1e9, so 1 MiB in a ring of 8 at 400 GB/s takes 30.80 us", "[replay]") {
    const auto& kind = any_engine();
    const auto fabric = test::star(8, Bandwidth{400e9}, Seconds{936.25e-9});
    // 14 * (2 * 936.25 ns + 131072 / 400e9) = 30.802... us; with GiB for GB it would be 30.49 us.
    CHECK(run(fabric, {.operation = Operation::all_reduce, .bytes = Bytes{1 << 20}}, "ring", kind).time.value ==
          Approx(14 * (2 * 936.25e-9 + 131072 / 400e9)).epsilon(1e-9));
}

TEST_CASE("collective run: the ring keeps its closed form as ranks are added", "[replay]") {
    const auto& kind = any_engine();
    const auto ranks = GENERATE(2U, 3U, 9U, 64U, 100U);
    CAPTURE(kind.name, ranks);
    const auto fabric = test::star(ranks, Bandwidth{25e9}, Seconds{500e-9});
    const Bytes size{static_cast<std::int64_t>(ranks) * 100'000};
    // 2(n-1) steps of two links of 500 ns and 100 kB at 25 GB/s.
    CHECK(run(fabric, {.operation = Operation::all_reduce, .bytes = size}, "ring", kind).time.value ==
          Approx(2 * (ranks - 1) * (1e-6 + 100e3 / 25e9)).epsilon(1e-9));
}

TEST_CASE("collective run: every algorithm ends, delivers what it must and is never under the bound", "[replay]") {
    const auto ranks = GENERATE(1U, 2U, 7U, 8U);
    const auto size = GENERATE(Bytes{0}, Bytes{1}, Bytes{100}, Bytes{1'000'003});
    const auto fabric = test::star(ranks, Bandwidth{50e9}, Seconds{1e-6}, true);
    for (const Operation operation : collective::operations()) {
        const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
        collective::Request request{.operation = operation, .bytes = size};
        if (operation == Operation::barrier) {
            request.bytes = {};  // there is nothing to move, and still something to wait for
        } else if (operation == Operation::all_to_all_v) {
            request.sizes = std::make_shared<const collective::SizeMatrix>(collective::SizeMatrix{
                ranks, std::vector<Bytes>(std::size_t{ranks} * ranks, Bytes{size.value / ranks})});
        }
        const bool is_nothing = ranks == 1 || (size.value == 0 && operation != Operation::barrier);
        for (const auto* algorithm : collective::candidates(communicator, request)) {
            std::map<std::string, double> times;
            for (const auto& kind : engine::engines()) {
                CAPTURE(ranks, size.value, collective::name_of(operation), algorithm->name, kind.name);
                const auto result = run(fabric, request, algorithm->name, kind);
                times[kind.name] = result.time.value;
                CHECK(result.algorithm == algorithm->name);
                CHECK(result.time.value >= result.lower_bound.value * (1 - 1e-9));
                if (is_nothing) {
                    CHECK(result.time.value == 0);
                    CHECK(result.links.empty());
                    continue;
                }
                CHECK(result.time.value > 0);
                // Nothing is lost on the way: what goes up to the switch comes down, except that reductions and
                // multicasts make n of one and one of n.
                double up = 0;
                double down = 0;
                for (const auto& use : result.links) {
                    CHECK(use.utilization <= 1 + 1e-9);
                    (fabric.vertex(fabric.from(use.link)).kind == fabric::VertexKind::gpu ? up : down) += use.bytes;
                }
                if (algorithm->name != "nvls") {
                    CHECK(up == Approx(down));
                }
            }
            CHECK(times.at("fluid") == Approx(times.at("simgrid")).epsilon(1e-6));
        }
    }
}

TEST_CASE("collective run: a permutation on one switch takes one latency and the vector, in however many messages",
          "[replay]") {
    const auto& kind = any_engine();
    const auto messages = GENERATE(1U, 2U, 50U);
    CAPTURE(kind.name, messages);
    const auto fabric = test::star(16, Bandwidth{50e9}, Seconds{1e-6});
    // Each port carries one vector each way: 2 us for two links, 100 MB at 50 GB/s. Of a message behind another the
    // latency does not show.
    const auto result = run(fabric,
                            {.operation = Operation::permutation,
                             .bytes = Bytes{100'000'000},
                             .traffic = {.messages = messages, .seed = 4}},
                            "direct", kind);
    CHECK(result.time.value == Approx(2e-6 + 2e-3).epsilon(1e-9));
    CHECK(result.simulator.messages == 16 * messages);
    CHECK(result.links.size() == 32);
    for (const auto& use : result.links) {
        CHECK(use.bytes == Approx(1e8).epsilon(1e-9));
    }
}

TEST_CASE("collective run: a permutation over a tree with half the uplinks takes both engines as long", "[replay]") {
    const auto seed = GENERATE(range(1U, 11U));
    CAPTURE(seed);
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    YamlFile file = YamlFile::load(data.resolve("topologies", "fat-tree"));
    for (const auto& [name, value] : {std::pair("gpus", "64"), std::pair("radix", "12"), std::pair("levels", "3"),
                                      std::pair("oversubscription", "2"), std::pair("routing", "ecmp")}) {
        file.parameters().set(name, value);
    }
    const auto fabric = fabric::load_fabric(file, data);
    const collective::Request request{
        .operation = Operation::permutation, .bytes = Bytes{10'000'000}, .traffic = {.messages = 5, .seed = seed}};
    std::vector<double> times;
    for (const auto& kind : engine::engines()) {
        const auto result = run(fabric, request, "auto", kind);
        times.push_back(result.time.value);
        double sent = 0;
        double taken = 0;
        for (const auto& use : result.links) {
            CHECK(use.utilization <= 1 + 1e-9);
            sent += fabric.vertex(fabric.from(use.link)).kind == fabric::VertexKind::gpu ? use.bytes : 0;
            taken += fabric.vertex(fabric.to(use.link)).kind == fabric::VertexKind::gpu ? use.bytes : 0;
        }
        CHECK(sent == Approx(64 * 1e7).epsilon(1e-9));
        CHECK(taken == Approx(64 * 1e7).epsilon(1e-9));
        // At least two flows of ten hashed onto half as many uplinks share one: 10 MB at less than 50 GB/s.
        CHECK(result.time.value > 1.5 * 10e6 / 50e9);
    }
    CHECK(times.front() == Approx(times.back()).epsilon(1e-6));
}

TEST_CASE("collective run: more bytes take more time", "[replay]") {
    const auto fabric = test::star(8, Bandwidth{50e9}, Seconds{1e-6});
    double last = 0;
    for (const std::int64_t mib : {128, 256, 512, 1024}) {
        const auto result = run(fabric, {.operation = Operation::all_reduce, .bytes = Bytes{mib << 20}}, "auto",
                                engine::engines().front());
        CHECK(result.bytes.value == mib << 20);
        CHECK(result.time.value > 1.9 * last);  // bandwidth-bound: twice the bytes, twice the time but for latency
        last = result.time.value;
    }
}

TEST_CASE("collective run: auto takes the fastest and says which", "[replay]") {
    const auto fabric = test::star(8, Bandwidth{50e9}, Seconds{1e-6});
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    for (const std::int64_t bytes : {8, 1 << 16, 1 << 24}) {
        const collective::Request request{.operation = Operation::all_reduce, .bytes = Bytes{bytes}};
        const auto chosen = run(fabric, request, "auto", engine::engines().front());
        for (const auto* algorithm : collective::candidates(communicator, request)) {
            CAPTURE(bytes, algorithm->name, chosen.algorithm);
            CHECK(chosen.time.value <=
                  run(fabric, request, algorithm->name, engine::engines().front()).time.value * (1 + 1e-9));
        }
    }
}

TEST_CASE("collective run: an algorithm that cannot serve says why", "[replay][error]") {
    const auto fabric = test::star(6, Bandwidth{50e9}, Seconds{1e-6});
    const auto refused = [&](Operation operation, std::string_view algorithm) {
        return run(fabric, {.operation = operation, .bytes = Bytes{1024}}, algorithm, engine::engines().front());
    };
    CHECK_THROWS_AS(refused(Operation::all_reduce, "rings"), InputError);
    CHECK_THROWS_WITH(refused(Operation::all_to_all, "tree"), "algorithm `tree` does not do all_to_all");
    CHECK_THROWS_AS(refused(Operation::all_reduce, "nvls"), InputError);
    CHECK_THROWS_AS(refused(Operation::all_reduce, "hierarchical"), InputError);
}

TEST_CASE("collective run: the same input gives the same doubles", "[replay]") {
    const auto& kind = any_engine();
    const auto fabric = test::star(7, Bandwidth{50e9}, Seconds{1e-6});
    const collective::Request request{.operation = Operation::all_to_all, .bytes = Bytes{1'000'003}};
    const auto first = run(fabric, request, "auto", kind);
    const auto second = run(fabric, request, "auto", kind);
    CHECK(first.time.value == Approx(second.time.value).epsilon(1e-12));
    REQUIRE(first.links.size() == second.links.size());
    for (std::size_t i = 0; i < first.links.size(); ++i) {
        CHECK(first.links[i].bytes == second.links[i].bytes);
    }
}

TEST_CASE("collective run: parallel cables share flows as the routing policy says", "[replay]") {
    const auto& kind = any_engine();
    const auto policy = GENERATE(fabric::RoutingPolicy::static_, fabric::RoutingPolicy::ecmp,
                                 fabric::RoutingPolicy::spray, fabric::RoutingPolicy::adaptive);
    CAPTURE(kind.name, fabric::name_of(policy));
    // Four GPUs on each side, four cables of 12.5 GB/s between. Neighbouring ranks of a pair sit on different sides, so
    // in an all_to_all of 8 by 8 blocks of 10 MB, 16 flows cross in each direction: 160 MB over 50 GB/s is 3.2 ms if
    // all cables are used evenly.
    const auto fabric = test::dumbbell(4, Bandwidth{50e9}, 4, Bandwidth{12.5e9});
    Bench bench(fabric, kind, policy);
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    const auto result = replay::run_collective(
        communicator, {.operation = Operation::all_to_all, .bytes = Bytes{80'000'000}}, "direct", bench.settings);
    if (policy == fabric::RoutingPolicy::ecmp) {
        // Hashing is uneven: 16 flows on 4 cables, at most all on one.
        CHECK(result.time.value >= 3.2e-3 * (1 - 1e-9));
        CHECK(result.time.value <= 4 * 3.2e-3);
    } else {
        CHECK(result.time.value == Approx(3.2e-3).epsilon(1e-6));
    }
}
