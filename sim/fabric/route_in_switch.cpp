#include "sim/fabric/route_in_switch.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::fabric {
namespace {

// The parallel links from a member to a plane.
std::vector<LinkId> links_to(const Fabric& fabric, VertexId member, VertexId plane) {
    std::vector<LinkId> links;
    for (const LinkId link : fabric.links_out_of(member)) {
        if (fabric.to(link) == plane) {
            links.push_back(link);
        }
    }
    return links;
}

Bandwidth bandwidth_to(const Fabric& fabric, VertexId member, VertexId plane) {
    Bandwidth total;
    for (const LinkId link : links_to(fabric, member, plane)) {
        total += fabric.link(link).bandwidth;
    }
    return total;
}

std::string some_names(const Fabric& fabric, std::span<const VertexId> members) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, members.size()); ++i) {
        text += (i == 0 ? "" : ", ") + fabric.vertex(members[i]).name;
    }
    return members.size() > most ? fmt::format("{} and {} more", text, members.size() - most) : text;
}

}  // namespace

std::vector<VertexId> shared_reducers(const Fabric& fabric, std::span<const VertexId> members) {
    std::vector<VertexId> shared;
    if (members.empty()) {
        return shared;
    }
    for (const LinkId link : fabric.links_out_of(members.front())) {
        if (fabric.vertex(fabric.to(link)).reduces) {
            shared.push_back(fabric.to(link));
        }
    }
    std::sort(shared.begin(), shared.end());
    shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
    for (const VertexId member : members.subspan(1)) {
        std::erase_if(shared, [&](VertexId plane) {
            const auto links = fabric.links_out_of(member);
            return std::none_of(links.begin(), links.end(), [&](LinkId link) { return fabric.to(link) == plane; });
        });
    }
    return shared;
}

Route in_switch_route(const Fabric& fabric, InSwitch operation, std::span<const VertexId> members, VertexId root) {
    std::vector<VertexId> sorted(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        throw std::invalid_argument("an in-switch operation needs members, each named once");
    }
    std::vector<VertexId> all(members.begin(), members.end());
    if (!std::binary_search(sorted.begin(), sorted.end(), root)) {
        all.push_back(root);
    }
    const std::vector<VertexId> planes = shared_reducers(fabric, all);
    if (planes.empty()) {
        throw SimulationError(fmt::format("no switch that can reduce is cabled to all of {}", some_names(fabric, all)));
    }
    std::vector<Bandwidth> widths;
    Bandwidth total;
    for (const VertexId plane : planes) {
        Bandwidth least = bandwidth_to(fabric, all.front(), plane);
        for (const VertexId member : all) {
            least = std::min(least, bandwidth_to(fabric, member, plane));
        }
        widths.push_back(least);
        total += least;
    }
    Route route;
    for (std::size_t p = 0; p < planes.size(); ++p) {
        const auto add = [&](VertexId member, bool up) {
            Seconds slowest;
            const Bandwidth width = bandwidth_to(fabric, member, planes[p]);
            for (const LinkId link : links_to(fabric, member, planes[p])) {
                const double share = widths[p] / total * (fabric.link(link).bandwidth / width);
                const LinkId directed = up ? link : fabric.reverse(link);
                route.links.push_back({directed, share});
                slowest = std::max(slowest, fabric.link(directed).latency);
            }
            return slowest;
        };
        const auto add_all = [&](bool up) {
            Seconds slowest;
            for (const VertexId member : members) {
                slowest = std::max(slowest, add(member, up));
            }
            return slowest;
        };
        Seconds latency;
        switch (operation) {
            case InSwitch::reduction:
                latency = add_all(true) + add(root, false);
                break;
            case InSwitch::multicast:
                latency = add_all(false) + add(root, true);
                break;
            case InSwitch::sum:
                latency = add_all(true) + add_all(false);
                break;
        }
        route.latency = std::max(route.latency, latency);
    }
    route.links.shrink_to_fit();
    return route;
}

}  // namespace lockstep::fabric
