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
    std::vector<std::uint32_t> busiest(dag.vertex_count(), std::numeric_limits<std::uint32_t>::max());
    std::vector<std::uint32_t> best(dag.vertex_count(), 0);
    busiest.back() = 0;
    for (std::size_t v = dag.vertex_count() - 1; v-- > 0;) {
        for (std::uint32_t s = dag.first[v]; s < dag.first[v + 1]; ++s) {
            const std::uint32_t load = std::max(loads[index(dag.steps[s].link)], busiest[dag.steps[s].to]);
            if (s == dag.first[v] || load < busiest[v]) {
                busiest[v] = load;
                best[v] = s;
            }
        }
    }
    for (std::size_t v = 0; v + 1 < dag.vertex_count(); v = dag.steps[best[v]].to) {
        path.push_back(dag.steps[best[v]].link);
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
