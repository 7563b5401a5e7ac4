#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/direct_links.h"
#include "sim/collective/reach.h"
#include "sim/collective/ring_programs.h"
#include "sim/collective/rings.h"

// A reduce-scatter in each node leaves its l-th GPU with the node's sum of the l-th part; the l-th GPUs of all nodes
// all-reduce that part round a ring; an all-gather in each node spreads the results. Only 1/g of the data of each GPU
// crosses between nodes, on its own rail. The data is cut into rounds, so that nodes exchange inside while earlier
// rounds cross between them. A reduce-scatter is the first half of that, an all-gather the second. Source: Cho,
// Finkler, Kung and Hunter (2019), "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
// hierarchy", for two levels.

namespace lockstep::collective {

namespace {

/// How GPUs of one node exchange: straight with each other where every pair has a path of its own, else round a ring.
enum class Inside : std::uint8_t { direct, ring };

/// What programs need to know; it outlives the communicator.
struct Plan {
    using List = std::shared_ptr<const std::vector<std::uint32_t>>;

    std::vector<std::vector<std::uint32_t>> nodes = {};  ///< ranks by node and place in it; parts belong to places
    std::vector<std::uint32_t> node_of = {};
    std::vector<std::uint32_t> place_of = {};
    Operation operation = Operation::all_reduce;
    Inside inside = Inside::direct;
    std::uint32_t rounds = 1;
    std::uint32_t lanes = 1;  ///< rounds that cross between nodes together; divides `rounds`
    /// Where blocks belong to ranks: the chunks of part `place` of each round, by place * rounds + round.
    std::vector<List> lists = {};
    bool counts_up = true;  ///< whether ranks at one place of nodes are evenly spaced, so that loops can count them

    std::uint32_t node_size() const { return static_cast<std::uint32_t>(nodes.front().size()); }
    std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
    bool adds_up() const { return operation != Operation::all_gather; }
    bool spreads() const { return operation != Operation::reduce_scatter; }
    /// Of an all-reduce, part `place` of round `round` is `node_count` chunks from here on, one for each step of the
    /// ring across.
    std::uint32_t first_chunk(std::uint32_t place, std::uint32_t round) const {
        return (place * rounds + round) * node_count();
    }
    /// Of other operations it is one chunk of the block of each rank at that place.
    std::uint32_t chunk_of(std::uint32_t node, std::uint32_t place, std::uint32_t round) const {
        return nodes[node][place] * rounds + round;
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
    if (request.tuning.pieces) {
        return *request.tuning.pieces;
    }
    const std::int64_t most_useful =
        request.bytes.value / static_cast<std::int64_t>(communicator.size()) / shortest_message;
    return static_cast<std::uint32_t>(std::clamp(most_useful / 2 * 2, std::int64_t{1}, most));
}

Plan plan_for(const Communicator& communicator, const Request& request) {
    Plan plan{.operation = request.operation};
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
    if (plan.operation == Operation::all_reduce) {
        return plan;
    }
    for (std::uint32_t place = 0; place < plan.node_size(); ++place) {
        for (std::uint32_t round = 0; round < plan.rounds; ++round) {
            std::vector<std::uint32_t> chunks;
            for (std::uint32_t node = 0; node < plan.node_count(); ++node) {
                chunks.push_back(plan.chunk_of(node, place, round));
                plan.counts_up &= plan.nodes[node][place] == plan.nodes[0][place] + node * plan.node_size();
            }
            plan.lists.push_back(std::make_shared<const std::vector<std::uint32_t>>(std::move(chunks)));
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
            if (plan_.adds_up()) {
                ring_inside(plan_.node_size() - 1, Verb::receive_reduce);
            }
            across(0);
            if (plan_.spreads()) {
                ring_inside(0, Verb::receive);
            }
            return std::move(blocks_);
        }
        if (plan_.adds_up()) {
            all_rounds(Verb::send);
        }
        for (std::uint32_t first = 0; first < plan_.rounds; first += plan_.lanes) {
            if (plan_.adds_up()) {
                own_part(first, Verb::receive_reduce);
            }
            across(first);
            if (plan_.spreads()) {
                own_part(first, Verb::send);
            }
        }
        if (plan_.spreads()) {
            all_rounds(Verb::receive);
        }
        return std::move(blocks_);
    }

  private:
    RankId peer_inside(std::uint32_t distance) const {
        return id_at<RankId>(plan_.nodes[node_][place_inside(distance)]);
    }
    std::uint32_t place_inside(std::uint32_t distance) const { return (place_ + distance) % plan_.node_size(); }

    /// The instruction on part `place` of a round.
    Instruction on_part(Instruction instruction, std::uint32_t place, std::uint32_t round) const {
        if (plan_.lists.empty()) {
            instruction.chunk = {.offset = plan_.first_chunk(place, round)};
            instruction.count = plan_.node_count();
        } else {
            instruction.chunks = plan_.lists[place * plan_.rounds + round];
        }
        return instruction;
    }

    /// Other ranks' parts, of all rounds: contributions leave at the start, where they queue on their connections, so
    /// that the first round arrives first; results are taken at the end.
    void all_rounds(Verb verb) {
        const std::uint32_t unrolled = plan_.lists.empty() ? 1 : plan_.rounds;
        for (std::uint32_t round = 0; round < unrolled; ++round) {
            Block block{.iterations = plan_.rounds / unrolled};
            for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
                const std::uint32_t away = verb == Verb::send ? d : plan_.node_size() - d;
                Instruction instruction = on_part({.verb = verb, .peer = peer_inside(away)}, place_inside(away), round);
                if (plan_.lists.empty()) {
                    instruction.chunk.stride = 1;
                    instruction.chunk.modulus = plan_.rounds;
                    instruction.chunk.scale = plan_.node_count();
                }
                block.body.push_back(std::move(instruction));
            }
            blocks_.push_back(std::move(block));
        }
    }

    /// The rank's own part, of the rounds that cross together: contributions from all, or the result to all.
    void own_part(std::uint32_t first_round, Verb verb) {
        Block block;
        for (std::uint32_t round = first_round; round < first_round + plan_.lanes; ++round) {
            for (std::uint32_t d = 1; d < plan_.node_size(); ++d) {
                const std::uint32_t away = verb == Verb::send ? d : plan_.node_size() - d;
                block.body.push_back(on_part({.verb = verb, .peer = peer_inside(away)}, place_, round));
            }
        }
        blocks_.push_back(std::move(block));
    }

    /// The chunks of a lane round the ring across, from the one of the node `back` places before this one on.
    ChunkIndex across_from(std::uint32_t round, std::uint32_t back) const {
        const std::uint32_t nodes = plan_.node_count();
        ChunkIndex chunk{.offset = plan_.first_chunk(place_, round),
                         .first = (node_ + 2 * nodes - back) % nodes,
                         .stride = -1,
                         .modulus = nodes};
        if (!plan_.lists.empty()) {
            chunk.offset = plan_.chunk_of(0, place_, round);
            chunk.scale = plan_.node_size() * plan_.rounds;
        }
        return chunk;
    }

    /// Adds a loop over chunks that across_from counts; as single steps where ranks are not evenly spaced.
    void add_loop(Block block) {
        if (block.iterations == 0 || block.body.empty()) {
            return;
        }
        if (plan_.counts_up) {
            blocks_.push_back(std::move(block));
            return;
        }
        for (std::uint32_t i = 0; i < block.iterations; ++i) {
            Block& step = blocks_.emplace_back(Block{.body = block.body});
            for (Instruction& instruction : step.body) {
                const std::uint32_t node =
                    (instruction.chunk.at(i) - instruction.chunk.offset) / instruction.chunk.scale;
                const std::uint32_t round = instruction.chunk.offset % plan_.rounds;
                instruction.chunk = {.offset = plan_.chunk_of(node, place_, round)};
            }
        }
    }

    /// The exchange of `lanes` rounds round the ring of the ranks at this place of all nodes, in steps: n-1 that add
    /// up, n-1 that spread. A lane sends as soon as it has received, whatever the other lane does.
    void across(std::uint32_t first_round) {
        const std::uint32_t nodes = plan_.node_count();
        const auto next = id_at<RankId>(plan_.nodes[(node_ + 1) % nodes][place_]);
        const auto previous = id_at<RankId>(plan_.nodes[(node_ + nodes - 1) % nodes][place_]);
        // A reduce-scatter alone starts one node back, so that the rank's own chunk comes last.
        std::uint32_t back = plan_.spreads() ? 0 : 1;
        const auto loop = [&](std::uint32_t iterations, std::initializer_list<Verb> verbs) {
            Block block{.iterations = iterations};
            for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane) {
                for (const Verb verb : verbs) {
                    block.body.push_back({.verb = verb,
                                          .peer = verb == Verb::send ? next : previous,
                                          .chunk = across_from(first_round + lane, back)});
                }
            }
            add_loop(std::move(block));
            back += iterations;
        };
        const std::uint32_t adding = plan_.adds_up() ? nodes - 1 : 0;
        const std::uint32_t storing = plan_.spreads() ? nodes - 1 : 0;
        loop(1, {Verb::send});
        loop(storing > 0 ? adding : adding - 1, {Verb::receive_reduce, Verb::send});
        loop(storing > 0 ? storing - 1 : 0, {Verb::receive, Verb::send});
        loop(1, {storing > 0 ? Verb::receive : Verb::receive_reduce});
    }

    void ring_inside(std::uint32_t ahead, Verb take) {
        const std::uint32_t size = plan_.node_size();
        const Instruction send{.peer = peer_inside(1)};
        const Instruction receive{.verb = take, .peer = peer_inside(size - 1)};
        if (!plan_.lists.empty()) {
            Block block;
            for (std::uint32_t step = 0; step + 1 < size; ++step) {
                block.body.push_back(on_part(send, place_inside(ahead + size - step), 0));
                block.body.push_back(on_part(receive, place_inside(ahead + 2 * size - step - 1), 0));
            }
            blocks_.push_back(std::move(block));
            return;
        }
        Block block{.iterations = size - 1, .body = {send, receive}};
        for (std::uint32_t i = 0; i < 2; ++i) {
            block.body[i].chunk = {
                .first = place_inside(ahead + size - i), .stride = -1, .modulus = size, .scale = plan_.node_count()};
            block.body[i].count = plan_.node_count();
        }
        blocks_.push_back(std::move(block));
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
    if (auto too_fine =
            chunk_obstacle(communicator.size(), rounds_for(communicator, request, way_inside(communicator)))) {
        return too_fine;
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
            .chunks = plan->first_chunk(plan->node_size(), 0),  // and as many where blocks belong to ranks
            .program = [plan](RankId rank) { return RankProgram{{.blocks = Program(*plan, rank).blocks()}}; }};
}

double passes_of(Operation operation) { return operation == Operation::all_reduce ? 2 : 1; }

double messages(const Communicator& communicator, const Request& request) {
    const auto nodes = static_cast<double>(communicator.nodes().size());
    const auto size = static_cast<double>(communicator.nodes().front().size());
    const double rounds = rounds_for(communicator, request, way_inside(communicator));
    return passes_of(request.operation) * rounds * static_cast<double>(communicator.size()) * (size - 1 + nodes - 1);
}

/// Rounds overlap, so the data passes a port once each way and the rounds fill the pipeline; latencies are those of the
/// rings across.
Cost cost(const Communicator& communicator, const Request& request) {
    const auto nodes = static_cast<double>(communicator.nodes().size());
    const auto size = static_cast<double>(communicator.nodes().front().size());
    const auto bytes = static_cast<double>(request.bytes.value);
    const double passes = passes_of(request.operation);
    return {.alphas = passes * nodes,
            .bytes = passes * ((size - 1) / size + (nodes - 1) / nodes / size) * bytes,
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("{0}mα + {0}((g-1)/g + (m-1)/(mg)) S/B, g = {1}, m = {2}", passes == 1 ? "" : "2",
                                   size, nodes),
            .source = "Cho, Finkler, Kung and Hunter 2019"};
}

}  // namespace

Algorithm hierarchical_algorithm() {
    return {
        .name = "hierarchical",
        .summary =
            "reduce-scatter in each node, all-reduce across nodes on every rail, all-gather in each node, overlapped",
        .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
        .obstacle = obstacle,
        .make = make,
        .messages = messages,
        .cost = cost};
}

}  // namespace lockstep::collective
