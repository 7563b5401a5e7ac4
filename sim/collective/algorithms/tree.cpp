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

std::uint32_t pieces_per_tree(const Communicator& communicator, const Request& request) {
    const auto trees = static_cast<std::int64_t>(2 * communicator.rings().size());
    return pipeline_pieces(Bytes{request.bytes.value / trees}, 2 * tree_depth(communicator));
}

/// Up and down are threads of their own, so that a piece on its way down does not hold up those on their way up.
void add_threads(const TreePlace& place, std::uint32_t tree, std::uint32_t pieces, RankProgram& program) {
    const ChunkIndex piece{.offset = tree * pieces, .stride = 1, .modulus = pieces};
    Block up{.iterations = pieces};
    for (const RankId child : place.children) {
        up.body.push_back({.verb = Verb::receive_reduce, .peer = child, .chunk = piece});
    }
    Block down{.iterations = pieces};
    if (place.parent) {
        up.body.push_back({.verb = Verb::send, .peer = *place.parent, .chunk = piece});
        down.body.push_back({.verb = Verb::receive, .peer = *place.parent, .chunk = piece});
    }
    Block& to_children = place.parent ? down : up;  // the root turns each piece round as it completes
    for (const RankId child : place.children) {
        to_children.body.push_back({.verb = Verb::send, .peer = child, .chunk = piece});
    }
    program.push_back({.channel = tree, .blocks = {up}});
    if (place.parent) {
        program.push_back({.channel = tree, .blocks = {down}});
    }
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& /*request*/) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (const auto& tree : rank_trees(communicator)) {
        for (std::size_t rank = 0; rank < tree.size(); ++rank) {
            if (tree[rank].parent && !reach.joins(id_at<RankId>(rank), *tree[rank].parent)) {
                return reach.complaint(id_at<RankId>(rank), *tree[rank].parent);
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto trees = std::make_shared<const std::vector<std::vector<TreePlace>>>(rank_trees(communicator));
    const auto channels = static_cast<std::uint32_t>(trees->size());
    const std::uint32_t pieces = pieces_per_tree(communicator, request);
    return {.algorithm = "tree",
            .operation = request.operation,
            .ranks = static_cast<std::uint32_t>(communicator.size()),
            .channels = channels,
            .chunks = channels * pieces,
            .program = [trees, pieces, alone = communicator.size() == 1](RankId rank) {
                RankProgram program;
                for (std::uint32_t tree = 0; !alone && tree < trees->size(); ++tree) {
                    add_threads((*trees)[tree][index(rank)], tree, pieces, program);
                }
                return program;
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const auto edges = static_cast<double>(communicator.size() - 1);
    return 2 * edges * static_cast<double>(2 * communicator.rings().size()) * pieces_per_tree(communicator, request);
}

/// A piece goes up and down, then the others follow; a rank sends up once and down twice half of the data, and up once
/// the other half.
Cost cost(const Communicator& communicator, const Request& request) {
    const double hops = 2 * static_cast<double>(tree_depth(communicator));
    const double pieces = pieces_per_tree(communicator, request);
    const auto bytes = static_cast<double>(request.bytes.value);
    const auto trees = static_cast<double>(2 * communicator.rings().size());
    return {.alphas = hops,
            .bytes = 2 * bytes + hops * bytes / (trees * pieces),
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("2h(α + S/(tkB)) + 2 S/B, h = {}, t = {}, k = {}", hops / 2, trees, pieces),
            .source = "Sanders, Speck and Träff 2009; derived"};
}

}  // namespace

Algorithm tree_algorithm() {
    return {.name = "tree",
            .summary =
                "two binary trees over the nodes, each reducing and broadcasting half of the data, pipelined: few hops",
            .operations = {Operation::all_reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
