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

Hop StaticChoice::operator()(VertexId, std::vector<Hop> hops, std::uint32_t number, std::uint32_t left) {
    if (hops.size() == 1 || to_->slot) {
        return hops.front();
    }
    std::stable_sort(hops.begin(), hops.end(), [](const Hop& a, const Hop& b) { return a.to < b.to; });
    std::vector<std::size_t> starts;  // of the parallel cables to each next switch
    for (std::size_t i = 0; i < hops.size(); ++i) {
        if (i == 0 || hops[i].to != hops[i - 1].to) {
            starts.push_back(i);
        }
    }
    starts.push_back(hops.size());
    const std::uint64_t switches = starts.size() - 1;

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
    const std::size_t first = starts[deciding % switches];
    const std::size_t cables = starts[deciding % switches + 1] - first;
    return hops[first + rest % cables];
}

EcmpChoice::EcmpChoice(std::uint64_t seed, VertexId from, VertexId to, std::uint32_t flow)
    : hash_(mix(mix(mix(mix(0, seed), index(from)), index(to)), flow)) {}

Hop EcmpChoice::operator()(VertexId at, std::span<const Hop> hops, std::uint32_t, std::uint32_t) const {
    return hops.size() == 1 ? hops.front() : hops[mix(hash_, index(at)) % hops.size()];
}

}  // namespace lockstep::fabric
