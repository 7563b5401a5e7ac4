#include "sim/collective/tree_shape.h"

#include <algorithm>
#include <bit>

namespace lockstep::collective {

namespace {

std::optional<std::uint32_t> first_parent(std::uint32_t vertex, std::uint32_t size) {
    if (vertex == 0) {
        return std::nullopt;
    }
    const std::uint32_t bit = vertex & (~vertex + 1);  // the lowest that is set: twice the height above the leaves
    const std::uint32_t wide = (vertex ^ bit) | (bit << 1U);
    return wide < size ? wide : vertex ^ bit;
}

/// The ranks of each node in the order in which a ring visits them.
std::vector<std::vector<RankId>> visits(const Communicator& communicator, const std::vector<RankId>& ring) {
    std::vector<std::vector<RankId>> by_node(communicator.nodes().size());
    for (const RankId rank : ring) {
        by_node[communicator.node_of(rank)].push_back(rank);
    }
    return by_node;
}

/// The chain of each node, head first. A ring leaves its second node by the GPU of its rail; that GPU's place is the
/// head's place in every node, so that heads meet on one rail. Chains follow the ring's own order, forwards or
/// backwards, because that may be along links.
std::vector<std::vector<RankId>> chains(const Communicator& communicator, const std::vector<RankId>& ring) {
    auto by_node = visits(communicator, ring);
    if (by_node.size() == 1 || communicator.rings().size() == 1) {
        return by_node;
    }
    const auto& nodes = communicator.nodes();
    const auto head_place =
        static_cast<std::size_t>(std::find(nodes[1].begin(), nodes[1].end(), by_node[1].back()) - nodes[1].begin());
    for (std::size_t j = 0; j < by_node.size(); ++j) {
        auto& chain = by_node[j];
        if (head_place >= nodes[j].size()) {
            continue;  // a mesh over nodes of different size has no rails
        }
        const RankId head = nodes[j][head_place];
        if (chain.back() == head) {
            std::reverse(chain.begin(), chain.end());
        } else {
            std::rotate(chain.begin(), std::find(chain.begin(), chain.end(), head), chain.end());
        }
    }
    return by_node;
}

std::vector<TreePlace> join_chains(std::size_t ranks, const std::vector<std::vector<RankId>>& chains, Twin twin) {
    std::vector<TreePlace> places(ranks);
    const auto hang = [&](RankId child, RankId parent) {
        places[index(child)].parent = parent;
        places[index(parent)].children.push_back(child);
    };
    const auto nodes = static_cast<std::uint32_t>(chains.size());
    for (std::uint32_t j = 0; j < nodes; ++j) {
        if (const auto parent = tree_parent(j, nodes, twin)) {
            hang(chains[j].front(), chains[*parent].front());
        }
    }
    for (const auto& chain : chains) {
        for (std::size_t i = 1; i < chain.size(); ++i) {
            hang(chain[i], chain[i - 1]);
        }
    }
    return places;
}

}  // namespace

std::optional<std::uint32_t> tree_parent(std::uint32_t vertex, std::uint32_t size, Twin twin) {
    if (twin == Twin::first) {
        return first_parent(vertex, size);
    }
    if (size % 2 == 0) {  // mirrored
        const auto parent = first_parent(size - 1 - vertex, size);
        return parent ? std::optional(size - 1 - *parent) : std::nullopt;
    }
    const auto parent = first_parent((vertex + size - 1) % size, size);  // shifted by one
    return parent ? std::optional((*parent + 1) % size) : std::nullopt;
}

std::vector<std::vector<TreePlace>> rank_trees(const Communicator& communicator) {
    std::vector<std::vector<TreePlace>> trees;
    for (const auto& ring : communicator.rings()) {
        const auto ring_chains = chains(communicator, ring);
        for (const Twin twin : {Twin::first, Twin::second}) {
            trees.push_back(join_chains(communicator.size(), ring_chains, twin));
        }
    }
    return trees;
}

std::size_t tree_depth(const Communicator& communicator) {
    std::size_t longest = 0;
    for (const auto& node : communicator.nodes()) {
        longest = std::max(longest, node.size());
    }
    return longest - 1 + std::bit_width(communicator.nodes().size() - 1);
}

}  // namespace lockstep::collective
