#include <algorithm>
#include <map>
#include <set>

#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/port_model.h"

using namespace lockstep;
using collective::Operation;
using test::Bench;

// That the α–β costs which claim to hold exactly do, on a uniform fabric without contention. α and B are taken from how
// the fabric is built, not from what looks at it.

namespace {

constexpr double alpha = 2 * 3e-6;  // two links of 3 us
constexpr double rate = 25e9;

/// Divides by the number of ranks and its square, in four pieces or in sixteen for each hop of a chain; and is large
/// enough for every default of pieces to be at its most.
Bytes size_for(std::uint32_t ranks) { return Bytes{std::int64_t{ranks} * ranks * (ranks - 1) * 64 * 5760}; }

collective::Request request_for(Operation operation, std::uint32_t ranks, const collective::Tuning& tuning) {
    collective::Request request{
        .operation = operation, .bytes = size_for(ranks), .root = id_at<RankId>(ranks - 1), .tuning = tuning};
    if (operation == Operation::barrier) {
        request.bytes = Bytes{0};
    }
    if (operation == Operation::all_to_all_v) {
        collective::SizeMatrix sizes{.ranks = ranks};
        sizes.bytes.assign(std::size_t{ranks} * ranks, Bytes{size_for(ranks).value / ranks});
        request.sizes = std::make_shared<const collective::SizeMatrix>(std::move(sizes));
    }
    return request;
}

/// Runs everything that can serve and compares it with its cost. Returns: the cells that were exact.
std::set<std::string> check_costs(const fabric::Fabric& fabric, const engine::EngineKind& kind,
                                  const collective::Tuning& tuning) {
    std::set<std::string> exact;
    Bench bench(fabric, kind);
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const auto model = collective::port_model(communicator, bench.router);
    REQUIRE(model);
    CHECK(model->uniform);
    CHECK(model->alpha.value == Approx(alpha).epsilon(1e-12));
    CHECK(model->rate.value == Approx(rate).epsilon(1e-12));
    for (const Operation operation : collective::operations()) {
        const collective::Request request = request_for(operation, ranks, tuning);
        for (const collective::Algorithm* algorithm : collective::candidates(communicator, request)) {
            CAPTURE(kind.name, ranks, tuning.pieces.value_or(0), algorithm->name, collective::name_of(operation));
            const collective::Cost cost = algorithm->cost(communicator, request);
            CHECK_FALSE(cost.formula.empty());
            CHECK_FALSE(cost.source.empty());
            const auto run = replay::run_collective(communicator, request, algorithm->name, bench.settings);
            CHECK(run.time >= run.lower_bound * (1 - 1e-9));
            if (cost.holds == collective::Cost::Holds::exactly) {
                // Chunks of whole bytes: where they do not come out even, each may be a byte longer.
                const collective::Schedule schedule = algorithm->make(communicator, request);
                const bool is_even = request.bytes.value % schedule.chunks == 0;
                const double rounding = is_even ? 0 : schedule.chunks / static_cast<double>(request.bytes.value);
                CHECK(run.time.value == Approx(cost.alphas * alpha + cost.bytes / rate).epsilon(1e-9 + rounding));
                exact.insert(algorithm->name + " " + std::string(collective::name_of(operation)));
            } else {
                // A guide, not more: within a factor of two.
                CHECK(run.time.value < 2 * (cost.alphas * alpha + cost.bytes / rate));
                CHECK(2 * run.time.value > cost.alphas * alpha + cost.bytes / rate);
            }
        }
    }
    return exact;
}

/// As algorithms choose, and with four pieces wherever data is cut.
collective::Tuning any_tuning() { return GENERATE(collective::Tuning{}, collective::Tuning{.pieces = 4}); }

}  // namespace

TEST_CASE("formula: every exact cost is the simulated time on one switch, to 1e-9", "[replay][formula]") {
    const auto ranks = GENERATE(range(2U, 18U), 24U, 31U, 32U);
    const collective::Tuning tuning = any_tuning();
    const auto exact =
        check_costs(test::star(ranks, Bandwidth{rate}, Seconds{alpha / 2}), engine::engine_named("fluid"), tuning);
    CHECK(exact.contains("ring all_reduce") == !tuning.pieces);
    CHECK(exact.contains("direct all_to_all"));
}

TEST_CASE("formula: every exact cost is the simulated time on one switch that adds up", "[replay][formula]") {
    const auto ranks = GENERATE(2U, 3U, 8U, 13U, 16U);
    const collective::Tuning tuning = any_tuning();
    const auto exact = check_costs(test::star(ranks, Bandwidth{rate}, Seconds{alpha / 2}, true),
                                   engine::engine_named("fluid"), tuning);
    CHECK(exact.contains("nvls all_reduce"));
}

TEST_CASE("formula: SimGrid takes as long", "[replay][formula]") {
    const auto ranks = GENERATE(2U, 5U, 8U);
    check_costs(test::star(ranks, Bandwidth{rate}, Seconds{alpha / 2}, true), engine::engine_named("simgrid"),
                any_tuning());
}
