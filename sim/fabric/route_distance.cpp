#include "sim/fabric/route_distance.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <boost/container_hash/hash.hpp>

#include "sim/base/diagnostics.h"

namespace lockstep::fabric {
namespace {

// Enough for the switches of 131,072 GPUs, and small beside the routes themselves.
constexpr std::size_t budget = std::size_t{384} << 20;

std::vector<std::uint32_t> first_twins(const SlotGraph& graph) {
    using Neighbours = std::vector<std::uint32_t>;
    std::unordered_map<Neighbours, std::uint32_t, boost::hash<Neighbours>> first;
    std::vector<std::uint32_t> twins;
    for (std::uint32_t slot = 0; slot < graph.size(); ++slot) {
        Neighbours neighbours;
        for (const Hop& hop : graph.hops_from(slot)) {
            neighbours.push_back(hop.to);
        }
        std::sort(neighbours.begin(), neighbours.end());
        neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
        twins.push_back(first.try_emplace(std::move(neighbours), slot).first->second);
    }
    return twins;
}

}  // namespace

DistanceSearch::DistanceSearch(SlotGraph graph)
    : graph_(std::move(graph)), twin_(first_twins(graph_)), fields_(budget) {}

DistanceSearch::Field& DistanceSearch::field_to(std::span<const std::uint32_t> targets, std::uint64_t key) {
    if (Field* const known = fields_.find(key)) {
        return *known;
    }
    const std::size_t bytes = graph_.size() * (sizeof(std::uint16_t) + sizeof(std::uint32_t));
    Field fresh = fields_.make_room(bytes).value_or(Field{});
    if (fresh.queue.empty()) {
        fresh.of.assign(graph_.size(), Distances::unseen);
    }
    // In a torus every GPU is a destination of its own, and mostly its neighbours ask: undo only what a search has
    // written.
    for (const std::uint32_t slot : fresh.queue) {
        fresh.of[slot] = Distances::unseen;
    }
    fresh.queue.assign(targets.begin(), targets.end());
    fresh.head = 0;
    for (const std::uint32_t slot : fresh.queue) {
        fresh.of[slot] = 0;
    }
    return fields_.insert(key, std::move(fresh), bytes);
}

Distances DistanceSearch::distances(std::span<const std::uint32_t> from, std::span<const std::uint32_t> targets,
                                    std::uint32_t number) {
    // Sets of one slot are known by the slot, so that twins find each other's; others by their number.
    const bool is_one = targets.size() == 1;
    const std::uint32_t slot = is_one ? targets.front() : Hop::beyond;
    const std::uint32_t twin = is_one ? twin_[slot] : Hop::beyond;
    Field& field = is_one ? field_to(std::span(&twin, 1), twin) : field_to(targets, (std::uint64_t{1} << 32U) | number);
    const Distances found(field.of, slot, twin);
    // Go on until all slots as near as the source's nearest are known: another of its switches may be among them.
    while (field.head < field.queue.size()) {
        const std::uint32_t next = field.queue[field.head];
        const std::uint16_t distance = field.of[next];
        const std::uint16_t nearest = found.from_nearest_of(from);
        if (nearest != Distances::unseen && distance >= nearest) {
            break;
        }
        if (distance + 1 == Distances::unseen) {
            throw SimulationError("the fabric is more than 65,534 links across");
        }
        ++field.head;
        for (const Hop& hop : graph_.hops_from(next)) {
            if (field.of[hop.to] == Distances::unseen) {
                field.of[hop.to] = static_cast<std::uint16_t>(distance + 1);
                field.queue.push_back(hop.to);
            }
        }
    }
    if (field.head == field.queue.size()) {
        field.queue = {};  // all is known
        field.head = 0;
    }
    return found;
}

}  // namespace lockstep::fabric
