#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <fmt/format.h>

#include "sim/fabric/summary.h"

namespace lockstep::fabric {

namespace {

using Capacity = std::int64_t;
using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct FlowVertex {
    FlowTraits::edge_descriptor predecessor;
    boost::default_color_type colour = boost::white_color;
    std::int32_t distance = 0;
};

struct FlowEdge {
    Capacity capacity = 0;
    Capacity residual = 0;
    FlowTraits::edge_descriptor reverse;
};

using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, FlowVertex, FlowEdge>;

/// Capacity in one direction between two places of the cut graph.
struct Pipe {
    std::uint32_t from;
    std::uint32_t to;
    double bandwidth;
};

constexpr std::uint32_t source = 0;
constexpr std::uint32_t sink = 1;
constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

/// By VertexId, where a vertex stands in the cut graph: GPUs and NICs in the source or the sink, by the half of the
/// GPUs that they belong to, every switch in a place of its own. A source of unlimited supply may be drawn together
/// into one point.
struct Places {
    std::vector<std::uint32_t> of;
    std::uint32_t count = 2;
};

Places place_vertices(const Fabric& fabric, std::size_t first_half) {
    Places places{.of = std::vector<std::uint32_t>(fabric.vertex_count(), nowhere)};
    for (std::size_t i = 0; i < fabric.gpus().size(); ++i) {
        places.of[index(fabric.gpus()[i])] = i < first_half ? source : sink;
    }
    for (std::size_t n = 0; n < fabric.node_count(); ++n) {
        const auto node = id_at<NodeId>(n);
        const auto gpus = fabric.gpus_of(node);
        std::vector<VertexId> nics;
        for (const VertexId vertex : fabric.vertices_of(node)) {
            if (fabric.vertex(vertex).kind == VertexKind::nic) {
                nics.push_back(vertex);
            }
        }
        for (std::size_t i = 0; i < nics.size() && !gpus.empty(); ++i) {
            places.of[index(nics[i])] = places.of[index(gpus[i * gpus.size() / nics.size()])];
        }
    }
    for (std::size_t v = 0; v < places.of.size(); ++v) {
        if (places.of[v] == nowhere) {
            places.of[v] = places.count++;
        }
    }
    return places;
}

/// The scale-out links between different places, those of the same two places added up.
std::vector<Pipe> pipes_between(const Fabric& fabric, const Places& places) {
    std::vector<Pipe> pipes;
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        const std::uint32_t from = places.of[index(fabric.from(link))];
        const std::uint32_t to = places.of[index(fabric.to(link))];
        if (fabric.link(link).tier == Tier::scale_out && from < to) {
            pipes.push_back({from, to, fabric.link(link).bandwidth.value});
        }
    }
    std::stable_sort(pipes.begin(), pipes.end(),
                     [](const Pipe& a, const Pipe& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
    std::vector<Pipe> merged;
    for (const Pipe& pipe : pipes) {
        if (!merged.empty() && merged.back().from == pipe.from && merged.back().to == pipe.to) {
            merged.back().bandwidth += pipe.bandwidth;
        } else {
            merged.push_back(pipe);
        }
    }
    return merged;
}

/// Requires: every pipe runs both ways with the same capacity.
double max_flow(const std::vector<Pipe>& pipes, std::uint32_t places) {
    double total = 0;
    for (const Pipe& pipe : pipes) {
        total += pipe.bandwidth;
    }
    if (total == 0) {
        return 0;
    }
    // Whole bytes per second where those are fine enough and fit; a maximum flow of rounded fractions need not end.
    const double unit = total >= 1e9 && total <= 1e18 ? 1.0 : total / 1e18;
    FlowGraph graph(places);
    for (const Pipe& pipe : pipes) {
        const auto capacity = static_cast<Capacity>(std::llround(pipe.bandwidth / unit));
        const auto there = add_edge(pipe.from, pipe.to, FlowEdge{capacity, 0, {}}, graph).first;
        const auto back = add_edge(pipe.to, pipe.from, FlowEdge{capacity, 0, {}}, graph).first;
        graph[there].reverse = back;
        graph[back].reverse = there;
    }
    const Capacity flow = boost::boykov_kolmogorov_max_flow(
        graph, get(&FlowEdge::capacity, graph), get(&FlowEdge::residual, graph), get(&FlowEdge::reverse, graph),
        get(&FlowVertex::predecessor, graph), get(&FlowVertex::colour, graph), get(&FlowVertex::distance, graph),
        get(boost::vertex_index, graph), source, sink);
    return static_cast<double>(flow) * unit;
}

}  // namespace

Bisection bisection(const Fabric& fabric, std::size_t most_links) {
    Bisection result;
    result.first_half = fabric.gpus().size() / 2;
    result.second_half = fabric.gpus().size() - result.first_half;
    if (result.first_half == 0) {
        result.reason = "there is only one GPU";
        return result;
    }
    const Places places = place_vertices(fabric, result.first_half);
    const std::vector<Pipe> pipes = pipes_between(fabric, places);
    if (pipes.empty()) {
        result.reason = "there are no scale-out links";
    } else if (pipes.size() > most_links) {
        result.reason = fmt::format("more than {} links join the switches", most_links);
    } else {
        result.bandwidth = Bandwidth{max_flow(pipes, places.count)};
    }
    return result;
}

}  // namespace lockstep::fabric
