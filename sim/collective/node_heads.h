#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// Heads of each node: as many as the smallest node has ranks. Head h of a node is its h-th rank.
std::uint32_t heads_per_node(const Communicator& communicator);

/// The h-th heads of all nodes, by h.
std::vector<std::vector<RankId>> head_groups(const Communicator& communicator);

/// Why the ranks of some node can exchange neither through a switch that adds up nor with each other, if so.
std::optional<std::string> obstacle_inside_nodes(const Communicator& communicator);

/// What goes on inside the nodes when each rank of a node is the head of a part of the data: all ranks of the node hand
/// their shares of a part to its head, who ends with the node's sum; and the head hands the result to all. Where a
/// switch that can reduce joins the node's ranks it adds up and copies; else they send to each other. It outlives the
/// communicator.
class NodeHeads {
  public:
    explicit NodeHeads(const Communicator& communicator);

    std::uint32_t count() const { return static_cast<std::uint32_t>(heads_.size()); }
    /// Groups for the schedule: the h-th heads of all nodes, by h, then those that add up inside nodes.
    std::vector<std::vector<RankId>> groups() const;
    const std::vector<RankId>& group_of_heads(std::uint32_t head) const { return heads_[head]; }
    /// Of which part the rank is the head; none if it has none.
    std::optional<std::uint32_t> head_number(RankId rank) const;
    std::size_t node_of(RankId rank) const { return node_of_[index(rank)]; }

    /// A head's chunk number, as the loop over pieces moves it.
    using PartOf = std::function<ChunkIndex(std::uint32_t head)>;

    /// A thread that offers all pieces of all parts to the heads of the rank's node, without waiting.
    void add_offers(RankId rank, std::uint32_t channel, const PartOf& part, RankProgram& program) const;
    /// The head waits for the sum of its node of one piece.
    void append_taking(RankId head, ChunkIndex piece, std::vector<Instruction>& body) const;
    /// The head hands one piece to the ranks of its node.
    void append_spreading(RankId head, ChunkIndex piece, std::vector<Instruction>& body) const;
    /// A thread that takes what the node's heads spread.
    void add_receipts(RankId rank, std::uint32_t channel, const PartOf& part, RankProgram& program) const;

    /// Messages inside all nodes that one piece of one part takes one way; sums and multicasts count once.
    double messages_inside() const;

  private:
    enum class Inside : std::uint8_t { alone, in_switch, direct };

    std::vector<RankId> others_of(RankId rank) const;

    std::vector<std::vector<RankId>> nodes_;
    std::vector<std::size_t> node_of_;
    std::vector<std::uint32_t> place_of_;
    std::vector<std::vector<RankId>> heads_;
    std::vector<Inside> inside_;
    std::vector<std::uint32_t> group_of_node_;  ///< where a switch adds up
};

}  // namespace lockstep::collective
