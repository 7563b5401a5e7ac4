#include "sim/fabric/ways_out.h"

#include <algorithm>
#include <limits>

namespace lockstep::fabric {

namespace {

constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

/// Vertices of one node that forward to each other, with what leaves the node from them.
struct Group {
    bool leaves = false;
    Bandwidth scale_out = {};
    std::size_t gpus = 0;  // that reach it
};

class NodeExits {
  public:
    explicit NodeExits(const Fabric& fabric) : fabric_(fabric), group_of_(fabric.vertex_count(), no_group) {}

    /// Appends the ways out of the node's GPUs.
    void append(NodeId node, std::vector<WayOut>& ways) {
        groups_.clear();
        for (const VertexId vertex : fabric_.vertices_of(node)) {
            if (fabric_.vertex(vertex).relays && group_of_[index(vertex)] == no_group) {
                collect(vertex);
            }
        }
        const auto gpus = fabric_.gpus_of(node);
        bool any = std::any_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.leaves; });
        std::vector<std::vector<std::uint32_t>> reached;
        std::vector<Group> own;  // what leaves the node from a GPU that does not relay
        for (const VertexId gpu : gpus) {
            own.push_back(fabric_.vertex(gpu).relays ? Group{} : exits_of(gpu));
            any = any || own.back().leaves;
            reached.push_back(groups_at(gpu));
            for (const std::uint32_t group : reached.back()) {
                ++groups_[group].gpus;
            }
        }
        for (std::size_t g = 0; g < gpus.size(); ++g) {
            WayOut way{.node_has_one = any, .exists = own[g].leaves, .scale_out = own[g].scale_out};
            for (const std::uint32_t group : reached[g]) {
                way.exists = way.exists || groups_[group].leaves;
                way.scale_out += groups_[group].scale_out / static_cast<double>(groups_[group].gpus);
            }
            ways.push_back(way);
        }
    }

  private:
    bool stays(LinkId link) const {
        return fabric_.vertex(fabric_.from(link)).node == fabric_.vertex(fabric_.to(link)).node;
    }

    Group exits_of(VertexId vertex) const {
        Group exits;
        for (const LinkId link : fabric_.links_out_of(vertex)) {
            if (!stays(link)) {
                exits.leaves = true;
                exits.scale_out +=
                    fabric_.link(link).tier == Tier::scale_out ? fabric_.link(link).bandwidth : Bandwidth{};
            }
        }
        return exits;
    }

    /// Makes the group of all that relays and is joined to the first.
    void collect(VertexId first) {
        const auto number = static_cast<std::uint32_t>(groups_.size());
        Group group;
        std::vector<VertexId> queue{first};
        group_of_[index(first)] = number;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const Group exits = exits_of(queue[head]);
            group.leaves = group.leaves || exits.leaves;
            group.scale_out += exits.scale_out;
            for (const LinkId link : fabric_.links_out_of(queue[head])) {
                const VertexId next = fabric_.to(link);
                if (stays(link) && fabric_.vertex(next).relays && group_of_[index(next)] == no_group) {
                    group_of_[index(next)] = number;
                    queue.push_back(next);
                }
            }
        }
        groups_.push_back(group);
    }

    /// The groups that the GPU is in or hangs on.
    std::vector<std::uint32_t> groups_at(VertexId gpu) const {
        if (fabric_.vertex(gpu).relays) {
            return {group_of_[index(gpu)]};
        }
        std::vector<std::uint32_t> groups;
        for (const LinkId link : fabric_.links_out_of(gpu)) {
            if (stays(link) && fabric_.vertex(fabric_.to(link)).relays) {
                groups.push_back(group_of_[index(fabric_.to(link))]);
            }
        }
        std::sort(groups.begin(), groups.end());
        groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
        return groups;
    }

    const Fabric& fabric_;
    std::vector<std::uint32_t> group_of_;  // by VertexId: its place in groups_ of its node
    std::vector<Group> groups_;
};

}  // namespace

std::vector<WayOut> ways_out(const Fabric& fabric) {
    std::vector<WayOut> ways;
    ways.reserve(fabric.gpus().size());
    NodeExits exits(fabric);
    for (std::size_t n = 0; n < fabric.node_count(); ++n) {
        exits.append(id_at<NodeId>(n), ways);
    }
    for (const VertexId gpu : fabric.gpus().subspan(ways.size())) {  // those without a node come last
        WayOut way;
        for (const LinkId link : fabric.links_out_of(gpu)) {
            way.node_has_one = way.exists = true;
            way.scale_out += fabric.link(link).tier == Tier::scale_out ? fabric.link(link).bandwidth : Bandwidth{};
        }
        ways.push_back(way);
    }
    return ways;
}

}  // namespace lockstep::fabric
