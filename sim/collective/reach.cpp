#include "sim/collective/reach.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace lockstep::collective {

using fabric::Fabric;
using fabric::VertexKind;

Reach::Reach(const Communicator& communicator) : communicator_(&communicator) {
    const Fabric& fabric = communicator.fabric();
    all_joined_ = std::all_of(communicator.gpus().begin(), communicator.gpus().end(), [&](VertexId gpu) {
        const auto links = fabric.links_out_of(gpu);
        return std::any_of(links.begin(), links.end(), [&](LinkId link) {
            const fabric::Vertex& other = fabric.vertex(fabric.to(link));
            return other.kind != VertexKind::gpu && other.relays;
        });
    });
    if (all_joined_) {
        return;
    }
    std::vector<std::uint32_t> parent(fabric.vertex_count());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto part_of = [&](VertexId vertex) {
        auto v = static_cast<std::uint32_t>(vertex);
        while (parent[v] != v) {
            parent[v] = parent[parent[v]];
            v = parent[v];
        }
        return v;
    };
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        const VertexId a = fabric.from(link);
        const VertexId b = fabric.to(link);
        if (fabric.vertex(a).relays && fabric.vertex(b).relays) {
            parent[part_of(a)] = part_of(b);
        }
    }
    for (const VertexId gpu : communicator.gpus()) {
        std::vector<std::uint32_t> parts;
        if (fabric.vertex(gpu).relays) {
            parts.push_back(part_of(gpu));
        }
        for (const LinkId link : fabric.links_out_of(gpu)) {
            if (fabric.vertex(fabric.to(link)).relays) {
                parts.push_back(part_of(fabric.to(link)));
            }
        }
        std::sort(parts.begin(), parts.end());
        parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
        parts_.push_back(std::move(parts));
    }
    // The common case of a mesh that does relay: one set that all are cabled to.
    all_joined_ = std::any_of(parts_.front().begin(), parts_.front().end(), [&](std::uint32_t part) {
        return std::all_of(parts_.begin(), parts_.end(),
                           [&](const auto& parts) { return std::binary_search(parts.begin(), parts.end(), part); });
    });
}

bool Reach::joins(RankId a, RankId b) const {
    if (all_joined_ || a == b) {
        return true;
    }
    const Fabric& fabric = communicator_->fabric();
    const auto links = fabric.links_out_of(communicator_->gpu(a));
    if (std::any_of(links.begin(), links.end(),
                    [&](LinkId link) { return fabric.to(link) == communicator_->gpu(b); })) {
        return true;
    }
    const auto& here = parts_[index(a)];
    const auto& there = parts_[index(b)];
    return std::any_of(here.begin(), here.end(),
                       [&](std::uint32_t part) { return std::binary_search(there.begin(), there.end(), part); });
}

std::optional<std::pair<RankId, RankId>> Reach::unjoined_pair() const {
    if (all_joined_) {
        return std::nullopt;
    }
    for (std::size_t a = 0; a < communicator_->size(); ++a) {
        for (std::size_t b = a + 1; b < communicator_->size(); ++b) {
            if (!joins(id_at<RankId>(a), id_at<RankId>(b))) {
                return std::pair(id_at<RankId>(a), id_at<RankId>(b));
            }
        }
    }
    return std::nullopt;
}

std::string Reach::complaint(RankId a, RankId b) const {
    const auto named = [&](RankId rank) {
        return fmt::format("rank {} ({})", index(rank), communicator_->fabric().vertex(communicator_->gpu(rank)).name);
    };
    const Fabric& fabric = communicator_->fabric();
    const auto links = fabric.links_out_of(communicator_->gpu(a));
    const bool neighbour_would_relay = std::any_of(links.begin(), links.end(), [&](LinkId link) {
        const fabric::Vertex& neighbour = fabric.vertex(fabric.to(link));
        return neighbour.kind == fabric::VertexKind::gpu && !neighbour.relays;
    });
    return fmt::format("no path leads from {} to {}{}", named(a), named(b),
                       neighbour_would_relay ? ", since GPUs do not relay in this topology" : "");
}

}  // namespace lockstep::collective
