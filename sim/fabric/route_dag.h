#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::fabric {

/// All minimal paths between two ends, as a directed acyclic graph. Vertex 0 is the source, the last vertex the target
/// (for the part of a fabric between switches: the first ones and the last ones); every step goes to a later vertex,
/// and every vertex leads to the target. Paths are counted on it, never enumerated: a fat tree has thousands per pair,
/// a torus has millions.
struct PathDag {
    struct Step {
        LinkId link;
        std::uint32_t to;  ///< a vertex of this graph, by position
    };

    std::vector<std::uint32_t> first{0};  ///< the steps out of vertex v are steps[first[v] .. first[v + 1])
    std::vector<Step> steps;

    std::size_t vertex_count() const { return first.size() - 1; }
    std::span<const Step> steps_from(std::size_t vertex) const {
        return std::span(steps).subspan(first[vertex], first[vertex + 1] - first[vertex]);
    }
    /// Whether there is more than one path.
    bool branches() const;
};

/// The part of a flow that crosses each step when it is split evenly over all paths (parallel links are paths of their
/// own).
std::vector<double> shares_by_count(const PathDag& dag);

/// The same when it is split in proportion to the bandwidth of each path's narrowest link.
/// Cost: one pass over the graph for every different bandwidth in it.
std::vector<double> shares_by_bandwidth(const PathDag& dag, const Fabric& fabric);

/// Appends the path whose busiest link carries the fewest flows; among equals, the first in the order of steps. The
/// links that every path starts or ends with do not count: a busy NIC must not hide which of the switches behind it are
/// free. loads: indexed by LinkId. Cost: the length of the path where the first links looked at are the least loaded,
/// else O(steps).
void append_least_loaded(const PathDag& dag, LinkLoads loads, std::vector<LinkId>& path);

/// Appends the path that takes the first step out of every vertex.
void append_first(const PathDag& dag, std::vector<LinkId>& path);

/// The largest sum of link latencies over all paths.
Seconds slowest_path(const PathDag& dag, const Fabric& fabric);

}  // namespace lockstep::fabric
