#include "sim/fabric/summary.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "sim/fabric/ways_out.h"

namespace lockstep::fabric {

namespace {

// A maximum flow over this many links takes about a second.
constexpr std::size_t most_links_of_bisection = 200'000;

std::vector<DeviceCount> count_devices(const Fabric& fabric) {
    std::vector<DeviceCount> counts;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        const Vertex& vertex = fabric.vertex(id_at<VertexId>(i));
        const bool inside = vertex.node.has_value();
        const auto same = std::find_if(counts.begin(), counts.end(), [&](const DeviceCount& other) {
            return other.kind == vertex.kind && other.inside_nodes == inside && other.device == vertex.device;
        });
        if (same != counts.end()) {
            ++same->count;
        } else {
            counts.push_back({.kind = vertex.kind, .device = vertex.device, .count = 1, .inside_nodes = inside});
        }
    }
    std::stable_sort(counts.begin(), counts.end(),
                     [](const DeviceCount& a, const DeviceCount& b) { return a.kind < b.kind; });
    return counts;
}

bool same_group(const LinkGroup& a, const LinkGroup& b) {
    const auto fields = [](const LinkGroup& g) {
        return std::tie(g.link.tier, g.link.kind, g.link.bandwidth, g.link.line_rate, g.link.efficiency, g.link.latency,
                        g.link.cables, g.from, g.to);
    };
    return fields(a) == fields(b);
}

std::vector<LinkGroup> group_links(const Fabric& fabric) {
    std::vector<LinkGroup> groups;
    std::size_t last = 0;  // neighbours are mostly alike
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        if (fabric.reverse(link) < link) {
            continue;
        }
        const auto [from, to] = std::minmax(fabric.vertex(fabric.from(link)).kind, fabric.vertex(fabric.to(link)).kind);
        const LinkGroup group{.link = fabric.link(link), .from = from, .to = to, .count = 1};
        if (last >= groups.size() || !same_group(groups[last], group)) {
            last = static_cast<std::size_t>(
                std::find_if(groups.begin(), groups.end(), [&](const LinkGroup& g) { return same_group(g, group); }) -
                groups.begin());
        }
        if (last == groups.size()) {
            groups.push_back(group);
        } else {
            ++groups[last].count;
        }
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const LinkGroup& a, const LinkGroup& b) { return a.link.tier < b.link.tier; });
    return groups;
}

Bandwidth sum_of_tier(const Fabric& fabric, VertexId vertex, Tier tier) {
    Bandwidth sum;
    for (const LinkId link : fabric.links_out_of(vertex)) {
        if (fabric.link(link).tier == tier) {
            sum += fabric.link(link).bandwidth;
        }
    }
    return sum;
}

template <class Item, class Of>
BandwidthRange range_over(std::span<const Item> items, Of bandwidth_of) {
    BandwidthRange range;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Bandwidth bandwidth = bandwidth_of(items[i]);
        range.least = i == 0 ? bandwidth : std::min(range.least, bandwidth);
        range.most = std::max(range.most, bandwidth);
    }
    return range;
}

}  // namespace

Summary summarize(const Fabric& fabric) {
    const std::vector<WayOut> ways = ways_out(fabric);
    return {
        .nodes = fabric.node_count(),
        .gpus = fabric.gpus().size(),
        .links = fabric.link_count() / 2,
        .routing = fabric.routing(),
        .devices = count_devices(fabric),
        .link_groups = group_links(fabric),
        .scale_up_per_gpu =
            range_over(fabric.gpus(), [&](VertexId gpu) { return sum_of_tier(fabric, gpu, Tier::scale_up); }),
        .scale_out_per_gpu = range_over(std::span<const WayOut>(ways), [](const WayOut& way) { return way.scale_out; }),
        .tiers = switch_tiers(fabric),
        .bisection = bisection(fabric, most_links_of_bisection)};
}

}  // namespace lockstep::fabric
