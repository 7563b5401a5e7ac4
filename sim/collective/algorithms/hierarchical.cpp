#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/direct_links.h"
#include "sim/collective/reach.h"
#include "sim/collective/rings.h"

// A reduce-scatter in each node leaves its l-th GPU with the node's sum of the l-th part; the l-th GPUs of all nodes
// all-reduce that part round a ring; an all-gather in each node spreads the results. Only 1/g of the data of each GPU
// crosses between nodes, on its own rail. The data is cut into rounds, so that nodes exchange inside while earlier
// rounds cross between them. Source: Cho, Finkler, Kung and Hunter (2019), "BlueConnect: decomposing all-reduce for
// deep learning on heterogeneous network hierarchy", for two levels.

namespace lockstep::collective {

namespace {

/// How GPUs of one node exchange: straight with each other where every pair has a path of its own, else round a ring.
enum class Inside : std::uint8_t { direct, ring };

/// What programs need to know; it outlives the communicator.
struct Plan {
    std::vector<std::vector<std::uint32_t>> nodes = {};  ///< ranks by node and place in it; parts belong to places
    std::vector<std::uint32_t> node_of = {};
    std::vector<std::uint32_t> place_of = {};
    Inside inside = Inside::direct;
    std::uint32_t rounds = 1;
    std::uint32_t lanes = 1;  ///< rounds that cross between nodes together; divides `rounds`

    std::uint32_t node_size() const { return static_cast<std::uint32_t>(nodes.front().size()); }
    std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
    /// Part `place` of round `round` is `node_count` chunks from here on, one for each step of the ring across.
    std::uint32_t first_chunk(std::uint32_t place, std::uint32_t round) const {
        return (place * rounds + round) * node_count();
    }
};

std::vector<VertexId> gpus_of(const Communicator& communicator, const std::vector<RankId>& ranks) {
    std::vector<VertexId> gpus;
    gpus.reserve(ranks.size());
    for (const RankId rank : ranks) {
        gpus.push_back(communicator.gpu(rank));
    }
    return gpus;
}

Inside way_inside(const Communicator& communicator) {
    for (const auto& node : communicator.nodes()) {
        const std::vector<VertexId> gpus = gpus_of(communicator, node);
        if (!share_scale_up_switch(communicator.fabric(), gpus) &&
            !DirectLinks(communicator.fabric(), gpus).complete()) {
            return Inside::ring;
        }
    }
    return Inside::direct;
}

/// Rounds let the phases overlap, so more is better until a message between nodes is so short that its latency shows: a
/// 400 Gb/s NIC sends 256 KiB in 5 us, the order of a round trip. Two rounds at a time cross between nodes, one moving
/// while the other's latency passes. Exchanges round a ring inside a node wait for every step, so rounds would follow
/// each other without overlap: one.
std::uint32_t rounds_for(const Communicator& communicator, const Request& request, Inside inside) {
    constexpr std::int64_t shortest_message = 256 << 10;
    constexpr std::int64_t most = 16;
    if (inside == Inside::ring) {
        return 1;
    }
    const std::int64_t most_useful =
        request.bytes.value / static_cast<std::int64_t>(communicator.size()) / shortest_message;
    return static_cast<std::uint32_t>(std::clamp(most_useful / 2 * 2, std::int64_t{1}, most));
}

Plan plan_for(const Communicator& communicator, const Request& request) {
    Plan plan;
    plan.inside = way_inside(communicator);
    plan.rounds = rounds_for(communicator, request, plan.inside);
    plan.lanes = plan.rounds % 2 == 0 ? 2 : 1;
    plan.node_of.resize(communicator.size());
    plan.place_of.resize(communicator.size());
    for (const auto& ranks : communicator.nodes()) {
        std::vector<std::uint32_t> order(ranks.size());
        std::iota(order.begin(), order.end(), 0U);
        if (plan.inside == Inside::ring) {
            const DirectLinks links(communicator.fabric(), gpus_of(communicator, ranks));
            order = mesh_order(links).value_or(order);
        }
        auto& node = plan.nodes.emplace_back();
        for (const std::uint32_t at : order) {
            const RankId rank = ranks[at];
            plan.node_of[index(rank)] = static_cast<std::uint32_t>(plan.nodes.size() - 1);
            plan.place_of[index(rank)] = static_cast<std::uint32_t>(node.size());
            node.push_back(static_cast<std::uint32_t>(rank));
        }
    }
    return plan;
}

/// The program of one rank. Its only thread does everything: sends do not wait, so what it sends inside the node moves
/// while it waits for other nodes.
class Program {
  public:
    Program(const Plan& plan, RankId rank)
        : plan_(plan), node_(plan.node_of[index(rank)]), place_(plan.place_of[index(rank)]) {}

    std::vector<Block> blocks() {
        if (plan_.inside == Inside::ring) {
            // Parts move round the node; the rank starts with the one before its own, so that its own comes last.
            ring_inside(plan_.node_size() - 1, Verb::receive_reduce);
            across(0);
            ring_inside(0, Verb::receive);
            return std::move(blocks_);
        }
        scatter();
        for (std::uint32_t first = 0; first < plan_.rounds; first += plan_.lanes) {
            take_contributions(first);
            across(first);
            spread(first);
        }
        gather();
        return std::move(blocks_);
    }

  private:
    RankId peer_inside(std::uint32_t distance) const {
        return id_at<RankId>(plan_.nodes[node_][place_inside(distance)]);
    }
    std::uint32_t place_inside(std::uint32_t distance) const { return (place_ + distance) % plan_.node_size(); }
    /// A part in each of all rounds, as a loop runs through them.
    ChunkIndex all_rounds(std::uint32_t place) const {
        return {
            .offset = plan_.first_chunk(place, 0), .stride = 1, .modulus = plan_.rounds, .scale = plan_.node_count()};
    }

    /// All rounds of contributions leave at the start: they queue on their connections, so that the first round arrives
    /// first.
    void scatter() {
        Block block{.iterations = plan_.rounds};
        for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
            block.body.push_back({.verb = Verb::send,
                                  .peer = peer_inside(d),
                                  .chunk = all_rounds(place_inside(d)),
                                  .count = plan_.node_count()});
        }
        blocks_.push_back(std::move(block));
    }

    void take_contributions(std::uint32_t first_round) {
        Block block;
        for (std::uint32_t round = first_round; round < first_round + plan_.lanes; ++round) {
            for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
                block.body.push_back({.verb = Verb::receive_reduce,
                                      .peer = peer_inside(plan_.node_size() - d),
                                      .chunk = {.offset = plan_.first_chunk(place_, round)},
                                      .count = plan_.node_count()});
            }
        }
        blocks_.push_back(std::move(block));
    }

    void spread(std::uint32_t first_round) {
        Block block;
        for (std::uint32_t round = first_round; round < first_round + plan_.lanes; ++round) {
            for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
                block.body.push_back({.verb = Verb::send,
                                      .peer = peer_inside(d),
                                      .chunk = {.offset = plan_.first_chunk(place_, round)},
                                      .count = plan_.node_count()});
            }
        }
        blocks_.push_back(std::move(block));
    }

    void gather() {
        Block block{.iterations = plan_.rounds};
        for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
            block.body.push_back({.verb = Verb::receive,
                                  .peer = peer_inside(plan_.node_size() - d),
                                  .chunk = all_rounds(place_inside(plan_.node_size() - d)),
                                  .count = plan_.node_count()});
        }
        blocks_.push_back(std::move(block));
    }

    /// The all-reduce of `lanes` rounds round the ring of the ranks at this place of all nodes: 2(n-1) steps, of which
    /// the first n-1 add up. A lane sends as soon as it has received, whatever the other lane does.
    void across(std::uint32_t first_round) {
        const std::uint32_t nodes = plan_.node_count();
        const auto next = id_at<RankId>(plan_.nodes[(node_ + 1) % nodes][place_]);
        const auto previous = id_at<RankId>(plan_.nodes[(node_ + nodes - 1) % nodes][place_]);
        // Sent in step s: chunk node - s; taken in step s: chunk node - 1 - s.
        const auto chunk = [&](std::uint32_t lane, std::uint32_t back) {
            return ChunkIndex{.offset = plan_.first_chunk(place_, first_round + lane),
                              .first = (node_ + 2 * nodes - back) % nodes,
                              .stride = -1,
                              .modulus = nodes};
        };
        const auto steps = [&](std::uint32_t iterations, auto instructions) {
            Block block{.iterations = iterations};
            for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane) {
                instructions(lane, block.body);
            }
            if (iterations > 0) {
                blocks_.push_back(std::move(block));
            }
        };
        const auto take_and_pass_on = [&](Verb take, std::uint32_t from_step) {
            return [=](std::uint32_t lane, std::vector<Instruction>& body) {
                body.push_back({.verb = take, .peer = previous, .chunk = chunk(lane, from_step + 1)});
                body.push_back({.verb = Verb::send, .peer = next, .chunk = chunk(lane, from_step + 1)});
            };
        };
        steps(1, [&](std::uint32_t lane, std::vector<Instruction>& body) {
            body.push_back({.verb = Verb::send, .peer = next, .chunk = chunk(lane, 0)});
        });
        steps(nodes - 1, take_and_pass_on(Verb::receive_reduce, 0));
        steps(nodes - 2, take_and_pass_on(Verb::receive, nodes - 1));
        steps(1, [&](std::uint32_t lane, std::vector<Instruction>& body) {
            body.push_back({.verb = Verb::receive, .peer = previous, .chunk = chunk(lane, 2 * nodes - 2)});
        });
    }

    void ring_inside(std::uint32_t ahead, Verb take) {
        const std::uint32_t size = plan_.node_size();
        ChunkIndex part{.first = place_inside(ahead), .stride = -1, .modulus = size, .scale = plan_.node_count()};
        ChunkIndex before = part;
        before.first = place_inside(ahead + size - 1);
        blocks_.push_back(
            {.iterations = size - 1,
             .body = {{.verb = Verb::send, .peer = peer_inside(1), .chunk = part, .count = plan_.node_count()},
                      {.verb = take, .peer = peer_inside(size - 1), .chunk = before, .count = plan_.node_count()}}});
    }

    const Plan& plan_;
    std::uint32_t node_;
    std::uint32_t place_;
    std::vector<Block> blocks_ = {};
};

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const auto& nodes = communicator.nodes();
    const std::size_t size = nodes.front().size();
    if (nodes.size() < 2) {
        return "hierarchical needs at least two nodes";
    }
    for (const auto& node : nodes) {
        if (node.size() != size) {
            return fmt::format("hierarchical needs nodes of one size, not {} ranks on one and {} on another", size,
                               node.size());
        }
    }
    if (size < 2) {
        return "hierarchical needs at least two ranks on each node";
    }
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    const Plan plan = plan_for(communicator, request);
    for (std::size_t j = 0; j < nodes.size(); ++j) {
        for (std::size_t place = 0; place < size; ++place) {
            const auto here = id_at<RankId>(plan.nodes[j][place]);
            const auto across = id_at<RankId>(plan.nodes[(j + 1) % nodes.size()][place]);
            const auto inside = id_at<RankId>(plan.nodes[j][(place + 1) % size]);
            for (const RankId peer : {across, inside}) {
                if (!reach.joins(here, peer)) {
                    return reach.complaint(here, peer);
                }
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto plan = std::make_shared<const Plan>(plan_for(communicator, request));
    return {.algorithm = "hierarchical",
            .operation = request.operation,
            .ranks = static_cast<std::uint32_t>(communicator.size()),
            .chunks = plan->first_chunk(plan->node_size(), 0),
            .program = [plan](RankId rank) { return RankProgram{{.blocks = Program(*plan, rank).blocks()}}; }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto nodes = static_cast<double>(communicator.nodes().size());
    const auto size = static_cast<double>(communicator.nodes().front().size());
    const double rounds = rounds_for(communicator, request, way_inside(communicator));
    return rounds * static_cast<double>(communicator.size()) * (2 * (size - 1) + 2 * (nodes - 1));
}

/// Rounds overlap, so the data passes a port once each way and the rounds fill the pipeline; latencies are those of the
/// rings across.
Cost cost(const Communicator& communicator, const Request& request) {
    const auto nodes = static_cast<double>(communicator.nodes().size());
    const auto size = static_cast<double>(communicator.nodes().front().size());
    const auto bytes = static_cast<double>(request.bytes.value);
    return {.alphas = 2 + 2 * (nodes - 1),
            .bytes = (2 * (size - 1) / size + 2 * (nodes - 1) / nodes / size) * bytes,
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("2mα + (2(g-1)/g + 2(m-1)/(mg)) S/B, g = {}, m = {}", size, nodes),
            .source = "Cho, Finkler, Kung and Hunter 2019"};
}

}  // namespace

Algorithm hierarchical_algorithm() {
    return {
        .name = "hierarchical",
        .summary =
            "reduce-scatter in each node, all-reduce across nodes on every rail, all-gather in each node, overlapped",
        .operations = {Operation::all_reduce},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
