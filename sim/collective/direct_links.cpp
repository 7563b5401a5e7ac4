#include "sim/collective/direct_links.h"

#include <algorithm>
#include <utility>

namespace lockstep::collective {

using fabric::Tier;
using fabric::VertexKind;

DirectLinks::DirectLinks(const fabric::Fabric& fabric, std::span<const VertexId> gpus) {
    std::vector<std::pair<VertexId, std::uint32_t>> place_of;
    place_of.reserve(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        place_of.emplace_back(gpus[i], static_cast<std::uint32_t>(i));
    }
    std::sort(place_of.begin(), place_of.end());

    begin_.push_back(0);
    for (const VertexId gpu : gpus) {
        const auto first = static_cast<std::ptrdiff_t>(arcs_.size());
        for (const LinkId link : fabric.links_out_of(gpu)) {
            const VertexId to = fabric.to(link);
            if (fabric.vertex(to).kind != VertexKind::gpu) {
                continue;
            }
            const auto found = std::lower_bound(place_of.begin(), place_of.end(), std::pair(to, std::uint32_t{0}));
            if (found != place_of.end() && found->first == to) {
                arcs_.push_back({found->second, fabric.link(link).bandwidth});
            }
        }
        std::stable_sort(arcs_.begin() + first, arcs_.end(), [](const Arc& a, const Arc& b) { return a.to < b.to; });
        auto last = arcs_.begin() + first;
        for (auto arc = last; arc != arcs_.end(); ++arc) {
            if (arc == last) {
                continue;
            }
            if (arc->to == last->to) {
                last->bandwidth += arc->bandwidth;
            } else {
                *++last = *arc;
            }
        }
        if (last != arcs_.end()) {
            arcs_.erase(last + 1, arcs_.end());
        }
        begin_.push_back(arcs_.size());
    }
}

Bandwidth DirectLinks::bandwidth(std::size_t from, std::size_t to) const {
    const auto arcs = out_of(from);
    const auto found = std::lower_bound(arcs.begin(), arcs.end(), to,
                                        [](const Arc& arc, std::size_t wanted) { return arc.to < wanted; });
    return found != arcs.end() && found->to == to ? found->bandwidth : Bandwidth{0};
}

bool DirectLinks::closes(std::span<const std::uint32_t> cycle) const {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        if (!joins(cycle[i], cycle[(i + 1) % cycle.size()])) {
            return false;
        }
    }
    return true;
}

bool share_scale_up_switch(const fabric::Fabric& fabric, std::span<const VertexId> gpus) {
    const auto switches_of = [&](VertexId gpu) {
        std::vector<VertexId> switches;
        for (const LinkId link : fabric.links_out_of(gpu)) {
            const VertexId to = fabric.to(link);
            if (fabric.link(link).tier == Tier::scale_up && fabric.vertex(to).kind == VertexKind::switch_) {
                switches.push_back(to);
            }
        }
        std::sort(switches.begin(), switches.end());
        return switches;
    };
    if (gpus.empty()) {
        return false;
    }
    std::vector<VertexId> shared = switches_of(gpus.front());
    for (std::size_t i = 1; i < gpus.size() && !shared.empty(); ++i) {
        std::vector<VertexId> both;
        std::ranges::set_intersection(shared, switches_of(gpus[i]), std::back_inserter(both));
        shared = std::move(both);
    }
    return !shared.empty();
}

}  // namespace lockstep::collective
