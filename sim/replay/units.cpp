#include "sim/replay/units.h"

#include <algorithm>
#include <bit>

namespace lockstep::replay {

namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

}  // namespace

Units::Units(const fabric::Fabric& fabric, std::span<const VertexId> placement)
    : fabric_(&fabric),
      placement_(placement.begin(), placement.end()),
      unit_of_(fabric.vertex_count(), none),
      place_of_(fabric.vertex_count(), 0) {
    for (std::size_t rank = 0; rank < placement_.size(); ++rank) {
        if (of(placement_[rank]) == none) {
            add(placement_[rank]);
        }
        ranks_[of(placement_[rank])].push_back(id_at<RankId>(rank));
    }
    for (std::uint32_t unit = 0; unit < size(); ++unit) {
        auto& ranks = ranks_[unit];
        std::sort(ranks.begin(), ranks.end(), [&](RankId a, RankId b) { return place(a) < place(b); });
        hardware_.push_back(hardware_of(unit));
        Digest all = hardware_.back();
        for (const RankId rank : ranks) {
            all = mix(all, place(rank));
        }
        digests_.push_back(all);
    }
}

std::uint32_t Units::owner(LinkId link) const {
    const std::uint32_t unit = of(fabric_->from(link));
    return unit != none ? unit : of(fabric_->to(link));
}

std::uint64_t Units::place(LinkId link) const {
    const bool outgoing = of(fabric_->from(link)) != none;
    const LinkId out = outgoing ? link : fabric_->reverse(link);
    const VertexId from = fabric_->from(out);
    const std::size_t offset = index(out) - index(fabric_->links_out_of(from).front());
    return (std::uint64_t{place(from)} << 32U) | (static_cast<std::uint64_t>(offset) << 1U) | (outgoing ? 0U : 1U);
}

LinkId Units::link_at(std::uint32_t unit, std::uint64_t place) const {
    const VertexId from = vertices_[unit][static_cast<std::size_t>(place >> 32U)];
    const LinkId out = fabric_->links_out_of(from)[static_cast<std::size_t>((place & UINT32_MAX) >> 1U)];
    return (place & 1U) == 0 ? out : fabric_->reverse(out);
}

Digest Units::hardware_of(std::uint32_t unit) const {
    Digest all;
    for (const VertexId vertex : vertices_[unit]) {
        const fabric::Vertex& what = fabric_->vertex(vertex);
        all =
            mix(all, static_cast<std::uint64_t>(what.kind) << 2U | (what.relays ? 2U : 0U) | (what.reduces ? 1U : 0U));
        for (const LinkId id : fabric_->links_out_of(vertex)) {
            const fabric::Link& link = fabric_->link(id);
            all = mix(all, bits(link.bandwidth.value));
            all = mix(all, bits(fabric_->link(fabric_->reverse(id)).bandwidth.value));
            all = mix(all, bits(link.latency.value));
            all = mix(all, static_cast<std::uint64_t>(link.tier));
            const VertexId to = fabric_->to(id);
            all = mix(all, of(to) == unit ? std::uint64_t{place(to)} : std::uint64_t{none});
        }
    }
    return all;
}

void Units::add(const VertexId& gpu) {
    const auto unit = static_cast<std::uint32_t>(vertices_.size());
    const auto& node = fabric_->vertex(gpu).node;
    vertices_.push_back(node ? fabric_->vertices_of(*node) : std::span(&gpu, 1));
    ranks_.emplace_back();
    for (std::uint32_t place = 0; place < vertices_.back().size(); ++place) {
        unit_of_[index(vertices_.back()[place])] = unit;
        place_of_[index(vertices_.back()[place])] = place;
    }
}

}  // namespace lockstep::replay
