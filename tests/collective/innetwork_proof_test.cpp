#include <vector>

#include "tests/collective/innetwork_fabrics.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

/// Ranks on nodes of two, the first node with one more where the number is odd.
void prove_on_nodes_of_two(std::uint32_t ranks, Island inside, const std::vector<const char*>& algorithms) {
    const auto fabric = network({.leaves = 1, .nodes_on_leaf = ranks / 2, .gpus_in_node = 3, .inside = inside});
    std::vector<VertexId> gpus;
    for (std::size_t at = 0; at < fabric.gpus().size(); ++at) {
        if (at % 3 < 2 || (at == 2 && ranks % 2 == 1)) {
            gpus.push_back(fabric.gpus()[at]);
        }
    }
    const Communicator communicator(fabric, gpus);
    REQUIRE(communicator.size() == ranks);
    Draw draw(ranks);
    for (const char* const name : algorithms) {
        const Algorithm& algorithm = algorithm_named(name);
        const Request request = draw.request(Operation::all_reduce, ranks, RankId{0});
        REQUIRE(algorithm.obstacle(communicator, request).value_or("none") == "none");
        check_proved(algorithm, communicator, request);
    }
}

}  // namespace

TEST_CASE("nvls-tree and collnet are proved for 4 to 33 ranks on switched nodes", "[innetwork][proof]") {
    prove_on_nodes_of_two(GENERATE(range(4U, 34U)), Island::reducing, {"nvls-tree", "collnet"});
}

TEST_CASE("nvls-tree and collnet are proved for 34 to 64 ranks on switched nodes", "[innetwork][proof]") {
    prove_on_nodes_of_two(GENERATE(range(34U, 65U)), Island::reducing, {"nvls-tree", "collnet"});
}

TEST_CASE("collnet is proved for 4 to 64 ranks on meshed nodes", "[innetwork][proof]") {
    prove_on_nodes_of_two(GENERATE(range(4U, 65U)), Island::full_mesh, {"collnet"});
}

TEST_CASE("every operation of collnet is proved for up to 34 ranks over leaves and spines", "[innetwork][proof]") {
    const auto ranks = GENERATE(1U, 2U, 3U, 5U, 8U, 13U, 21U, 34U);
    const auto fabric = network({.leaves = (ranks + 3) / 4, .nodes_on_leaf = 4, .spines = 2});
    const Communicator communicator(fabric, {fabric.gpus().begin(), fabric.gpus().begin() + ranks});
    const Algorithm& algorithm = algorithm_named("collnet");
    Draw draw(ranks);
    for (const Operation operation : algorithm.operations) {
        const Request request = draw.request(operation, ranks, id_at<RankId>(draw.below(ranks)));
        REQUIRE(algorithm.obstacle(communicator, request).value_or("none") == "none");
        check_proved(algorithm, communicator, request);
    }
}
