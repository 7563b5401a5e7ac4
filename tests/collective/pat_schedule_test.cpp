#include <bit>
#include <set>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

/// What rank 0 does of an all-gather.
std::vector<Instruction> instructions(std::uint32_t ranks, std::uint32_t pieces) {
    const auto fabric = single_switch(ranks);
    const Request request{.operation = Operation::all_gather, .bytes = {1000}, .tuning = {.pieces = pieces}};
    return algorithm_named("pat").make(everybody(fabric), request).program(RankId{0}).front().blocks.front().body;
}

/// How far on each message goes, and how many blocks it has.
std::vector<std::pair<std::uint32_t, std::size_t>> messages(std::uint32_t ranks, std::uint32_t pieces) {
    std::vector<std::pair<std::uint32_t, std::size_t>> all;
    for (const Instruction& instruction : instructions(ranks, pieces)) {
        if (instruction.verb == Verb::send) {
            all.emplace_back(index(instruction.peer), instruction.chunks->size());
        }
    }
    return all;
}

using Messages = std::vector<std::pair<std::uint32_t, std::size_t>>;

}  // namespace

TEST_CASE("pat: far messages come first and are the small ones", "[pat]") {
    // Fully aggregated, Bruck's algorithm backwards: 8 ranks in three messages.
    CHECK(messages(8, 1) == Messages{{4, 1}, {2, 2}, {1, 4}});
    // Two blocks at most: trees open over distance 4, then two subtrees of 4 are walked: 2, 2 + 1, 1.
    CHECK(messages(8, 2) == Messages{{4, 1}, {2, 2}, {1, 2}, {1, 2}});
    // One block: the tree of 8 branch by branch.
    CHECK(messages(8, 4) == Messages{{4, 1}, {2, 1}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 1}});
    // Five ranks: offsets 5, 6 and 7 do not exist.
    CHECK(messages(5, 1) == Messages{{4, 1}, {2, 1}, {1, 2}});
}

TEST_CASE("pat: a rank buffers as many blocks as a branch is long, for each of its aggregated trees", "[pat]") {
    const auto ranks = GENERATE(8U, 16U, 19U, 64U, 100U);
    const auto pieces = GENERATE(1U, 2U, 4U, 64U);
    CAPTURE(ranks, pieces);
    const auto steps = instructions(ranks, pieces);
    std::size_t most = 0;
    std::size_t aggregated = 1;
    for (std::size_t at = 0; at < steps.size(); ++at) {
        aggregated = std::max(aggregated, steps[at].chunks->size());
        // Blocks of others that came by now and that go on later.
        std::set<std::uint32_t> came;
        for (std::size_t i = 0; i <= at; ++i) {
            if (steps[i].verb == Verb::receive) {
                came.insert(steps[i].chunks->begin(), steps[i].chunks->end());
            }
        }
        std::set<std::uint32_t> held;
        for (std::size_t i = at + 1; i < steps.size(); ++i) {
            for (const std::uint32_t chunk : *steps[i].chunks) {
                if (steps[i].verb == Verb::send && came.contains(chunk)) {
                    held.insert(chunk);
                }
            }
        }
        most = std::max(most, held.size());
    }
    const auto branch = static_cast<std::size_t>(std::bit_width((ranks - 1) / std::bit_floor(aggregated)));
    CHECK(most <= std::bit_ceil(aggregated) * branch);
}

TEST_CASE("pat: takes a latency for each message and (n-1)/n S/B", "[pat]") {
    const auto& kind = each_engine();
    const auto operation = GENERATE(Operation::all_gather, Operation::reduce_scatter);
    const auto fabric = single_switch(16, {50e9}, {1e-6});
    // A of 8, 4, 2 and 1: log2 A + 16/A - 1 messages.
    for (const auto& [pieces, steps] : {std::pair{1U, 4.}, std::pair{2U, 5.}, std::pair{4U, 8.}, std::pair{8U, 15.}}) {
        CAPTURE(kind.name, name_of(operation), pieces);
        const Request request{.operation = operation, .bytes = {16'000'000}, .tuning = {.pieces = pieces}};
        // 15/16 * 16 MB / 50 GB/s = 300 us.
        CHECK(run_on(everybody(fabric), request, "pat", kind).time.value ==
              Approx(steps * 2e-6 + 300e-6).epsilon(1e-9));
    }
}

TEST_CASE("pat: aggregates as long as buffers last", "[pat]") {
    const auto fabric = single_switch(16);
    const auto alphas = [&](std::int64_t bytes) {
        return algorithm_named("pat")
            .cost(everybody(fabric), {.operation = Operation::all_gather, .bytes = {bytes}})
            .alphas;
    };
    // Eight blocks of 512 KiB fill 4 MiB; of 1 MiB four do, of 4 MiB and more one.
    CHECK(alphas(16 << 19) == 4);
    CHECK(alphas(16 << 20) == 5);
    CHECK(alphas(16 << 22) == 15);
    CHECK(alphas(16LL << 30) == 15);
    CHECK(alphas(0) == 4);
}

TEST_CASE("pat: is proved for any number of ranks and any aggregation", "[pat][proof]") {
    const auto ranks = GENERATE(range(1U, 20U), 31U, 32U, 33U, 64U);
    const auto fabric = single_switch(ranks);
    for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter}) {
        for (const std::uint32_t pieces : {1U, 2U, 3U, 8U, 1000U}) {
            check_proved(algorithm_named("pat"), everybody(fabric),
                         {.operation = operation, .bytes = {10'007}, .tuning = {.pieces = pieces}});
        }
    }
}
