#include <algorithm>
#include <set>

#include "tests/collective/fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::collective;

namespace {

void prove_everything(const Communicator& communicator, Bytes bytes) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    for (const Operation operation : operations()) {
        const Request request = plain_request(operation, ranks, bytes);
        for (const Algorithm* algorithm : candidates(communicator, request)) {
            check_proved(*algorithm, communicator, request);
        }
    }
}

/// Every root of up to 16 ranks; beyond that the ends, the middle and one more.
std::vector<std::uint32_t> roots_of(Operation operation, std::uint32_t ranks, Draw& draw) {
    std::set<std::uint32_t> roots{0};
    if (has_root(operation)) {
        for (std::uint32_t root = 0; root < std::min(ranks, 16U); ++root) {
            roots.insert(root);
        }
        if (ranks > 16) {
            roots = {0, 1, ranks / 2, ranks - 1, draw.below(ranks)};
        }
    }
    return {roots.begin(), roots.end()};
}

/// A request that is no more than a second's work to prove: large sizes make many pieces.
Request bounded_request(const Algorithm& algorithm, const Communicator& communicator, Operation operation, RankId root,
                        Draw& draw) {
    constexpr double most_messages = 20'000;
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    Request request = draw.request(operation, ranks, root);
    if (!algorithm.obstacle(communicator, request) && algorithm.messages(communicator, request) > most_messages) {
        request.tuning.pieces = 2;
    }
    return request;
}

}  // namespace

// The table, cell by cell, for 1 to 64 ranks: each part takes every 16th number of them. Sizes, pieces, channels and
// dimensions are drawn, with the number of ranks as the seed. Without races one order of turns stands for all, so that
// of many ranks only one is tried, now this and now that.
TEMPLATE_TEST_CASE_SIG("every algorithm delivers under one switch, for every number of ranks and root",
                       "[collective][proof]", ((std::uint32_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                       13, 14, 15) {
    for (std::uint32_t ranks = part == 0 ? 16 : part; ranks <= 64; ranks += 16) {
        Draw draw(ranks);
        const auto fabric = reducing_switch(ranks);
        const Communicator communicator = everybody(fabric);
        for (const Operation operation : operations()) {
            for (const std::uint32_t root : roots_of(operation, ranks, draw)) {
                for (const Algorithm& algorithm : algorithms()) {
                    if (std::ranges::find(algorithm.operations, operation) == algorithm.operations.end()) {
                        continue;
                    }
                    const Request request =
                        bounded_request(algorithm, communicator, operation, id_at<RankId>(root), draw);
                    const std::vector<Turns> both{Turns::forward, Turns::backward};
                    if (!algorithm.obstacle(communicator, request)) {
                        check_proved(algorithm, communicator, request,
                                     ranks <= 24 ? both : std::vector<Turns>{draw.of(both)});
                    }
                }
            }
        }
    }
}

TEST_CASE("every algorithm is proved for every operation that it lists", "[collective][proof]") {
    std::vector<fabric::Fabric> fabrics;
    fabrics.push_back(reducing_switch(8));
    fabrics.push_back(dgx_cluster(2, 4, Island::reducing));
    fabrics.push_back(grid({4, 2}, Wrap::all));
    for (const Algorithm& algorithm : algorithms()) {
        for (const Operation operation : algorithm.operations) {
            CAPTURE(algorithm.name, name_of(operation));
            std::size_t proved = 0;
            for (const fabric::Fabric& fabric : fabrics) {
                const Communicator communicator = everybody(fabric);
                const Request request = plain_request(operation, 8, {100'000}, RankId{3});
                if (!algorithm.obstacle(communicator, request)) {
                    check_proved(algorithm, communicator, request);
                    ++proved;
                }
            }
            CHECK(proved > 0);
        }
    }
}

TEMPLATE_TEST_CASE_SIG("every algorithm delivers on several nodes, switched or meshed", "[collective][proof]",
                       ((std::uint32_t nodes, std::uint32_t gpus), nodes, gpus), (1, 2), (1, 3), (1, 4), (1, 6), (2, 1),
                       (2, 2), (2, 3), (2, 4), (2, 6), (3, 1), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3)) {
    Draw draw(nodes * 100 + gpus);
    for (const Island island : {Island::reducing, Island::full_mesh, Island::loop}) {
        CAPTURE(nodes, gpus, island);
        const auto fabric = dgx_cluster(nodes, gpus, island);
        const Communicator communicator = everybody(fabric);
        for (const Operation operation : operations()) {
            for (int trial = 0; trial < 2; ++trial) {
                const RankId root{has_root(operation) ? draw.below(nodes * gpus) : 0};
                const Request request = draw.request(operation, nodes * gpus, root);
                for (const Algorithm* algorithm : candidates(communicator, request)) {
                    check_proved(*algorithm, communicator, request);
                }
            }
        }
        const Request request = plain_request(Operation::all_reduce, nodes * gpus, {12'345'678});
        const auto serves = [&](const char* name) { return !algorithm_named(name).obstacle(communicator, request); };
        CHECK(serves("hierarchical") == (nodes > 1 && gpus > 1));
        CHECK(serves("nvls") == (nodes == 1 && island == Island::reducing));
    }
}

TEST_CASE("hierarchical delivers with many rounds and more nodes than GPUs in one", "[collective][proof]") {
    // 16 rounds need 16 * 256 KiB for each of the ranks.
    const auto fabric = dgx_cluster(9, 2, Island::switched);
    const Request request{.operation = Operation::all_reduce, .bytes = {std::int64_t{18} * 16 * 256 * 1024}};
    const Schedule schedule = algorithm_named("hierarchical").make(everybody(fabric), request);
    CHECK(schedule.chunks == 2 * 16 * 9);
    CHECK(texts(prove(schedule, request.bytes)) == std::vector<std::string>{});
}

TEST_CASE("meshes, grids and tori of GPUs are served along their links", "[collective][proof]") {
    prove_everything(everybody(cube_mesh()), {1'000'000});
    prove_everything(everybody(full_mesh(8)), {1'000'000});
    Draw draw(11);
    for (const auto& extents : {std::vector<std::uint32_t>{5}, {8}, {3, 3}, {4, 4}, {5, 2}, {3, 4, 2}, {2, 2, 2, 2}}) {
        for (const Wrap wrap : {Wrap::none, Wrap::all}) {
            const auto fabric = grid(extents, wrap);
            const Communicator communicator = everybody(fabric);
            const auto ranks = static_cast<std::uint32_t>(communicator.size());
            for (const Operation operation : operations()) {
                const Request request =
                    draw.request(operation, ranks, RankId{has_root(operation) ? draw.below(ranks) : 0});
                for (const Algorithm* algorithm : candidates(communicator, request)) {
                    check_proved(*algorithm, communicator, request);
                }
            }
        }
    }
}

TEST_CASE("ranks may be any GPUs in any order", "[collective][proof]") {
    const auto island = GENERATE(Island::reducing, Island::full_mesh, Island::loop);
    const auto fabric = dgx_cluster(4, 4, island);
    Draw draw(7);
    for (int trial = 0; trial < 6; ++trial) {
        std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
        for (std::uint32_t i = static_cast<std::uint32_t>(gpus.size()) - 1; i > 0; --i) {
            std::swap(gpus[i], gpus[draw.below(i + 1)]);
        }
        gpus.resize(2 + draw.below(15));
        prove_everything({fabric, gpus}, {10'007});
    }
}

TEST_CASE("a mesh may span nodes of different size", "[collective][proof]") {
    // A ring of 20 GPUs over nodes of 7, 3 and 10.
    fabric::FabricBuilder builder("uneven");
    std::vector<VertexId> gpus;
    for (const std::uint32_t size : {7U, 3U, 10U}) {
        const NodeId node = builder.add_node();
        for (std::uint32_t g = 0; g < size; ++g) {
            gpus.push_back(builder.add({.name = "gpu" + std::to_string(gpus.size()), .node = node}));
        }
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        builder.connect(gpus[g], gpus[(g + 1) % gpus.size()],
                        {.bandwidth = {1e9}, .line_rate = {1e9}, .latency = {1e-6}});
    }
    const auto fabric = builder.build();
    const Communicator communicator = everybody(fabric);
    CHECK(communicator.rings().size() == 2);
    prove_everything(communicator, {100'000});
}

TEST_CASE("sizes that do not divide are split without loss", "[collective][proof]") {
    const auto bytes = GENERATE(1, 6, 100, 1'000'003);
    for (const auto& fabric : {single_switch(7), dgx_cluster(3, 4, Island::reducing)}) {
        const Communicator communicator = everybody(fabric);
        prove_everything(communicator, {bytes});
        // What a reduce-scatter leaves at all ranks together, and what a gather brings, is the whole vector.
        const Request request =
            plain_request(Operation::all_gather, static_cast<std::uint32_t>(communicator.size()), {bytes});
        const Proof proof = prove(algorithm_named("ring").make(communicator, request), request.bytes);
        std::int64_t received = 0;
        for (const std::int64_t in : proof.bytes_in) {
            received += in;
        }
        CHECK(received == bytes * (static_cast<std::int64_t>(communicator.size()) - 1));
    }
}

TEST_CASE("one rank has nothing to do", "[collective][proof]") {
    for (const auto& fabric : {reducing_switch(1), dgx_cluster(1, 1, Island::reducing)}) {
        const Communicator communicator = everybody(fabric);
        for (const Operation operation : operations()) {
            const Request request = plain_request(operation, 1, {100});
            for (const Algorithm* algorithm : candidates(communicator, request)) {
                CAPTURE(algorithm->name);
                CHECK(algorithm->make(communicator, request).program(RankId{0}).empty());
                check_proved(*algorithm, communicator, request);
            }
        }
    }
}
