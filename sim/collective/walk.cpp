#include "sim/collective/walk.h"

#include <algorithm>
#include <utility>

namespace lockstep::collective {

namespace {

using Path = std::vector<std::uint32_t>;

struct Dimension {
    std::uint32_t extent;
    std::uint32_t stride;  ///< between the numbers of neighbours
};

/// The dimensions of a grid numbered dimension by dimension, fastest first; empty if the links do not look like one.
std::vector<Dimension> grid_dimensions(const DirectLinks& links) {
    std::vector<Dimension> dimensions;
    std::size_t stride = 1;
    while (stride < links.size()) {
        // From place 0 along the dimension: the last of a row is not linked to the first of the next.
        std::size_t extent = 1;
        while ((extent + 1) * stride <= links.size() && links.joins((extent - 1) * stride, extent * stride)) {
            ++extent;
        }
        if (extent == 1 || links.size() % (extent * stride) != 0) {
            return {};
        }
        dimensions.push_back({static_cast<std::uint32_t>(extent), static_cast<std::uint32_t>(stride)});
        stride *= extent;
    }
    return dimensions;
}

/// Back and forth through all dimensions: each step changes one coordinate by one (a reflected Gray code).
Path back_and_forth(const std::vector<Dimension>& dimensions) {
    Path path{0};
    for (const Dimension& dimension : dimensions) {
        const std::size_t layer = path.size();
        for (std::uint32_t at = 1; at < dimension.extent; ++at) {
            // Backwards through the layer just done, one step further along this dimension.
            for (std::size_t i = 0; i < layer; ++i) {
                path.push_back(path[at * layer - 1 - i] + dimension.stride);
            }
        }
    }
    return path;
}

/// A cycle through a grid with an even dimension: out along the rows without their first place, back over the first
/// places.
Path comb(std::vector<Dimension> dimensions, std::size_t even) {
    const Dimension rows = dimensions[even];
    dimensions.erase(dimensions.begin() + static_cast<std::ptrdiff_t>(even));
    const Path row = back_and_forth(dimensions);
    Path path{0};
    for (std::uint32_t at = 0; at < rows.extent; ++at) {
        const std::uint32_t base = at * rows.stride;
        for (std::size_t i = 1; i < row.size(); ++i) {
            path.push_back(base + row[at % 2 == 0 ? i : row.size() - i]);
        }
    }
    for (std::uint32_t at = rows.extent - 1; at > 0; --at) {
        path.push_back(at * rows.stride);
    }
    return path;
}

bool is_path(const DirectLinks& links, const Path& path) {
    for (std::size_t i = 1; i < path.size(); ++i) {
        if (!links.joins(path[i - 1], path[i])) {
            return false;
        }
    }
    return true;
}

std::optional<Path> grid_walk(const DirectLinks& links) {
    const std::vector<Dimension> dimensions = grid_dimensions(links);
    if (dimensions.empty()) {
        return std::nullopt;
    }
    if (dimensions.size() > 1) {
        // The slowest even dimension makes the rows: the walk then stays close to the order of the file.
        for (std::size_t i = dimensions.size(); i-- > 0;) {
            if (dimensions[i].extent % 2 == 0) {
                Path path = comb(dimensions, i);
                if (is_path(links, path)) {
                    return path;
                }
            }
        }
    }
    Path path = back_and_forth(dimensions);
    return is_path(links, path) ? std::optional(std::move(path)) : std::nullopt;
}

std::optional<Path> greedy_walk(const DirectLinks& links) {
    constexpr std::size_t steps_per_gpu = 16;
    const std::size_t size = links.size();
    std::vector<std::uint32_t> ways(size);  // neighbours not yet visited
    for (std::size_t place = 0; place < size; ++place) {
        ways[place] = static_cast<std::uint32_t>(links.out_of(place).size());
    }
    std::vector<bool> visited(size, false);
    Path path;
    std::vector<std::vector<std::uint32_t>> untried;  // for each step of the path, other ways on; the best last
    const auto enter = [&](std::uint32_t place) {
        visited[place] = true;
        path.push_back(place);
        std::vector<std::uint32_t> next;
        for (const DirectLinks::Arc& arc : links.out_of(place)) {
            --ways[arc.to];
            if (!visited[arc.to]) {
                next.push_back(arc.to);
            }
        }
        std::stable_sort(next.begin(), next.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::pair(ways[a], a) > std::pair(ways[b], b);
        });
        untried.push_back(std::move(next));
    };
    enter(0);
    for (std::size_t steps = 0; steps < steps_per_gpu * size && !path.empty(); ++steps) {
        if (path.size() == size) {
            return path;
        }
        if (!untried.back().empty()) {
            const std::uint32_t next = untried.back().back();
            untried.back().pop_back();
            enter(next);
            continue;
        }
        for (const DirectLinks::Arc& arc : links.out_of(path.back())) {
            ++ways[arc.to];
        }
        visited[path.back()] = false;
        path.pop_back();
        untried.pop_back();
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> long_walk(const DirectLinks& links) {
    if (links.empty()) {
        return std::nullopt;
    }
    std::optional<Path> path = grid_walk(links);
    return path ? path : greedy_walk(links);
}

}  // namespace lockstep::collective
