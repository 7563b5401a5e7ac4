#include "sim/collective/node_heads.h"

#include <algorithm>
#include <utility>

#include "sim/collective/reach.h"

namespace lockstep::collective {

std::uint32_t heads_per_node(const Communicator& communicator) {
    std::size_t least = communicator.size();
    for (const auto& node : communicator.nodes()) {
        least = std::min(least, node.size());
    }
    return static_cast<std::uint32_t>(least);
}

std::vector<std::vector<RankId>> head_groups(const Communicator& communicator) {
    std::vector<std::vector<RankId>> groups(heads_per_node(communicator));
    for (std::size_t h = 0; h < groups.size(); ++h) {
        for (const auto& node : communicator.nodes()) {
            groups[h].push_back(node[h]);
        }
    }
    return groups;
}

std::optional<std::string> obstacle_inside_nodes(const Communicator& communicator) {
    const Reach reach(communicator);
    for (const auto& node : communicator.nodes()) {
        if (reach.joins_all() || node.size() == 1 || communicator.can_reduce_in_switch(node)) {
            continue;
        }
        const std::size_t heads = heads_per_node(communicator);
        for (std::size_t h = 0; h < heads; ++h) {
            for (const RankId rank : node) {
                if (rank != node[h] && !reach.joins(rank, node[h])) {
                    return reach.complaint(rank, node[h]);
                }
            }
        }
    }
    return std::nullopt;
}

NodeHeads::NodeHeads(const Communicator& communicator)
    : nodes_(communicator.nodes()),
      node_of_(communicator.size()),
      place_of_(communicator.size()),
      heads_(head_groups(communicator)) {
    auto next_group = count();
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
        for (std::size_t place = 0; place < nodes_[j].size(); ++place) {
            node_of_[index(nodes_[j][place])] = j;
            place_of_[index(nodes_[j][place])] = static_cast<std::uint32_t>(place);
        }
        if (nodes_[j].size() == 1) {
            inside_.push_back(Inside::alone);
        } else {
            inside_.push_back(communicator.can_reduce_in_switch(nodes_[j]) ? Inside::in_switch : Inside::direct);
        }
        group_of_node_.push_back(next_group);
        next_group += inside_.back() == Inside::in_switch ? 1 : 0;
    }
}

std::vector<std::vector<RankId>> NodeHeads::groups() const {
    std::vector<std::vector<RankId>> all = heads_;
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
        if (inside_[j] == Inside::in_switch) {
            all.push_back(nodes_[j]);
        }
    }
    return all;
}

std::optional<std::uint32_t> NodeHeads::head_number(RankId rank) const {
    const std::uint32_t place = place_of_[index(rank)];
    return place < count() ? std::optional(place) : std::nullopt;
}

/// The other ranks of its node, the next one first, so that at any time different ranks send to different ranks.
std::vector<RankId> NodeHeads::others_of(RankId rank) const {
    const auto& node = nodes_[node_of(rank)];
    std::vector<RankId> others;
    for (std::size_t d = 1; d < node.size(); ++d) {
        others.push_back(node[(place_of_[index(rank)] + d) % node.size()]);
    }
    return others;
}

void NodeHeads::add_offers(RankId rank, std::uint32_t channel, const PartOf& part, RankProgram& program) const {
    const std::size_t j = node_of(rank);
    Block block{.iterations = part(0).modulus};
    if (inside_[j] == Inside::in_switch) {
        for (std::uint32_t h = 0; h < count(); ++h) {
            block.body.push_back(
                {.verb = Verb::contribute, .peer = nodes_[j][h], .chunk = part(h), .group = group_of_node_[j]});
        }
    } else {
        for (const RankId other : others_of(rank)) {
            if (const auto head = head_number(other)) {
                block.body.push_back({.verb = Verb::send, .peer = other, .chunk = part(*head)});
            }
        }
    }
    if (!block.body.empty()) {
        program.push_back({.channel = channel, .blocks = {std::move(block)}});
    }
}

void NodeHeads::append_taking(RankId head, ChunkIndex piece, std::vector<Instruction>& body) const {
    const std::size_t j = node_of(head);
    if (inside_[j] == Inside::in_switch) {
        body.push_back({.verb = Verb::reduce_in_switch, .peer = head, .chunk = piece, .group = group_of_node_[j]});
        return;
    }
    for (const RankId other : others_of(head)) {
        body.push_back({.verb = Verb::receive_reduce, .peer = other, .chunk = piece});
    }
}

void NodeHeads::append_spreading(RankId head, ChunkIndex piece, std::vector<Instruction>& body) const {
    const std::size_t j = node_of(head);
    if (inside_[j] == Inside::in_switch) {
        body.push_back({.verb = Verb::multicast, .peer = head, .chunk = piece, .group = group_of_node_[j]});
        return;
    }
    for (const RankId other : others_of(head)) {
        body.push_back({.verb = Verb::send, .peer = other, .chunk = piece});
    }
}

void NodeHeads::add_receipts(RankId rank, std::uint32_t channel, const PartOf& part, RankProgram& program) const {
    const std::size_t j = node_of(rank);
    Block block{.iterations = part(0).modulus};
    for (std::uint32_t h = 0; h < count() && inside_[j] != Inside::alone; ++h) {
        const RankId head = nodes_[j][h];
        if (inside_[j] == Inside::in_switch) {
            block.body.push_back(
                {.verb = Verb::receive_multicast, .peer = head, .chunk = part(h), .group = group_of_node_[j]});
        } else if (head != rank) {
            block.body.push_back({.verb = Verb::receive, .peer = head, .chunk = part(h)});
        }
    }
    if (!block.body.empty()) {
        program.push_back({.channel = channel, .blocks = {std::move(block)}});
    }
}

double NodeHeads::messages_inside() const {
    double messages = 0;
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
        messages += inside_[j] == Inside::in_switch ? 1 : static_cast<double>(nodes_[j].size() - 1);
    }
    return messages;
}

}  // namespace lockstep::collective
