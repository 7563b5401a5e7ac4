#include "sim/fabric/route_dag.h"

#include <algorithm>
#include <limits>

namespace lockstep::fabric {
namespace {

// How many paths lead from each vertex to the target over steps that `usable` accepts. Counts grow exponentially with
// the length of a path: a long double holds them for any fabric that could be built, and only ratios of them are used.
template <class Usable>
std::vector<long double> path_counts(const PathDag& dag, Usable usable) {
    std::vector<long double> counts(dag.vertex_count(), 0.0L);
    counts.back() = 1.0L;
    for (std::size_t v = dag.vertex_count() - 1; v-- > 0;) {
        for (const PathDag::Step& step : dag.steps_from(v)) {
            if (usable(step)) {
                counts[v] += counts[step.to];
            }
        }
    }
    return counts;
}

// Adds `weight` to the shares, split evenly over the paths that were counted.
template <class Usable>
void add_shares(const PathDag& dag, const std::vector<long double>& counts, double weight, Usable usable,
                std::vector<double>& shares) {
    std::vector<double> through(dag.vertex_count(), 0.0);
    through[0] = weight;
    for (std::size_t v = 0; v < dag.vertex_count(); ++v) {
        if (through[v] == 0.0) {
            continue;
        }
        for (std::size_t s = dag.first[v]; s < dag.first[v + 1]; ++s) {
            const PathDag::Step& step = dag.steps[s];
            if (usable(step) && counts[step.to] > 0.0L) {
                const double part = through[v] * static_cast<double>(counts[step.to] / counts[v]);
                shares[s] += part;
                through[step.to] += part;
            }
        }
    }
}

// The part of the graph between the links that every path starts with and those that every path ends with.
struct Stretch {
    std::uint32_t from;
    std::uint32_t to;
};

Stretch stretch_with_choices(const PathDag& dag) {
    Stretch stretch{0, static_cast<std::uint32_t>(dag.vertex_count() - 1)};
    while (stretch.from != stretch.to && dag.steps_from(stretch.from).size() == 1) {
        stretch.from = dag.steps[dag.first[stretch.from]].to;
    }
    // Vertices stand in order of their distance to the target. So if the one before last has a single link, and the one
    // before that does not lead to the target, all paths come through it.
    while (stretch.to > stretch.from + 1 && dag.steps_from(stretch.to - 1).size() == 1 &&
           dag.steps[dag.first[stretch.to - 2]].to != stretch.to) {
        --stretch.to;
    }
    return stretch;
}

// Appends the first path with no load above the limit. Returns: whether there is one.
bool append_within(const PathDag& dag, Stretch stretch, LinkLoads loads, std::uint32_t limit,
                   std::vector<LinkId>& path) {
    std::vector<bool> tried(dag.vertex_count(), false);
    std::vector<std::uint32_t> taken;  // steps, by position
    std::uint32_t at = stretch.from;
    std::uint32_t next = dag.first[at];
    while (at != stretch.to) {
        while (next < dag.first[at + 1] && (tried[dag.steps[next].to] || loads[index(dag.steps[next].link)] > limit)) {
            ++next;
        }
        if (next < dag.first[at + 1]) {
            taken.push_back(next);
            at = dag.steps[next].to;
            tried[at] = true;
            next = dag.first[at];
        } else if (taken.empty()) {
            return false;
        } else {  // nothing leads on: back to where the last step began
            next = taken.back() + 1;
            taken.pop_back();
            at = taken.empty() ? stretch.from : dag.steps[taken.back()].to;
        }
    }
    for (const std::uint32_t step : taken) {
        path.push_back(dag.steps[step].link);
    }
    return true;
}

// The load of the busiest link of the path for which that is least.
std::uint32_t least_maximum(const PathDag& dag, Stretch stretch, LinkLoads loads) {
    std::vector<std::uint32_t> busiest(dag.vertex_count(), std::numeric_limits<std::uint32_t>::max());
    busiest[stretch.to] = 0;
    for (std::uint32_t v = stretch.to; v-- > stretch.from;) {
        for (const PathDag::Step& step : dag.steps_from(v)) {
            busiest[v] = std::min(busiest[v], std::max(loads[index(step.link)], busiest[step.to]));
        }
    }
    return busiest[stretch.from];
}

}  // namespace

bool PathDag::branches() const { return steps.size() + 1 > vertex_count(); }

std::vector<double> shares_by_count(const PathDag& dag) {
    const auto every = [](const PathDag::Step&) { return true; };
    std::vector<double> shares(dag.steps.size(), 0.0);
    add_shares(dag, path_counts(dag, every), 1.0, every, shares);
    return shares;
}

std::vector<double> shares_by_bandwidth(const PathDag& dag, const Fabric& fabric) {
    std::vector<double> levels;
    for (const PathDag::Step& step : dag.steps) {
        levels.push_back(fabric.link(step.link).bandwidth.value);
    }
    const std::vector<double> bandwidths = levels;
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (levels.size() < 2) {
        return shares_by_count(dag);
    }
    // A path's narrowest link is the sum of the rises between the levels that all its links reach. So the split by
    // bandwidth is a sum, over levels, of even splits over the paths that reach the level, each weighed by its rise and
    // by how many they are.
    std::vector<double> shares(dag.steps.size(), 0.0);
    double total = 0.0;
    double below = 0.0;
    for (const double level : levels) {
        const auto reaches = [&](const PathDag::Step& step) {
            return bandwidths[static_cast<std::size_t>(&step - dag.steps.data())] >= level;
        };
        const std::vector<long double> counts = path_counts(dag, reaches);
        if (counts.front() == 0.0L) {
            break;
        }
        const double weight = (level - below) * static_cast<double>(counts.front());
        add_shares(dag, counts, weight, reaches, shares);
        total += weight;
        below = level;
    }
    for (double& share : shares) {
        share /= total;
    }
    return shares;
}

void append_least_loaded(const PathDag& dag, LinkLoads loads, std::vector<LinkId>& path) {
    const Stretch stretch = stretch_with_choices(dag);
    for (std::uint32_t v = 0; v != stretch.from; v = dag.steps[dag.first[v]].to) {
        path.push_back(dag.steps[dag.first[v]].link);
    }
    if (stretch.from != stretch.to) {
        // No path has less than the least loaded of the first steps: mostly that will do, and a glance finds the path.
        std::uint32_t limit = std::numeric_limits<std::uint32_t>::max();
        for (const PathDag::Step& step : dag.steps_from(stretch.from)) {
            limit = std::min(limit, loads[index(step.link)]);
        }
        if (!append_within(dag, stretch, loads, limit, path)) {
            append_within(dag, stretch, loads, least_maximum(dag, stretch, loads), path);
        }
    }
    for (std::uint32_t v = stretch.to; v + 1 < dag.vertex_count(); ++v) {
        path.push_back(dag.steps[dag.first[v]].link);
    }
}

void append_first(const PathDag& dag, std::vector<LinkId>& path) {
    for (std::size_t v = 0; v + 1 < dag.vertex_count(); v = dag.steps_from(v).front().to) {
        path.push_back(dag.steps_from(v).front().link);
    }
}

Seconds slowest_path(const PathDag& dag, const Fabric& fabric) {
    std::vector<Seconds> rest(dag.vertex_count());
    for (std::size_t v = dag.vertex_count() - 1; v-- > 0;) {
        for (const PathDag::Step& step : dag.steps_from(v)) {
            rest[v] = std::max(rest[v], fabric.link(step.link).latency + rest[step.to]);
        }
    }
    return rest.front();
}

}  // namespace lockstep::fabric
