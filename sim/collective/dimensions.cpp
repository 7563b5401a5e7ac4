#include "sim/collective/dimensions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/collective/direct_links.h"

namespace lockstep::collective {

namespace {

using Places = std::vector<std::uint32_t>;

std::uint64_t product(const std::vector<std::uint32_t>& extents) {
    std::uint64_t points = 1;
    for (const std::uint32_t extent : extents) {
        if (extent > 0 && points > std::numeric_limits<std::uint32_t>::max() / extent) {
            return std::numeric_limits<std::uint64_t>::max();
        }
        points *= extent;
    }
    return points;
}

/// Extents with the places of a list of GPUs in the order of points.
struct Shape {
    std::vector<std::uint32_t> extents = {};
    Places place_at = {};
};

/// The dimensions as the links have them, if they link neighbours and nothing else.
std::optional<std::vector<Dimension>> linked_dimensions(const DirectLinks& links, const Shape& shape) {
    std::vector<Dimension> dimensions;
    std::size_t stride = 1;
    std::size_t arcs = 0;
    for (const std::uint32_t extent : shape.extents) {
        std::size_t closing = 0;
        std::size_t rows = 0;
        for (std::size_t point = 0; point < shape.place_at.size(); ++point) {
            const std::size_t at = point / stride % extent;
            const std::size_t next = at + 1 < extent ? point + stride : point - at * stride;
            const bool forth = links.joins(shape.place_at[point], shape.place_at[next]);
            const bool back = links.joins(shape.place_at[next], shape.place_at[point]);
            if (forth != back || (at + 1 < extent && !forth)) {
                return std::nullopt;
            }
            if (at + 1 == extent) {
                ++rows;
                closing += forth ? 1 : 0;
            }
        }
        if (closing != 0 && closing != rows) {
            return std::nullopt;
        }
        const bool wraps = closing == rows;
        dimensions.push_back({extent, true, wraps});
        // Of two places, the closing link is the one that joins them anyway.
        arcs += 2 * rows * (extent - 1 + (wraps && extent > 2 ? 1 : 0));
        stride *= extent;
    }
    std::size_t all_arcs = 0;
    for (std::size_t place = 0; place < links.size(); ++place) {
        all_arcs += links.out_of(place).size();
    }
    return arcs == all_arcs ? std::optional(std::move(dimensions)) : std::nullopt;
}

/// Of GPUs listed dimension by dimension, fastest first: along a dimension from the first place on, until the link to
/// the next is missing.
std::optional<Shape> listed_shape(const DirectLinks& links) {
    Shape shape;
    std::size_t stride = 1;
    while (stride < links.size()) {
        std::size_t extent = 1;
        while ((extent + 1) * stride <= links.size() && links.joins((extent - 1) * stride, extent * stride)) {
            ++extent;
        }
        if (extent == 1 || links.size() % (extent * stride) != 0) {
            return std::nullopt;
        }
        shape.extents.push_back(static_cast<std::uint32_t>(extent));
        stride *= extent;
    }
    shape.place_at.resize(links.size());
    std::iota(shape.place_at.begin(), shape.place_at.end(), 0U);
    return shape;
}

/// Finds the dimensions of a product of paths and rings whose places are in any order. Two links of a place belong to
/// different dimensions exactly when they are two sides of a square; following squares carries directions from place to
/// place. A ring of four is a product of two pairs, and is found as such.
class SquareSearch {
  public:
    explicit SquareSearch(const DirectLinks& links) : links_(links) {}

    std::optional<Shape> shape() {
        // A place with the fewest links is a corner: dimensions that do not wrap begin there.
        std::uint32_t corner = 0;
        for (std::uint32_t place = 1; place < links_.size(); ++place) {
            if (links_.out_of(place).size() < links_.out_of(corner).size()) {
                corner = place;
            }
        }
        if (!find_directions(corner)) {
            return std::nullopt;
        }
        toward_.assign(links_.size(), {});
        toward_[corner] = first_;
        Shape shape{.place_at = {corner}};
        for (std::size_t d = 0; d < first_.size() / 2; ++d) {
            const Places layer = shape.place_at;
            Places here = layer;
            std::uint32_t extent = 1;
            while (const auto next = step(here, d)) {
                if (next->front() == layer.front()) {
                    break;
                }
                if (shape.place_at.size() + next->size() > links_.size()) {
                    return std::nullopt;
                }
                shape.place_at.insert(shape.place_at.end(), next->begin(), next->end());
                here = *next;
                ++extent;
            }
            shape.extents.push_back(extent);
        }
        Places seen = shape.place_at;
        std::sort(seen.begin(), seen.end());
        const bool once = std::adjacent_find(seen.begin(), seen.end()) == seen.end();
        return once && seen.size() == links_.size() ? std::optional(std::move(shape)) : std::nullopt;
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    /// The fourth corner of the square with corner `a` and its neighbours `b` and `c`.
    std::optional<std::uint32_t> opposite(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        for (const DirectLinks::Arc& arc : links_.out_of(b)) {
            if (arc.to != a && arc.to != c && links_.joins(c, arc.to) && !links_.joins(a, arc.to)) {
                return arc.to;
            }
        }
        return std::nullopt;
    }

    /// Sets first_: the neighbours of the corner, one up and one down for each dimension.
    bool find_directions(std::uint32_t corner) {
        std::vector<Places> dimensions;
        for (const DirectLinks::Arc& arc : links_.out_of(corner)) {
            const auto same = std::find_if(dimensions.begin(), dimensions.end(), [&](const Places& dimension) {
                return !opposite(corner, dimension.front(), arc.to);
            });
            if (same == dimensions.end()) {
                dimensions.push_back({arc.to});
            } else {
                same->push_back(arc.to);
            }
        }
        for (const Places& dimension : dimensions) {
            if (dimension.size() > 2) {
                return false;
            }
            first_.push_back(dimension.front());
            first_.push_back(dimension.size() == 2 ? dimension.back() : none);
        }
        return !first_.empty();
    }

    /// A layer of places one step up along a dimension, with their directions found; none where links end.
    std::optional<Places> step(const Places& layer, std::size_t dimension) {
        Places next;
        for (const std::uint32_t place : layer) {
            const std::uint32_t to = toward_[place][2 * dimension];
            if (to == none) {
                return std::nullopt;
            }
            if (toward_[to].empty()) {
                toward_[to] = directions_after(place, to, dimension);
            }
            next.push_back(to);
        }
        return next;
    }

    Places directions_after(std::uint32_t place, std::uint32_t to, std::size_t dimension) const {
        Places directions(first_.size(), none);
        for (std::size_t side = 0; side < directions.size(); ++side) {
            const std::uint32_t neighbour = toward_[place][side];
            if (side / 2 != dimension && neighbour != none) {
                directions[side] = opposite(place, to, neighbour).value_or(none);
            }
        }
        directions[2 * dimension + 1] = place;
        // What is left leads on.
        for (const DirectLinks::Arc& arc : links_.out_of(to)) {
            if (std::find(directions.begin(), directions.end(), arc.to) == directions.end()) {
                directions[2 * dimension] = arc.to;
            }
        }
        return directions;
    }

    const DirectLinks& links_;
    Places first_ = {};                ///< neighbours of the corner, by 2 * dimension + (0 up, 1 down)
    std::vector<Places> toward_ = {};  ///< by place: the same
};

}  // namespace

RankGrid::RankGrid(std::vector<Dimension> dimensions, std::vector<std::uint32_t> rank_at)
    : dimensions_(std::move(dimensions)), rank_at_(std::move(rank_at)) {
    std::uint32_t stride = 1;
    for (const Dimension& dimension : dimensions_) {
        strides_.push_back(stride);
        stride *= dimension.extent;
    }
    if (stride != rank_at_.size()) {
        throw std::invalid_argument(fmt::format("a grid of {} points for {} ranks", stride, rank_at_.size()));
    }
    point_of_.resize(std::size_t{*std::max_element(rank_at_.begin(), rank_at_.end())} + 1);
    for (std::uint32_t point = 0; point < rank_at_.size(); ++point) {
        point_of_[rank_at_[point]] = point;
    }
}

std::optional<RankGrid> grid_of_links(const Communicator& communicator) {
    if (communicator.size() < 2) {
        return std::nullopt;
    }
    // In the order of the fabric, which is that of the file.
    std::vector<std::uint32_t> ranks(communicator.size());
    std::iota(ranks.begin(), ranks.end(), 0U);
    std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
        return communicator.gpu(id_at<RankId>(a)) < communicator.gpu(id_at<RankId>(b));
    });
    std::vector<VertexId> gpus;
    gpus.reserve(ranks.size());
    for (const std::uint32_t rank : ranks) {
        gpus.push_back(communicator.gpu(id_at<RankId>(rank)));
    }
    const DirectLinks links(communicator.fabric(), gpus);
    if (links.empty()) {
        return std::nullopt;
    }
    std::optional<Shape> shape = listed_shape(links);
    std::optional<std::vector<Dimension>> dimensions = shape ? linked_dimensions(links, *shape) : std::nullopt;
    if (!dimensions) {
        shape = SquareSearch(links).shape();
        dimensions = shape ? linked_dimensions(links, *shape) : std::nullopt;
    }
    if (!dimensions) {
        return std::nullopt;
    }
    std::vector<std::uint32_t> rank_at;
    rank_at.reserve(shape->place_at.size());
    for (const std::uint32_t place : shape->place_at) {
        rank_at.push_back(ranks[place]);
    }
    return RankGrid(std::move(*dimensions), std::move(rank_at));
}

std::optional<RankGrid> grid_of_nodes(const Communicator& communicator) {
    const auto& nodes = communicator.nodes();
    std::vector<std::uint32_t> rank_at;
    for (const auto& node : nodes) {
        if (node.size() != nodes.front().size()) {
            return std::nullopt;
        }
        for (const RankId rank : node) {
            rank_at.push_back(static_cast<std::uint32_t>(rank));
        }
    }
    std::vector<Dimension> dimensions;
    for (const std::size_t extent : {nodes.front().size(), nodes.size()}) {
        if (extent > 1) {
            dimensions.push_back({.extent = static_cast<std::uint32_t>(extent)});
        }
    }
    return RankGrid(std::move(dimensions), std::move(rank_at));
}

std::optional<RankGrid> grid_of_extents(const Communicator& communicator, const std::vector<std::uint32_t>& extents) {
    if (product(extents) != communicator.size()) {
        return std::nullopt;
    }
    std::vector<std::uint32_t> asked;
    std::copy_if(extents.begin(), extents.end(), std::back_inserter(asked),
                 [](std::uint32_t extent) { return extent > 1; });
    const auto links = grid_of_links(communicator);
    // For each dimension asked for, the first of the links' that is as long and still free.
    std::vector<std::size_t> matched;
    for (std::size_t i = 0; links && i < asked.size(); ++i) {
        for (std::size_t d = 0; d < links->dimension_count(); ++d) {
            if (links->extent(d) == asked[i] && std::find(matched.begin(), matched.end(), d) == matched.end()) {
                matched.push_back(d);
                break;
            }
        }
    }
    if (links && matched.size() == asked.size() && matched.size() == links->dimension_count()) {
        std::vector<Dimension> dimensions;
        for (const std::size_t d : matched) {
            dimensions.push_back(links->dimensions()[d]);
        }
        std::vector<std::uint32_t> rank_at;
        for (std::uint32_t point = 0; point < links->size(); ++point) {
            std::uint32_t rest = point;
            std::uint32_t there = 0;
            for (const std::size_t d : matched) {
                there += rest % links->extent(d) * links->stride(d);
                rest /= links->extent(d);
            }
            rank_at.push_back(static_cast<std::uint32_t>(links->rank_at(there)));
        }
        return RankGrid(std::move(dimensions), std::move(rank_at));
    }
    std::vector<Dimension> dimensions;
    for (const std::uint32_t extent : asked) {
        dimensions.push_back({.extent = extent});
    }
    std::vector<std::uint32_t> rank_at(communicator.size());
    std::iota(rank_at.begin(), rank_at.end(), 0U);
    return RankGrid(std::move(dimensions), std::move(rank_at));
}

std::string extents_complaint(const std::vector<std::uint32_t>& extents, std::size_t ranks) {
    const std::uint64_t points = product(extents);
    if (points == std::numeric_limits<std::uint64_t>::max()) {
        return fmt::format("dimensions {} are far more than the {} ranks", fmt::join(extents, " x "), ranks);
    }
    return fmt::format("dimensions {} are {} ranks, but there are {}", fmt::join(extents, " x "), points, ranks);
}

}  // namespace lockstep::collective
