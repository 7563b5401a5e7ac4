#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/pipeline.h"
#include "sim/collective/reach.h"
#include "sim/collective/tree_shape.h"

// Reduce up a tree and broadcast down it, piece by piece, both at once. Two trees carry half of the data each; a leaf
// of one is an inner vertex of the other, so that every rank sends and receives about twice the data in all, as in a
// ring, but after log2 n hops instead of 2(n-1). Source: Sanders, Speck and Träff (2009), "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan"; as NCCL joins nodes.

namespace lockstep::collective {

namespace {

bool reduces_and_broadcasts(const Request& request) { return request.operation == Operation::all_reduce; }

TreeRoot root_of(const Request& request) { return reduces_and_broadcasts(request) ? TreeRoot::any : TreeRoot::given; }

std::uint32_t tree_count(const Communicator& communicator, const Request& request) {
    const auto trees = static_cast<std::uint32_t>(2 * communicator.rings().size());
    return std::min(trees, request.tuning.channels.value_or(trees));
}

std::vector<std::vector<TreePlace>> trees_for(const Communicator& communicator, const Request& request) {
    auto trees =
        reduces_and_broadcasts(request) ? rank_trees(communicator) : rooted_rank_trees(communicator, request.root);
    trees.resize(tree_count(communicator, request));
    return trees;
}

/// Messages from the deepest rank up to the root, and down again where the result goes down.
std::size_t hops(const Communicator& communicator, const Request& request) {
    return tree_depth(communicator, root_of(request)) * (reduces_and_broadcasts(request) ? 2 : 1);
}

/// All trees together have at most 1024: with many rails more would take long to simulate for a few percent.
std::uint32_t pieces_per_tree(const Communicator& communicator, const Request& request) {
    constexpr std::uint32_t all_trees_together = 1024;
    constexpr std::uint32_t always_worth_it = 16;
    const std::uint32_t trees = tree_count(communicator, request);
    const std::uint32_t wanted = pipeline_pieces(Bytes{request.bytes.value / trees}, hops(communicator, request));
    return request.tuning.pieces.value_or(std::min(wanted, std::max(all_trees_together / trees, always_worth_it)));
}

ChunkIndex pieces_of(std::uint32_t tree, std::uint32_t pieces) {
    return {.offset = tree * pieces, .stride = 1, .modulus = pieces};
}

Block up(const TreePlace& place, ChunkIndex piece) {
    Block block{.iterations = piece.modulus};
    for (const RankId child : place.children) {
        block.body.push_back({.verb = Verb::receive_reduce, .peer = child, .chunk = piece});
    }
    if (place.parent) {
        block.body.push_back({.verb = Verb::send, .peer = *place.parent, .chunk = piece});
    }
    return block;
}

Block down(const TreePlace& place, ChunkIndex piece) {
    Block block{.iterations = piece.modulus};
    if (place.parent) {
        block.body.push_back({.verb = Verb::receive, .peer = *place.parent, .chunk = piece});
    }
    for (const RankId child : place.children) {
        block.body.push_back({.verb = Verb::send, .peer = child, .chunk = piece});
    }
    return block;
}

/// Up and down are threads of their own, so that a piece on its way down does not hold up those on their way up.
void add_threads(const TreePlace& place, std::uint32_t tree, std::uint32_t pieces, Operation operation,
                 RankProgram& program) {
    const ChunkIndex piece = pieces_of(tree, pieces);
    if (operation == Operation::broadcast) {
        program.push_back({.channel = tree, .blocks = {down(place, piece)}});
        return;
    }
    program.push_back({.channel = tree, .blocks = {up(place, piece)}});
    if (operation == Operation::reduce) {
        return;
    }
    const Block below = down(place, piece);
    if (place.parent) {
        program.push_back({.channel = tree, .blocks = {below}});
    } else {  // the root turns each piece round as it completes
        auto& body = program.back().blocks.front().body;
        body.insert(body.end(), below.body.begin(), below.body.end());
    }
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (const auto& tree : trees_for(communicator, request)) {
        for (std::size_t rank = 0; rank < tree.size(); ++rank) {
            if (tree[rank].parent && !reach.joins(id_at<RankId>(rank), *tree[rank].parent)) {
                return reach.complaint(id_at<RankId>(rank), *tree[rank].parent);
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto trees = std::make_shared<const std::vector<std::vector<TreePlace>>>(trees_for(communicator, request));
    const auto channels = static_cast<std::uint32_t>(trees->size());
    const std::uint32_t pieces = pieces_per_tree(communicator, request);
    return {.algorithm = "tree",
            .operation = request.operation,
            .ranks = static_cast<std::uint32_t>(communicator.size()),
            .channels = channels,
            .chunks = channels * pieces,
            .root = request.root,
            .program = [trees, pieces, operation = request.operation, alone = communicator.size() == 1](RankId rank) {
                RankProgram program;
                for (std::uint32_t tree = 0; !alone && tree < trees->size(); ++tree) {
                    add_threads((*trees)[tree][index(rank)], tree, pieces, operation, program);
                }
                return program;
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto edges = static_cast<double>(communicator.size() - 1);
    const double ways = reduces_and_broadcasts(request) ? 2 : 1;
    return ways * edges * tree_count(communicator, request) * pieces_per_tree(communicator, request);
}

/// The first piece of every tree passes all hops, then the others follow as fast as the busiest port lets them. Of an
/// all-reduce that is an inner rank's: down to two children and up with one half of the data, up with the other. With a
/// root, each tree has its part of the port: S in all.
Cost cost(const Communicator& communicator, const Request& request) {
    const double passed = static_cast<double>(hops(communicator, request));
    const double pieces = pieces_per_tree(communicator, request);
    const auto bytes = static_cast<double>(request.bytes.value);
    const double trees = tree_count(communicator, request);
    // A lone tree has inner ranks only on one side: their ports carry all of it to both children.
    const double most_children = communicator.nodes().size() > 2 ? 2 : 1;
    if (reduces_and_broadcasts(request)) {
        const double busiest = trees == 1 ? 1 + most_children : 2;
        return {.alphas = passed,
                .bytes = busiest * bytes + passed * bytes / (trees * pieces),
                .holds = Cost::Holds::approximately,
                .formula = fmt::format("{}(α + S/(tkB)) + {} S/B, t = {}, k = {}", passed, busiest, trees, pieces),
                .source = "Sanders, Speck and Träff 2009; derived"};
    }
    const double busiest = trees == 1 ? most_children : 1;
    return {.alphas = passed,
            .bytes = busiest * bytes * (1 + (passed - 1) / pieces),
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("hα + (1 + (h-1)/k) {}S/B, h = {}, k = {}",
                                   busiest == 1 ? std::string() : fmt::format("{} ", busiest), passed, pieces),
            .source = "Sanders, Speck and Träff 2009"};
}

}  // namespace

Algorithm tree_algorithm() {
    return {.name = "tree",
            .summary =
                "two binary trees over the nodes, each reducing and broadcasting half of the data, pipelined: few hops",
            .operations = {Operation::all_reduce, Operation::broadcast, Operation::reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
