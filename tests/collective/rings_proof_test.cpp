#include "tests/collective/fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"

using namespace lockstep;
using namespace lockstep::collective;

// That the algorithms on rings, chains and grids deliver whatever is asked of them: pieces, channels, dimensions,
// roots.

namespace {

const std::vector<const char*> ring_like{"ring", "bidirectional-ring", "chain", "hierarchical", "blueconnect", "torus",
                                         "swing"};

/// Everything that can serve, and that does something with the tuning. Returns: how many did.
std::size_t prove_all(const Communicator& communicator, const Tuning& tuning, std::int64_t bytes, RankId root = {},
                      const std::vector<const char*>& names = ring_like) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    std::size_t count = 0;
    for (const char* name : names) {
        const Algorithm& algorithm = algorithm_named(name);
        for (const Operation operation : algorithm.operations) {
            Request request = plain_request(operation, ranks, {bytes}, root);
            request.tuning = tuning;
            if (!algorithm.obstacle(communicator, request)) {
                check_proved(algorithm, communicator, request);
                ++count;
            }
        }
    }
    return count;
}

}  // namespace

TEST_CASE("ring algorithms: deliver in pieces, for every number of ranks and every root", "[collective][proof]") {
    const auto ranks = GENERATE(range(1U, 10U), 16U);
    const auto fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    // Every root with some number of pieces, and every number of pieces with some root.
    for (std::uint32_t root = 0; root < std::max(ranks, 3U); ++root) {
        const std::uint32_t pieces = root % 3 == 0 ? 1 : 2 * (root % 3) + 1;
        // Ring 10 operations, bidirectional ring 3, chain 3, swing 3; a grid is a matter of asking, or of two GPUs that
        // are linked.
        CHECK(prove_all(communicator, {.pieces = pieces}, 10'007, id_at<RankId>(root % ranks)) >= 19);
    }
}

TEST_CASE("ring algorithms: deliver over fewer channels than there are rings", "[collective][proof]") {
    const auto cube = cube_mesh();
    const auto cluster = dgx_cluster(4, 4, Island::switched);
    for (const fabric::Fabric* fabric : {&cube, &cluster}) {
        const Communicator communicator = everybody(*fabric);
        for (const std::uint32_t channels : {1U, 2U, 3U, 5U, 100U}) {
            CAPTURE(channels);
            prove_all(communicator, {.pieces = 3, .channels = channels}, 100'003, RankId{3});
            prove_all(communicator, {.channels = channels}, 100'003, RankId{7});
            const Schedule schedule = algorithm_named("ring").make(
                communicator, {.operation = Operation::all_reduce, .bytes = {1000}, .tuning = {.channels = channels}});
            CHECK(schedule.channels == std::min<std::size_t>(channels, communicator.rings().size()));
        }
    }
}

TEST_CASE("ring algorithms: deliver over any dimensions asked for", "[collective][proof]") {
    const auto dimensions = GENERATE(std::vector<std::uint32_t>{12}, std::vector<std::uint32_t>{3, 4},
                                     std::vector<std::uint32_t>{4, 3}, std::vector<std::uint32_t>{2, 3, 2},
                                     std::vector<std::uint32_t>{1, 6, 2}, std::vector<std::uint32_t>{2, 6});
    const auto pieces = GENERATE(1U, 3U);
    CAPTURE(dimensions, pieces);
    const auto fabric = dgx_cluster(3, 4, Island::switched);
    // Swing needs them even, or one of them.
    CHECK(prove_all(everybody(fabric), {.pieces = pieces, .dimensions = dimensions}, 60'006, {},
                    {"blueconnect", "torus", "swing"}) >= 6);
}

TEST_CASE("ring algorithms: deliver on nodes of any size and number", "[collective][proof]") {
    const auto nodes = GENERATE(2U, 3U);
    const auto gpus = GENERATE(2U, 3U);
    const auto island = GENERATE(Island::switched, Island::loop);
    CAPTURE(nodes, gpus, island);
    const auto fabric = dgx_cluster(nodes, gpus, island);
    // Large enough for the default of blueconnect to be several pieces.
    CHECK(prove_all(everybody(fabric), {}, 40'000'001) >= 20);
}

TEST_CASE("ring algorithms: deliver to ranks in any order", "[collective][proof]") {
    const auto island = GENERATE(Island::switched, Island::loop);
    const auto fabric = dgx_cluster(3, 4, island);
    Draw draw(17);
    for (int trial = 0; trial < 3; ++trial) {
        std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
        for (std::uint32_t i = 11; i > 0; --i) {
            std::swap(gpus[i], gpus[draw.below(i + 1)]);
        }
        for (const auto& pieces : {std::optional<std::uint32_t>{}, std::optional<std::uint32_t>{4}}) {
            CHECK(prove_all({fabric, gpus}, {.pieces = pieces}, 100'000, RankId{5}) >= 25);
        }
    }
}

TEST_CASE("ring algorithms: a dimension list that does not fit is refused with both numbers", "[collective][error]") {
    const auto fabric = single_switch(12);
    const Communicator communicator = everybody(fabric);
    const auto complaint = [&](const char* name, std::vector<std::uint32_t> dimensions) {
        return algorithm_named(name)
            .obstacle(communicator,
                      {.operation = Operation::all_reduce, .bytes = {100}, .tuning = {.dimensions = dimensions}})
            .value_or("none");
    };
    for (const char* name : {"torus", "blueconnect", "swing"}) {
        CHECK(complaint(name, {5, 2}) == "dimensions 5 x 2 are 10 ranks, but there are 12");
        CHECK(complaint(name, {2, 6}) == "none");
    }
    CHECK(complaint("swing", {3, 4}) == "swing needs an even number of ranks along each of several dimensions");
    CHECK(complaint("torus", {}) ==
          "torus needs GPUs that are linked to their neighbours in a grid or torus, or dimensions in which to see them "
          "so");
    CHECK(complaint("blueconnect", {}) == "blueconnect needs several nodes of several ranks, a torus, or dimensions");
}

TEST_CASE("ring algorithms: more pieces than can be numbered are refused", "[collective][error]") {
    const auto fabric = single_switch(8);
    const Communicator communicator = everybody(fabric);
    for (const char* name : {"ring", "bidirectional-ring", "chain"}) {
        const auto obstacle = algorithm_named(name).obstacle(
            communicator, {.operation = Operation::all_reduce, .bytes = {100}, .tuning = {.pieces = 4'000'000'000}});
        REQUIRE(obstacle);
        CHECK_THAT(*obstacle, Catch::StartsWith("4000000000 pieces make "));
    }
}

TEST_CASE("ring algorithms: programs of all-reduces do not grow with the number of ranks or pieces", "[collective]") {
    const auto instructions = [](const char* name, std::uint32_t ranks, Tuning tuning) {
        const auto fabric = single_switch(ranks);
        const Schedule schedule = algorithm_named(name).make(
            everybody(fabric), {.operation = Operation::all_reduce, .bytes = {1 << 30}, .tuning = std::move(tuning)});
        std::size_t count = 0;
        const RankProgram program = schedule.program(RankId{1});
        for (const Thread& thread : program) {
            for (const Block& block : thread.blocks) {
                count += block.body.size();
            }
        }
        return count;
    };
    for (const char* name : {"ring", "bidirectional-ring", "chain"}) {
        CHECK(instructions(name, 4, {.pieces = 2}) == instructions(name, 4096, {.pieces = 64}));
    }
    for (const char* name : {"torus", "blueconnect"}) {
        CHECK(instructions(name, 16, {.pieces = 2, .dimensions = {4, 4}}) ==
              instructions(name, 4096, {.pieces = 64, .dimensions = {64, 64}}));
    }
}
