#include "sim/collective/rings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/collective/cycles.h"
#include "sim/collective/ports.h"
#include "sim/collective/walk.h"

namespace lockstep::collective {

using fabric::Fabric;

namespace {

using Places = std::vector<std::uint32_t>;
using Rings = std::vector<std::vector<RankId>>;

std::vector<VertexId> gpus_at(std::span<const VertexId> gpus, const std::vector<RankId>& ranks) {
    std::vector<VertexId> some;
    some.reserve(ranks.size());
    for (const RankId rank : ranks) {
        some.push_back(gpus[index(rank)]);
    }
    return some;
}

/// Rings along the direct links of a mesh; none if none was found.
Rings mesh_rings(const DirectLinks& links) {
    std::vector<Places> cycles;
    if (links.size() <= most_searched) {
        cycles = packed_cycles(links);
    } else {
        Places order(links.size());
        std::iota(order.begin(), order.end(), 0U);
        std::optional<Places> walk = links.closes(order) ? order : long_walk(links);
        if (walk) {
            // Both ways round: each uses one direction of the links.
            cycles.push_back(*walk);
            std::reverse(walk->begin() + 1, walk->end());
            cycles.push_back(std::move(*walk));
        }
    }
    Rings rings;
    for (const Places& cycle : cycles) {
        auto& ring = rings.emplace_back();
        for (const std::uint32_t place : cycle) {
            ring.push_back(id_at<RankId>(place));
        }
    }
    return rings;
}

/// A way out of a node: the place of the first GPU that uses it, and what it carries.
struct Rail {
    std::uint32_t head;
    Bandwidth rate;
};

/// One for each set of NICs that GPUs of a node use together, and for each GPU that is cabled to the fabric itself.
std::vector<Rail> rails_of(const Fabric& fabric, std::span<const VertexId> node_gpus) {
    const std::optional<NodeId>& node = fabric.vertex(node_gpus.front()).node;
    const auto all = fabric.gpus_of(*node);
    const auto nics = own_nics(fabric, *node);
    std::vector<std::vector<VertexId>> seen;
    std::vector<Rail> rails;
    for (std::uint32_t place = 0; place < node_gpus.size(); ++place) {
        const auto at = std::find(all.begin(), all.end(), node_gpus[place]) - all.begin();
        const auto& mine = nics[static_cast<std::size_t>(at)];
        Bandwidth rate = rate_out_of_node(fabric, node_gpus[place]);
        if (!mine.empty() && std::find(seen.begin(), seen.end(), mine) == seen.end()) {
            seen.push_back(mine);
            for (const VertexId nic : mine) {
                rate += rate_out_of_node(fabric, nic);
            }
        }
        if (rate > Bandwidth{0}) {
            rails.push_back({place, rate});
        }
    }
    return rails;
}

/// The heads of as many rails, evenly spread, as a GPU of the node can feed: every ring passes every GPU, so that more
/// gain nothing.
Places useful_heads(const Fabric& fabric, VertexId gpu, const std::vector<Rail>& rails) {
    const PortRates ports = port_rates(fabric, gpu);
    const double fed = std::ceil(std::max(ports.scale_up, ports.machine) / rails.front().rate);
    const auto count = static_cast<std::size_t>(std::min(fed, static_cast<double>(rails.size())));
    Places heads;
    for (std::size_t i = 0; i < count; ++i) {
        heads.push_back(rails[i * rails.size() / count].head);
    }
    return heads;
}

/// All places of a node, from `entry` to `exit`, as close to counting up (or down) as that allows.
Places counted_path(std::uint32_t size, std::uint32_t entry, std::uint32_t exit) {
    const bool down = exit == (entry + 1) % size;
    Places path{entry};
    for (std::uint32_t i = 1; i < size; ++i) {
        const std::uint32_t place = (entry + (down ? size - i : i)) % size;
        if (place != exit) {
            path.push_back(place);
        }
    }
    path.push_back(exit);
    return path;
}

/// c, c+1, c-1, c+2, c-2, ... : its steps are 1, -2, 3, -4, ..., all different modulo an even size, so that the paths
/// of all c together use every direct link of a full mesh exactly once. Source: Williams (1949), "Experimental designs
/// balanced for ... residual effects".
Places zigzag_path(std::uint32_t size, std::uint32_t c) {
    Places path{c};
    for (std::uint32_t i = 1; i < size; ++i) {
        path.push_back((path.back() + (i % 2 == 1 ? i : size - i)) % size);
    }
    return path;
}

/// For each ring, the way through even nodes; odd nodes are crossed backwards, so that a ring enters a node by the
/// place by which it left the last.
std::vector<Places> paths_through_mesh(const DirectLinks& links, const Places& cycle) {
    const auto size = static_cast<std::uint32_t>(links.size());
    std::vector<Places> paths;
    for (std::uint32_t c = 0; c < size; ++c) {
        if (links.complete() && size % 2 == 0) {
            paths.push_back(zigzag_path(size, c));
        } else {
            Places path = cycle;
            std::rotate(path.begin(), std::find(path.begin(), path.end(), c), path.end());
            paths.push_back(std::move(path));
        }
    }
    return paths;
}

void append_node(std::vector<RankId>& ring, const std::vector<RankId>& node, const Places& path) {
    for (const std::uint32_t place : path) {
        ring.push_back(node[place]);
    }
}

/// One ring per rail over nodes of equal size; empty if the nodes have one rail only.
Rings rail_rings(const Fabric& fabric, std::span<const VertexId> gpus, const std::vector<std::vector<RankId>>& nodes) {
    const auto size = static_cast<std::uint32_t>(nodes.front().size());
    const std::vector<VertexId> first_gpus = gpus_at(gpus, nodes.front());
    const std::vector<Rail> all_rails = rails_of(fabric, first_gpus);
    if (all_rails.size() < 2) {
        return {};
    }
    Rings rings;
    const DirectLinks first_links(fabric, first_gpus);
    std::optional<Places> cycle;
    if (!first_links.empty() && !share_scale_up_switch(fabric, first_gpus)) {
        cycle = mesh_order(first_links);
    }
    if (cycle && first_links.closes(*cycle)) {
        // One ring from each GPU even where GPUs share a NIC: they leave by different places, and every NIC gets the
        // same number.
        for (Places path : paths_through_mesh(first_links, *cycle)) {
            auto& ring = rings.emplace_back();
            for (const auto& node : nodes) {
                append_node(ring, node, path);
                std::reverse(path.begin(), path.end());
            }
        }
        return rings;
    }
    const Places heads = useful_heads(fabric, first_gpus.front(), all_rails);
    const auto rails = static_cast<std::uint32_t>(heads.size());
    if (rails < 2) {
        return {};
    }
    const std::size_t last = nodes.size() - 1;
    for (std::uint32_t c = 0; c < rails; ++c) {
        const std::uint32_t head = heads[c];
        const std::uint32_t before = heads[(c + rails - 1) % rails];
        const std::uint32_t after = heads[(c + 1) % rails];
        auto& ring = rings.emplace_back();
        for (std::size_t j = 0; j < nodes.size(); ++j) {
            std::uint32_t entry = j % 2 == 0 ? head : before;
            std::uint32_t exit = j % 2 == 0 ? before : head;
            if (nodes.size() % 2 == 1 && rails >= 3) {
                // With an odd number of nodes the hop that closes the ring meets two even ones: a third rail keeps it
                // on one.
                entry = j == 0 ? after : entry;
                exit = j == last ? after : exit;
            }
            append_node(ring, nodes[j], counted_path(size, entry, exit));
        }
    }
    return rings;
}

bool some_link_leaves_its_node(const DirectLinks& links, const std::vector<std::size_t>& node_of) {
    for (std::size_t place = 0; place < links.size(); ++place) {
        for (const DirectLinks::Arc& arc : links.out_of(place)) {
            if (node_of[place] != node_of[arc.to]) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> mesh_order(const DirectLinks& links) {
    if (links.empty()) {
        return std::nullopt;
    }
    if (links.size() <= most_searched) {
        if (auto cycle = widest_cycle(links)) {
            return cycle;
        }
    }
    return long_walk(links);
}

std::vector<std::vector<RankId>> find_rings(const Fabric& fabric, std::span<const VertexId> gpus,
                                            const std::vector<std::vector<RankId>>& nodes) {
    std::vector<RankId> node_by_node;
    std::vector<std::size_t> node_of(gpus.size());
    for (std::size_t j = 0; j < nodes.size(); ++j) {
        for (const RankId rank : nodes[j]) {
            node_by_node.push_back(rank);
            node_of[index(rank)] = j;
        }
    }
    if (gpus.size() <= 2 || share_scale_up_switch(fabric, gpus)) {
        return {node_by_node};
    }
    const DirectLinks links(fabric, gpus);
    if (!links.empty() && (nodes.size() == 1 || some_link_leaves_its_node(links, node_of))) {
        Rings rings = mesh_rings(links);
        return rings.empty() ? Rings{node_by_node} : rings;
    }
    const std::size_t size = nodes.front().size();
    if (nodes.size() > 1 && size > 1 &&
        std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.size() == size; })) {
        Rings rings = rail_rings(fabric, gpus, nodes);
        if (!rings.empty()) {
            return rings;
        }
    }
    return {node_by_node};
}

}  // namespace lockstep::collective
