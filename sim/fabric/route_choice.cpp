#include "sim/fabric/route_choice.h"

#include <algorithm>
#include <tuple>

namespace lockstep::fabric {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014) over the sum of what came before and a new value.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    std::uint64_t z = hash + value + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace

StaticChoice::StaticChoice(const Endpoint& to) : to_(&to), number_(to.port) {}

Hop StaticChoice::operator()(VertexId, std::span<const Hop> hops, std::uint32_t number, std::uint32_t left) {
    if (hops.size() == 1 || to_->slot) {
        return hops.front();
    }
    const auto by_switch = [](const Hop& a, const Hop& b) { return a.to < b.to; };
    if (!std::is_sorted(hops.begin(), hops.end(), by_switch)) {
        sorted_.assign(hops.begin(), hops.end());
        std::stable_sort(sorted_.begin(), sorted_.end(), by_switch);
        hops = sorted_;
    }
    // Parallel cables to a switch stand together now.
    std::uint64_t switches = 1;
    for (std::size_t i = 1; i < hops.size(); ++i) {
        switches += hops[i].to != hops[i - 1].to ? 1 : 0;
    }

    const std::uint32_t level = std::min(number, left);
    const auto on_way_up =
        std::find_if(decided_.begin(), decided_.end(), [&](const Level& l) { return l.number == level; });
    const bool mirrored = number > left && on_way_up != decided_.end();
    const std::uint64_t deciding = mirrored ? on_way_up->rest : number_;
    const std::uint64_t rest = deciding / switches;
    if (!mirrored) {
        decided_.push_back({level, rest});
        if (!by_port_) {
            number_ = rest;
        } else if (switches > 1) {
            const std::uint64_t rests_per_leaf = (to_->ports + switches - 1) / switches;
            number_ = rest + rests_per_leaf * to_->leaf;
            by_port_ = false;
        }
    }
    std::size_t first = 0;
    for (std::uint64_t before = deciding % switches; before > 0;) {
        ++first;
        before -= hops[first].to != hops[first - 1].to ? 1 : 0;
    }
    std::size_t end = first + 1;
    while (end < hops.size() && hops[end].to == hops[first].to) {
        ++end;
    }
    return hops[first + rest % (end - first)];
}

EcmpChoice::EcmpChoice(std::uint64_t seed, VertexId from, VertexId to, std::uint32_t flow)
    : hash_(mix(mix(mix(mix(0, seed), index(from)), index(to)), flow)) {}

Hop EcmpChoice::operator()(VertexId at, std::span<const Hop> hops, std::uint32_t, std::uint32_t) const {
    return hops.size() == 1 ? hops.front() : hops[mix(hash_, index(at)) % hops.size()];
}

}  // namespace lockstep::fabric
