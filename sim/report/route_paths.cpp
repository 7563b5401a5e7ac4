#include "sim/report/route_paths.h"

#include <algorithm>
#include <map>

namespace lockstep::report {

namespace {

/// What is left of the shares of a route after the paths taken out of it so far.
class Remainder {
  public:
    Remainder(const fabric::Fabric& fabric, const fabric::Route& route) : fabric_(&fabric) {
        for (const fabric::RouteShare& share : route.links) {
            out_[fabric.from(share.link)].push_back(share);
        }
        for (auto& [vertex, shares] : out_) {
            std::ranges::sort(shares, {}, [](const fabric::RouteShare& share) { return share.link; });
        }
    }

    /// Takes the path with the widest link at each vertex out; empty when none is left.
    RoutePath take(VertexId from, VertexId to) {
        RoutePath path;
        std::vector<fabric::RouteShare*> taken;
        for (VertexId at = from; at != to;) {
            fabric::RouteShare* const next = widest(at);
            if (next == nullptr || taken.size() > out_.size()) {
                return {};
            }
            taken.push_back(next);
            path.links.push_back(next->link);
            path.share = std::min(path.share, next->share);
            at = fabric_->to(next->link);
        }
        for (fabric::RouteShare* const share : taken) {
            share->share -= path.share;
        }
        return path;
    }

  private:
    static constexpr double least_share = 1e-9;

    fabric::RouteShare* widest(VertexId at) {
        const auto found = out_.find(at);
        if (found == out_.end()) {
            return nullptr;
        }
        const auto best = std::ranges::max_element(found->second, {}, &fabric::RouteShare::share);
        return best->share > least_share ? &*best : nullptr;
    }

    const fabric::Fabric* fabric_;
    std::map<VertexId, std::vector<fabric::RouteShare>> out_;
};

bool contains(std::span<const VertexId> vertices, VertexId vertex) {
    return std::find(vertices.begin(), vertices.end(), vertex) != vertices.end();
}

}  // namespace

std::vector<RoutePath> paths_of(const fabric::Fabric& fabric, const fabric::Route& route, VertexId from, VertexId to,
                                std::size_t most) {
    Remainder remainder(fabric, route);
    std::vector<RoutePath> paths;
    while (paths.size() < most) {
        RoutePath path = remainder.take(from, to);
        if (path.links.empty()) {
            break;
        }
        paths.push_back(std::move(path));
    }
    return paths;
}

std::vector<RoutePath> switch_paths(const fabric::Fabric& fabric, const fabric::Route& route,
                                    std::span<const VertexId> from, std::span<const VertexId> to) {
    // Members are cabled to the switch itself, so that every link is a path of its own.
    std::vector<RoutePath> paths;
    for (const fabric::RouteShare& share : route.links) {
        if (contains(from, fabric.from(share.link))) {
            paths.push_back({{share.link}, share.share, Leg::to_switch});
        } else if (contains(to, fabric.to(share.link))) {
            paths.push_back({{share.link}, share.share, Leg::from_switch});
        }
    }
    return paths;
}

}  // namespace lockstep::report
