#include "sim/collective/tree_shape.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "sim/collective/direct_links.h"

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

/// The places of all ranks in one tree, while it is put together.
class Joints {
  public:
    explicit Joints(std::size_t ranks) : places_(ranks) {}

    void hang(RankId child, RankId parent) {
        places_[index(child)].parent = parent;
        places_[index(parent)].children.push_back(child);
    }
    /// Each of the chain on the one before it.
    void hang_chain(std::span<const RankId> chain) {
        for (std::size_t i = 1; i < chain.size(); ++i) {
            hang(chain[i], chain[i - 1]);
        }
    }
    std::vector<TreePlace> places() && { return std::move(places_); }

  private:
    std::vector<TreePlace> places_;
};

std::vector<TreePlace> join_chains(std::size_t ranks, const std::vector<std::vector<RankId>>& chains, Twin twin) {
    Joints joints(ranks);
    const auto nodes = static_cast<std::uint32_t>(chains.size());
    for (std::uint32_t j = 0; j < nodes; ++j) {
        if (const auto parent = tree_parent(j, nodes, twin)) {
            joints.hang(chains[j].front(), chains[*parent].front());
        }
    }
    for (const auto& chain : chains) {
        joints.hang_chain(chain);
    }
    return std::move(joints).places();
}

/// Whether only neighbours have a path of their own, so that a chain must keep its order.
bool is_sparse_mesh(const Communicator& communicator, const std::vector<RankId>& ranks) {
    std::vector<VertexId> gpus;
    for (const RankId rank : ranks) {
        gpus.push_back(communicator.gpu(rank));
    }
    const DirectLinks links(communicator.fabric(), gpus);
    return !links.empty() && !links.complete() && !share_scale_up_switch(communicator.fabric(), gpus);
}

std::vector<TreePlace> join_chains_at(RankId root, std::size_t root_node, const Communicator& communicator,
                                      const std::vector<std::vector<RankId>>& chains, Twin twin) {
    Joints joints(communicator.size());
    const std::size_t nodes = chains.size();
    const auto others = static_cast<std::uint32_t>(nodes - 1);
    const auto head_of = [&](std::uint32_t other) { return chains[(root_node + 1 + other) % nodes].front(); };
    for (std::uint32_t j = 0; j < others; ++j) {
        const auto parent = tree_parent(j, others, twin);
        joints.hang(head_of(j), parent ? head_of(*parent) : chains[root_node].front());
    }
    for (std::size_t j = 0; j < nodes; ++j) {
        if (j != root_node) {
            joints.hang_chain(chains[j]);
        }
    }
    std::vector<RankId> chain = chains[root_node];
    const auto at = std::find(chain.begin(), chain.end(), root);
    if (nodes == 1) {
        std::rotate(chain.begin(), at, chain.end());  // a ring goes on beyond its end
    } else if (!is_sparse_mesh(communicator, communicator.nodes()[root_node])) {
        std::rotate(chain.begin(), at, at + 1);
    } else {
        std::vector<RankId> back(chain.begin(), at + 1);
        std::reverse(back.begin(), back.end());
        joints.hang_chain(back);
        chain.erase(chain.begin(), at);
    }
    joints.hang_chain(chain);
    return std::move(joints).places();
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

std::vector<std::vector<TreePlace>> rooted_rank_trees(const Communicator& communicator, RankId root) {
    std::vector<std::vector<TreePlace>> trees;
    const std::size_t root_node = communicator.node_of(root);
    for (const auto& ring : communicator.rings()) {
        const auto ring_chains = chains(communicator, ring);
        for (const Twin twin : {Twin::first, Twin::second}) {
            trees.push_back(join_chains_at(root, root_node, communicator, ring_chains, twin));
        }
    }
    return trees;
}

std::size_t tree_depth(const Communicator& communicator, TreeRoot root) {
    std::size_t longest = 0;
    for (const auto& node : communicator.nodes()) {
        longest = std::max(longest, node.size());
    }
    const std::size_t nodes = communicator.nodes().size();
    if (nodes == 1 || root == TreeRoot::any) {
        return longest - 1 + std::bit_width(nodes - 1);
    }
    const auto& all = communicator.nodes();
    const bool by_links =
        std::any_of(all.begin(), all.end(), [&](const auto& node) { return is_sparse_mesh(communicator, node); });
    const std::size_t to_head = by_links ? longest - 1 : std::min<std::size_t>(longest - 1, 1);
    return to_head + 1 + std::bit_width(nodes - 2) + longest - 1;
}

}  // namespace lockstep::collective
