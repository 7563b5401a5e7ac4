#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/dimensions.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// Which way round its rings a part of the data goes: to the next coordinate, or to the one before.
enum class Direction : std::uint8_t { up, down };

/// How one part of the data goes through a grid: rings along the dimensions in this order (a reduce-scatter; an
/// all-gather in the opposite order), in one direction.
struct GridWay {
    std::vector<std::size_t> order = {};  ///< each dimension of the grid once
    Direction direction = Direction::up;
    std::uint32_t share = 1;  ///< of the data, in shares of which all ways together have `total_shares`
};

/// Rings along the dimensions of a grid: a reduce-scatter along the first leaves each ring's ranks with sums of
/// disjoint blocks, on which the rings along the second go on, and so on. Each way has channels of its own, so that
/// ways run side by side. Cut into pieces, the data of a way flows through its dimensions like through a pipeline: a
/// thread for each dimension passes finished pieces on to the next.
class GridPrograms {
  public:
    /// Requires: at least one way, pieces >= 1.
    GridPrograms(RankGrid grid, std::vector<GridWay> ways, Operation operation, std::uint32_t pieces);

    const RankGrid& grid() const { return grid_; }
    std::uint32_t chunks() const { return grid_.size() * total_shares_ * pieces_; }
    std::uint32_t channels() const;
    /// Of all_reduce, reduce_scatter or all_gather, as given.
    RankProgram program(RankId rank) const;

  private:
    using List = std::shared_ptr<const std::vector<std::uint32_t>>;

    /// One pass round the rings of one dimension.
    struct Phase {
        std::size_t level = 0;  ///< place of the dimension in the way's order
        Verb take = Verb::receive_reduce;
    };

    std::vector<Phase> phases(const GridWay& way) const;
    Block pass(std::size_t way_at, const Phase& phase, std::uint32_t point) const;
    std::vector<Block> listed_pass(std::size_t way_at, const Phase& phase, std::uint32_t point,
                                   std::uint32_t piece) const;
    void list_blocks(std::size_t way_at);

    RankGrid grid_;
    std::vector<GridWay> ways_;
    Operation operation_;
    std::uint32_t pieces_;
    std::uint32_t total_shares_ = 0;
    std::vector<std::uint32_t> first_share_;  ///< by way
    /// Of operations whose blocks belong to ranks: by way, level, piece and the coordinates in the dimensions up to
    /// that level (the last fastest): the chunks of all ranks that have them. Shared by all programs.
    std::vector<std::vector<std::vector<List>>> lists_ = {};
};

/// By way, then dimension: what part of a way's data its rings along the dimension carry in one pass, (p-1)/p over the
/// extents of the dimensions before.
std::vector<std::vector<double>> ring_loads(const RankGrid& grid, const std::vector<GridWay>& ways);

/// Messages of one pass of everything, from all ranks.
double grid_messages(const RankGrid& grid, std::size_t ways, std::uint32_t pieces);

/// Steps of one pass, one after the other: the sum of p - 1 over the dimensions.
double grid_steps(const RankGrid& grid);

/// The complaint about the first hop of a ring along a dimension that no path joins.
std::optional<std::string> grid_obstacle(const Communicator& communicator, const RankGrid& grid);

}  // namespace lockstep::collective
