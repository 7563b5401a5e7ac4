#include "sim/fabric/route_node.h"

#include <algorithm>
#include <numeric>

namespace lockstep::fabric {

NodeSearch::NodeSearch(const Fabric& fabric)
    : fabric_(&fabric), island_(fabric.vertex_count()), marks_(fabric.vertex_count()) {
    places_.reserve(fabric.vertex_count());
    for (std::size_t v = 0; v < fabric.vertex_count(); ++v) {
        const Vertex& vertex = fabric.vertex(id_at<VertexId>(v));
        places_.push_back({vertex.node, vertex.kind, vertex.relays});
    }
    std::iota(island_.begin(), island_.end(), 0U);
    const auto root = [&](std::size_t v) {
        while (island_[v] != v) {
            island_[v] = island_[island_[v]];
            v = island_[v];
        }
        return static_cast<std::uint32_t>(v);
    };
    for (std::size_t l = 0; l < fabric.link_count(); ++l) {
        const auto link = id_at<LinkId>(l);
        if (fabric.link(link).tier == Tier::scale_up) {
            const std::uint32_t a = root(index(fabric.from(link)));
            const std::uint32_t b = root(index(fabric.to(link)));
            island_[std::max(a, b)] = std::min(a, b);
        }
    }
    for (std::size_t v = 0; v < island_.size(); ++v) {
        island_[v] = root(v);
    }
}

bool NodeSearch::same_node(VertexId a, VertexId b) const {
    const std::optional<NodeId>& node = places_[index(a)].node;
    return node && node == places_[index(b)].node;
}

bool NodeSearch::crosses(VertexId vertex, VertexId near, Reach reach) const {
    const Place& place = places_[index(vertex)];
    return place.relays && (same_node(vertex, near) || (reach == Reach::island && place.kind == VertexKind::switch_));
}

bool NodeSearch::allows(LinkId link, VertexId near, Reach reach) const {
    const Tier tier = fabric_->link(link).tier;
    return reach == Reach::machine ? tier != Tier::scale_out && same_node(fabric_->to(link), near)
                                   : tier == Tier::scale_up;
}

PathDag NodeSearch::minimal_paths(VertexId from, VertexId to, Reach reach) {
    // Breadth first, backwards from the target. When the source is found, everything nearer to the target is marked,
    // and its links towards the target are noted: looking for them among all links of a large switch would cost far
    // more than the search.
    ++search_;
    steps_.clear();
    queue_.assign(1, to);
    marks_[index(to)] = {search_, 0, 0, {}};
    const Mark& source = marks_[index(from)];
    for (std::size_t head = 0; head < queue_.size() && source.search != search_; ++head) {
        const VertexId v = queue_[head];
        if (v != to && !crosses(v, from, reach)) {
            continue;
        }
        const std::uint32_t distance = marks_[index(v)].distance + 1;
        for (const LinkId link : fabric_->links_out_of(v)) {
            const VertexId next = fabric_->to(link);
            Mark& mark = marks_[index(next)];
            const bool fresh = mark.search != search_;
            if ((!fresh && mark.distance != distance) || !allows(link, from, reach)) {
                continue;
            }
            if (fresh) {
                mark = {search_, distance, 0, {}};
                queue_.push_back(next);
            }
            if (next == from) {
                break;
            }
            steps_.push_back(fabric_->reverse(link));
        }
    }
    PathDag dag;
    if (source.search != search_) {
        return dag;
    }
    std::erase_if(steps_, [&](LinkId link) { return marks_[index(fabric_->from(link))].distance >= source.distance; });
    for (const LinkId link : fabric_->links_out_of(from)) {
        const Mark& mark = marks_[index(fabric_->to(link))];
        if (mark.search == search_ && mark.distance + 1 == source.distance && allows(link, from, reach)) {
            steps_.push_back(link);
        }
    }
    std::sort(steps_.begin(), steps_.end());  // the links out of one vertex have consecutive ids
    queue_.assign(1, from);
    for (std::size_t head = 0; head < queue_.size(); ++head) {
        const VertexId v = queue_[head];
        const auto links = fabric_->links_out_of(v);
        auto step = std::lower_bound(steps_.begin(), steps_.end(), links.front());
        for (; v != to && step != steps_.end() && *step <= links.back(); ++step) {
            const VertexId next = fabric_->to(*step);
            if (next != to && !crosses(next, from, reach)) {
                continue;
            }
            Mark& mark = marks_[index(next)];
            if (mark.place == 0) {  // 0 is the source's
                mark.place = static_cast<std::uint32_t>(queue_.size());
                queue_.push_back(next);
            }
            dag.steps.push_back({*step, mark.place});
        }
        dag.first.push_back(static_cast<std::uint32_t>(dag.steps.size()));
    }
    return dag;
}

std::vector<NodeSearch::Found> NodeSearch::reachable(VertexId gpu, std::span<const VertexId> wanted, Through through) {
    ++search_;
    queue_.assign(1, gpu);
    marks_[index(gpu)] = {search_, 0, 0, {}};
    for (std::size_t head = 0; head < queue_.size(); ++head) {
        const VertexId v = queue_[head];
        const Place& place = places_[index(v)];
        if (v != gpu && (!place.relays || (place.kind == VertexKind::gpu && through == Through::no_gpu))) {
            continue;
        }
        for (const bool scale_up : {true, false}) {
            for (const LinkId link : fabric_->links_out_of(v)) {
                const VertexId next = fabric_->to(link);
                if (marks_[index(next)].search != search_ && same_node(next, gpu) &&
                    (fabric_->link(link).tier == Tier::scale_up) == scale_up) {
                    marks_[index(next)] = {search_, marks_[index(v)].distance + 1, 0, link};
                    queue_.push_back(next);
                }
            }
        }
    }
    std::vector<Found> found;
    for (const VertexId vertex : wanted) {
        if (marks_[index(vertex)].search == search_) {
            Found& one = found.emplace_back(Found{vertex, {}});
            for (VertexId v = vertex; v != gpu; v = fabric_->from(marks_[index(v)].parent)) {
                one.path.push_back(marks_[index(v)].parent);
            }
            std::reverse(one.path.begin(), one.path.end());
        }
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return std::pair(a.path.size(), a.vertex) < std::pair(b.path.size(), b.vertex);
    });
    return found;
}

}  // namespace lockstep::fabric
