#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"

namespace lockstep::collective {

/// One way in which ranks are lined up.
struct Dimension {
    std::uint32_t extent = 1;
    bool linked = false;  ///< neighbours along it have a direct link
    bool wraps = false;   ///< the last has one to the first, too; of two ranks it is the same link

    bool operator==(const Dimension&) const = default;
};

/// Ranks as the points of a grid of any number of dimensions, each of extent 2 or more (of one rank: none). Points are
/// numbered with the first dimension fastest.
class RankGrid {
  public:
    /// rank_at: by point, each rank at most once. Throws: std::invalid_argument unless they are as many as the product
    /// of the extents.
    RankGrid(std::vector<Dimension> dimensions, std::vector<std::uint32_t> rank_at);

    const std::vector<Dimension>& dimensions() const { return dimensions_; }
    std::size_t dimension_count() const { return dimensions_.size(); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(rank_at_.size()); }
    std::uint32_t extent(std::size_t dimension) const { return dimensions_[dimension].extent; }
    /// Between the numbers of points that are neighbours along a dimension.
    std::uint32_t stride(std::size_t dimension) const { return strides_[dimension]; }

    /// Requires: the rank is in the grid.
    std::uint32_t point_of(RankId rank) const { return point_of_[index(rank)]; }
    RankId rank_at(std::uint32_t point) const { return id_at<RankId>(rank_at_[point]); }
    std::uint32_t coordinate(std::uint32_t point, std::size_t dimension) const {
        return point / strides_[dimension] % extent(dimension);
    }
    /// The point that has `coordinate` in `dimension` and the same place in all others.
    std::uint32_t moved(std::uint32_t point, std::size_t dimension, std::uint32_t coordinate_there) const {
        return point + (coordinate_there - coordinate(point, dimension)) * strides_[dimension];
    }

  private:
    std::vector<Dimension> dimensions_;
    std::vector<std::uint32_t> strides_;
    std::vector<std::uint32_t> rank_at_;
    std::vector<std::uint32_t> point_of_;
};

/// The grid or torus that the direct links between the communicator's GPUs form, whatever the order of its ranks: each
/// GPU is linked to its neighbours in every dimension and to no other. Rings of four may also be seen as two dimensions
/// of two; where GPUs are listed dimension by dimension, as files do, they are seen as listed. None if the links form
/// anything else. Cost: O(GPUs * dimensions^2).
std::optional<RankGrid> grid_of_links(const Communicator& communicator);

/// Ranks inside a node, then nodes; None unless all nodes have the same number of ranks. A dimension of extent 1 is
/// left out.
std::optional<RankGrid> grid_of_nodes(const Communicator& communicator);

/// The grid that was asked for. The extents of the grid of links, in any order, mean that grid with its dimensions in
/// this order; others number the ranks, first dimension fastest. None if their product is not the number of ranks.
std::optional<RankGrid> grid_of_extents(const Communicator& communicator, const std::vector<std::uint32_t>& extents);

/// "dimensions 4 x 3 are 12 ranks, but there are 16"
std::string extents_complaint(const std::vector<std::uint32_t>& extents, std::size_t ranks);

}  // namespace lockstep::collective
