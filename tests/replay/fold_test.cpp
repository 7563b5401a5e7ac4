#include "sim/replay/fold.h"

#include <algorithm>
#include <optional>
#include <random>

#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"

using namespace lockstep;
using collective::Operation;
using replay::Folding;
using test::Bench;

// That folded runs give what unfolded ones give, whatever breaks the symmetry, and that there is folding where nodes
// are alike.

namespace {

/// What is wrong with one of the nodes or links of a cluster.
enum class Flaw : std::uint8_t { none, slow_nic, slow_island, long_cable, slow_spine, failed_nic, smaller_node };

struct Shape {
    std::uint32_t nodes = 4;
    std::uint32_t gpus = 2;      ///< on each
    std::uint32_t per_leaf = 2;  ///< nodes
    std::uint32_t spines = 1;
    bool rails = true;  ///< a leaf for each GPU of a node, not one for all
    Flaw flaw = Flaw::none;
    std::uint32_t flawed = 0;  ///< node
    fabric::RoutingPolicy routing = fabric::RoutingPolicy::static_;
};

/// Nodes of GPUs on a switch, a NIC for each GPU, leaves, spines.
fabric::Fabric cluster(const Shape& shape) {
    fabric::FabricBuilder builder("cluster");
    builder.set_routing(shape.routing);
    const auto link = [](double rate, double latency, fabric::Tier tier) {
        return fabric::Link{.bandwidth = {rate}, .line_rate = {rate}, .latency = {latency}, .tier = tier};
    };
    const auto name = [](const std::string& what, std::uint32_t i) { return what + std::to_string(i); };
    const std::uint32_t groups = (shape.nodes + shape.per_leaf - 1) / shape.per_leaf;
    const std::uint32_t rails = shape.rails ? shape.gpus : 1;
    std::vector<VertexId> spines;
    for (std::uint32_t s = 0; s < shape.spines; ++s) {
        spines.push_back(builder.add({.name = name("spine", s), .kind = fabric::VertexKind::switch_}));
    }
    std::vector<VertexId> leaves;
    for (std::uint32_t l = 0; l < groups * rails; ++l) {
        leaves.push_back(builder.add({.name = name("leaf", l), .kind = fabric::VertexKind::switch_}));
        for (std::uint32_t s = 0; s < shape.spines; ++s) {
            const bool slow = shape.flaw == Flaw::slow_spine && l == shape.flawed % (groups * rails) && s == 0;
            builder.connect(leaves.back(), spines[s], link(slow ? 7e9 : 50e9, 1e-6, fabric::Tier::scale_out));
        }
    }
    for (std::uint32_t n = 0; n < shape.nodes; ++n) {
        const bool flawed = n == shape.flawed;
        const NodeId node = builder.add_node();
        const std::string prefix = name("node", n) + ".";
        const VertexId hub =
            builder.add({.name = prefix + "switch", .kind = fabric::VertexKind::switch_, .node = node});
        std::optional<VertexId> first_nic;
        const std::uint32_t gpus = flawed && shape.flaw == Flaw::smaller_node ? 1 : shape.gpus;
        for (std::uint32_t g = 0; g < gpus; ++g) {
            const VertexId gpu = builder.add({.name = prefix + name("gpu", g), .node = node, .relays = false});
            const double island = flawed && shape.flaw == Flaw::slow_island && g == 0 ? 90e9 : 400e9;
            builder.connect(gpu, hub, link(island, 0.2e-6, fabric::Tier::scale_up));
            const bool failed = flawed && shape.flaw == Flaw::failed_nic && g > 0 && g + 1 == gpus;
            if (failed) {  // its GPU uses the first NIC of the node
                builder.connect(gpu, *first_nic, link(60e9, 0.3e-6, fabric::Tier::host));
                continue;
            }
            const VertexId nic =
                builder.add({.name = prefix + name("nic", g), .kind = fabric::VertexKind::nic, .node = node});
            first_nic = first_nic.value_or(nic);
            builder.connect(gpu, nic, link(60e9, 0.3e-6, fabric::Tier::host));
            const double rate = flawed && shape.flaw == Flaw::slow_nic && g == 0 ? 20e9 : 50e9;
            const double latency = flawed && shape.flaw == Flaw::long_cable ? 5e-6 : 0.5e-6;
            builder.connect(nic, leaves[n / shape.per_leaf * rails + (shape.rails ? g : 0)],
                            link(rate, latency, fabric::Tier::scale_out));
        }
    }
    return builder.build();
}

replay::CollectiveRun run(const fabric::Fabric& fabric, const collective::Request& request,
                          const collective::Algorithm& algorithm, const char* engine, Folding folding) {
    Bench bench(fabric, engine::engine_named(engine));
    bench.settings.folding = folding;
    const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
    return replay::run_collective(communicator, request, algorithm.name, bench.settings);
}

void check_alike(const replay::CollectiveRun& folded, const replay::CollectiveRun& plain, double within) {
    CHECK(folded.time.value == Approx(plain.time.value).epsilon(within));
    CHECK(folded.simulator.messages == plain.simulator.messages);
    REQUIRE(folded.links.size() == plain.links.size());
    for (std::size_t i = 0; i < plain.links.size(); ++i) {
        CHECK(folded.links[i].link == plain.links[i].link);
        CHECK(folded.links[i].bytes == Approx(plain.links[i].bytes).epsilon(1e-9));
    }
}

Shape random_shape(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    Shape shape;
    shape.gpus = 1 + below(3);
    shape.per_leaf = 1 + below(4);
    shape.nodes = 2 + below(9);
    shape.spines = 1 + below(3);
    shape.rails = below(2) == 0;
    shape.flaw = below(2) == 0 ? Flaw::none : static_cast<Flaw>(1 + below(6));
    shape.flawed = below(shape.nodes);
    shape.routing = below(4) == 0   ? fabric::RoutingPolicy::ecmp
                    : below(4) == 0 ? fabric::RoutingPolicy::spray
                                    : fabric::RoutingPolicy::static_;
    return shape;
}

}  // namespace

TEST_CASE("fold: folded and unfolded agree on random clusters, algorithms and flaws", "[replay][fold]") {
    // 25 clusters in each of eight parts: 200, each with every operation in turn and two of its algorithms.
    const auto part = GENERATE(range(0U, 8U));
    std::mt19937_64 random(part + 1);
    std::size_t folds = 0;
    for (std::uint32_t trial = 0; trial < 25; ++trial) {
        const Shape shape = random_shape(random);
        const fabric::Fabric fabric = cluster(shape);
        const collective::Communicator communicator(fabric, collective::default_placement(fabric, std::nullopt));
        const auto ranks = static_cast<std::int64_t>(communicator.size());
        const Operation operation = collective::operations()[trial % collective::operations().size()];
        if (operation == Operation::all_to_all_v) {
            continue;  // sizes of each pair's own
        }
        collective::Request request{.operation = operation,
                                    .bytes = Bytes{ranks * ranks * 7680 + static_cast<std::int64_t>(random() % 2)},
                                    .root = id_at<RankId>(random() % communicator.size()),
                                    .tuning = {.pieces = 4}};
        if (operation == Operation::barrier) {
            request.bytes = Bytes{0};
        }
        const auto able = collective::candidates(communicator, request);
        REQUIRE_FALSE(able.empty());
        for (int pick = 0; pick < 2; ++pick) {
            const collective::Algorithm& algorithm = *able[random() % able.size()];
            CAPTURE(part, trial, shape.nodes, shape.gpus, shape.per_leaf, shape.spines, shape.rails,
                    static_cast<int>(shape.flaw), shape.flawed, fabric::name_of(shape.routing), algorithm.name,
                    collective::name_of(operation));
            const auto plain = run(fabric, request, algorithm, "fluid", Folding::off);
            const auto folded = run(fabric, request, algorithm, "fluid", Folding::on);
            check_alike(folded, plain, 1e-9);
            folds += folded.simulator.simulated_messages < folded.simulator.messages ? 1 : 0;
            if (trial % 5 == 0) {
                check_alike(folded, run(fabric, request, algorithm, "simgrid", Folding::off), 1e-6);
            }
        }
    }
    CHECK(folds > 0);
}

TEST_CASE("fold: alike nodes fold to one, and a flaw in one node leaves it a class of its own", "[replay][fold]") {
    // Halving-doubling among 8 nodes of one GPU on one leaf: each node sends to one partner at each distance.
    Shape shape{.nodes = 8, .gpus = 1, .per_leaf = 8};
    const auto& algorithm = collective::algorithm_named("halving-doubling");
    const collective::Request request{.bytes = Bytes{8 << 20}};
    const auto whole = run(cluster(shape), request, algorithm, "fluid", Folding::on);
    CHECK(whole.fold.nodes == 8);
    CHECK(whole.fold.classes == 1);
    CHECK(whole.simulator.messages == 8 * 6);
    CHECK(whole.simulator.simulated_messages == 6);

    // Direct: all others are alike, whichever is slow.
    shape.flaw = Flaw::slow_nic;
    shape.flawed = 5;
    const auto direct = run(cluster(shape), request, collective::algorithm_named("direct"), "fluid", Folding::on);
    CHECK(direct.fold.classes == 2);
    // From the slow one to the others, from those to it, and among those; each in two passes.
    CHECK(direct.simulator.simulated_messages == 6);
    CHECK(direct.simulator.messages == 2 * 8 * 7);
}

TEST_CASE("fold: what keeps nodes apart is said", "[replay][fold]") {
    const auto& direct = collective::algorithm_named("direct");
    const Shape shape{.nodes = 8, .gpus = 1, .per_leaf = 8};
    // That 8 does not divide the bytes does not.
    CHECK(run(cluster(shape), {.bytes = Bytes{1'000'001}}, direct, "fluid", Folding::on).fold.classes == 1);
    const auto untried = run(cluster(shape), {.bytes = Bytes{1 << 20}}, direct, "fluid", Folding::off);
    CHECK(untried.fold.nodes == 0);
    const auto tree =
        run(cluster(shape), {.bytes = Bytes{1 << 20}}, collective::algorithm_named("tree"), "fluid", Folding::on);
    CHECK(tree.fold.broken_by == "messages between nodes take unlike paths, or go to unlike nodes");
}
