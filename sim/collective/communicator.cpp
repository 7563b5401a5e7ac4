#include "sim/collective/communicator.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "sim/collective/rings.h"
#include "sim/fabric/route_in_switch.h"

namespace lockstep::collective {

Communicator::Communicator(const fabric::Fabric& fabric, std::vector<VertexId> gpus)
    : fabric_(&fabric), gpus_(std::move(gpus)), node_of_(gpus_.size()) {
    if (gpus_.empty()) {
        throw std::invalid_argument("a communicator needs at least one rank");
    }
    std::vector<VertexId> sorted = gpus_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        throw std::invalid_argument("a GPU has two ranks in one communicator");
    }
    if (index(sorted.back()) >= fabric.vertex_count() || std::any_of(sorted.begin(), sorted.end(), [&](VertexId gpu) {
            return fabric.vertex(gpu).kind != fabric::VertexKind::gpu;
        })) {
        throw std::invalid_argument("a rank of a communicator is not on a GPU of the fabric");
    }
    std::map<NodeId, std::size_t> known;
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
        const auto& node = fabric.vertex(gpus_[rank]).node;
        std::size_t at = nodes_.size();
        if (node) {
            at = known.try_emplace(*node, at).first->second;
        }
        if (at == nodes_.size()) {
            nodes_.emplace_back();
        }
        nodes_[at].push_back(id_at<RankId>(rank));
        node_of_[rank] = at;
    }
    rings_ = find_rings(fabric, gpus_, nodes_);
}

bool Communicator::can_reduce_in_switch(std::span<const RankId> ranks) const {
    std::vector<VertexId> members;
    members.reserve(ranks.size());
    for (const RankId rank : ranks) {
        members.push_back(gpu(rank));
    }
    return !fabric::shared_reducers(*fabric_, members).empty();
}

}  // namespace lockstep::collective
