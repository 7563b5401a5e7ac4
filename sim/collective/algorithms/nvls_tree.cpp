#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/node_heads.h"
#include "sim/collective/pipeline.h"
#include "sim/collective/reach.h"
#include "sim/collective/tree_shape.h"

// Switches add up and copy inside nodes, trees do so between them. Every GPU of a node is the head of a part of the
// data: it reads the node's sum of that part from the switch, and the h-th heads of all nodes, on one rail, join two
// binary trees, each for half of the part. Sums go up, totals come down, and each head writes what comes down to its
// node through the switch, all piece by piece. A NIC carries 2/g of the data each way, a GPU's links to the switch the
// data once and a part more. Source: NCCL 2.30, src/device/all_reduce.h (NVLSTree).

namespace lockstep::collective {

namespace {

constexpr std::uint32_t twins = 2;

std::uint32_t trees_per_head(const Request& request) {
    return std::min(twins, request.tuning.channels.value_or(twins));
}

/// Up the tree and down, and into the switch and out of it.
std::size_t hops(const Communicator& communicator) {
    return 2 * static_cast<std::size_t>(std::bit_width(communicator.nodes().size() - 1)) + 2;
}

std::uint32_t pieces_per_tree(const Communicator& communicator, const Request& request) {
    constexpr std::uint32_t most = 64;  // each piece is a sum and a copy on every node besides the trees' messages
    if (request.tuning.pieces) {
        return *request.tuning.pieces;
    }
    const std::int64_t parts = std::int64_t{heads_per_node(communicator)} * trees_per_head(request);
    return std::min(pipeline_pieces(Bytes{request.bytes.value / parts}, hops(communicator)), most);
}

/// What programs need to know.
struct Plan {
    NodeHeads heads;
    std::uint32_t trees = twins;
    std::uint32_t pieces = 1;

    std::uint32_t nodes() const { return static_cast<std::uint32_t>(heads.group_of_heads(0).size()); }
    ChunkIndex part(std::uint32_t head, std::uint32_t tree) const {
        return {.offset = (head * trees + tree) * pieces, .stride = 1, .modulus = pieces};
    }
};

/// A head's place in one of its trees: sums go up in one thread, totals down in another; the top turns them round.
void add_head(const Plan& plan, RankId rank, std::uint32_t head, std::uint32_t tree, RankProgram& program) {
    const Twin twin = tree == 0 ? Twin::first : Twin::second;
    const auto& peers = plan.heads.group_of_heads(head);
    const auto here = static_cast<std::uint32_t>(plan.heads.node_of(rank));
    const ChunkIndex piece = plan.part(head, tree);
    const auto parent = tree_parent(here, plan.nodes(), twin);
    std::vector<RankId> children;
    for (std::uint32_t j = 0; j < plan.nodes(); ++j) {
        if (tree_parent(j, plan.nodes(), twin) == here) {
            children.push_back(peers[j]);
        }
    }
    Block up{.iterations = plan.pieces};
    plan.heads.append_taking(rank, piece, up.body);
    for (const RankId child : children) {
        up.body.push_back({.verb = Verb::receive_reduce, .peer = child, .chunk = piece});
    }
    Block down{.iterations = plan.pieces};
    if (parent) {
        up.body.push_back({.verb = Verb::send, .peer = peers[*parent], .chunk = piece});
        down.body.push_back({.verb = Verb::receive, .peer = peers[*parent], .chunk = piece});
    }
    Block& outward = parent ? down : up;
    for (const RankId child : children) {
        outward.body.push_back({.verb = Verb::send, .peer = child, .chunk = piece});
    }
    plan.heads.append_spreading(rank, piece, outward.body);
    program.push_back({.channel = tree, .blocks = {std::move(up)}});
    if (parent) {
        program.push_back({.channel = tree, .blocks = {std::move(down)}});
    }
}

RankProgram program_of(const Plan& plan, RankId rank) {
    RankProgram program;
    for (std::uint32_t tree = 0; tree < plan.trees; ++tree) {
        const auto part = [&](std::uint32_t head) { return plan.part(head, tree); };
        plan.heads.add_offers(rank, tree, part, program);
        if (const auto head = plan.heads.head_number(rank)) {
            add_head(plan, rank, *head, tree, program);
        }
        plan.heads.add_receipts(rank, tree, part, program);
    }
    return program;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& /*request*/) {
    if (communicator.nodes().size() < 2) {
        return "nvls-tree needs ranks on at least two nodes";
    }
    for (const auto& node : communicator.nodes()) {
        if (node.size() < 2 || !communicator.can_reduce_in_switch(node)) {
            return "nvls-tree needs on each node several ranks and a switch that can reduce and that they are cabled "
                   "to";
        }
    }
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (const auto& peers : head_groups(communicator)) {
        const auto nodes = static_cast<std::uint32_t>(peers.size());
        for (const Twin twin : {Twin::first, Twin::second}) {
            for (std::uint32_t j = 0; j < nodes; ++j) {
                const auto parent = tree_parent(j, nodes, twin);
                if (parent && !reach.joins(peers[j], peers[*parent])) {
                    return reach.complaint(peers[j], peers[*parent]);
                }
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto plan = std::make_shared<const Plan>(Plan{.heads = NodeHeads(communicator),
                                                        .trees = trees_per_head(request),
                                                        .pieces = pieces_per_tree(communicator, request)});
    return {.algorithm = "nvls-tree",
            .operation = request.operation,
            .ranks = static_cast<std::uint32_t>(communicator.size()),
            .channels = plan->trees,
            .chunks = plan->heads.count() * plan->trees * plan->pieces,
            .groups = plan->heads.groups(),
            .program = [plan](RankId rank) { return program_of(*plan, rank); }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto nodes = static_cast<double>(communicator.nodes().size());
    const double pieces =
        double{1} * heads_per_node(communicator) * trees_per_head(request) * pieces_per_tree(communicator, request);
    return pieces * (2 * nodes + 2 * (nodes - 1));
}

/// A rank's busiest port, were all links alike: all its data to the switch, its part twice up and down the trees (an
/// inner head's, with both halves), and out to the node.
Cost cost(const Communicator& communicator, const Request& request) {
    const double heads = heads_per_node(communicator);
    const double pieces = pieces_per_tree(communicator, request);
    const auto passed = static_cast<double>(hops(communicator));
    const double trees = trees_per_head(request);
    return {.alphas = passed,
            .bytes = (1 + 3 / heads + passed / (heads * trees * pieces)) * static_cast<double>(request.bytes.value),
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("h(α + S/(gtkB)) + (1 + 3/g) S/B, h = {}, g = {}, t = {}, k = {}", passed, heads,
                                   trees, pieces),
            .source = "derived from NCCL 2.30's kernels"};
}

}  // namespace

Algorithm nvls_tree_algorithm() {
    return {.name = "nvls-tree",
            .summary = "switches add up and copy inside nodes, two binary trees on each rail between them; pipelined",
            .operations = {Operation::all_reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
