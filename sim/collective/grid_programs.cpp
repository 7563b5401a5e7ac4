#include "sim/collective/grid_programs.h"

#include <algorithm>
#include <utility>

#include "sim/collective/reach.h"

namespace lockstep::collective {

namespace {

/// The product of the extents of a way's dimensions from `level` on.
std::uint32_t points_from(const RankGrid& grid, const GridWay& way, std::size_t level) {
    std::uint32_t points = 1;
    for (; level < way.order.size(); ++level) {
        points *= grid.extent(way.order[level]);
    }
    return points;
}

/// The coordinates of a point in a way's dimensions up to and without `level`, as one number, the last fastest.
std::uint32_t prefix_of(const RankGrid& grid, const GridWay& way, std::uint32_t point, std::size_t level) {
    std::uint32_t prefix = 0;
    for (std::size_t i = 0; i < level; ++i) {
        prefix = prefix * grid.extent(way.order[i]) + grid.coordinate(point, way.order[i]);
    }
    return prefix;
}

}  // namespace

GridPrograms::GridPrograms(RankGrid grid, std::vector<GridWay> ways, Operation operation, std::uint32_t pieces)
    : grid_(std::move(grid)), ways_(std::move(ways)), operation_(operation), pieces_(pieces) {
    for (const GridWay& way : ways_) {
        first_share_.push_back(total_shares_);
        total_shares_ += way.share;
    }
    for (std::size_t way = 0; operation_ != Operation::all_reduce && way < ways_.size(); ++way) {
        list_blocks(way);
    }
}

std::uint32_t GridPrograms::channels() const {
    // A pass that adds and a pass that stores use the same connections, but pieces of both are under way at once.
    const bool two_passes_at_once = pieces_ > 1 && operation_ == Operation::all_reduce;
    return static_cast<std::uint32_t>(ways_.size()) * (two_passes_at_once ? 2 : 1);
}

void GridPrograms::list_blocks(std::size_t way_at) {
    const GridWay& way = ways_[way_at];
    auto& levels = lists_.emplace_back(way.order.size());
    for (std::size_t level = 0; level < way.order.size(); ++level) {
        const std::uint32_t prefixes = grid_.size() / points_from(grid_, way, level + 1);
        std::vector<std::vector<std::uint32_t>> chunks(std::size_t{pieces_} * prefixes);
        for (std::uint32_t point = 0; point < grid_.size(); ++point) {
            const std::uint32_t prefix = prefix_of(grid_, way, point, level + 1);
            const auto block = static_cast<std::uint32_t>(grid_.rank_at(point)) * total_shares_ * pieces_;
            for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
                auto& list = chunks[std::size_t{piece} * prefixes + prefix];
                for (std::uint32_t share = 0; share < way.share; ++share) {
                    list.push_back(block + piece * total_shares_ + first_share_[way_at] + share);
                }
            }
        }
        for (auto& list : chunks) {
            levels[level].push_back(std::make_shared<const std::vector<std::uint32_t>>(std::move(list)));
        }
    }
}

std::vector<GridPrograms::Phase> GridPrograms::phases(const GridWay& way) const {
    std::vector<Phase> phases;
    for (std::size_t level = 0; operation_ != Operation::all_gather && level < way.order.size(); ++level) {
        phases.push_back({level, Verb::receive_reduce});
    }
    for (std::size_t level = way.order.size(); operation_ != Operation::reduce_scatter && level-- > 0;) {
        phases.push_back({level, Verb::receive});
    }
    return phases;
}

/// A ring pass over blocks that are consecutive: of an all-reduce, where it does not matter which rank completes which.
/// A rank completes the blocks that have its coordinates, so that each level goes on within what the last has left it.
Block GridPrograms::pass(std::size_t way_at, const Phase& phase, std::uint32_t point) const {
    const GridWay& way = ways_[way_at];
    const std::size_t dimension = way.order[phase.level];
    const std::uint32_t extent = grid_.extent(dimension);
    const std::uint32_t at = grid_.coordinate(point, dimension);
    const bool up = way.direction == Direction::up;
    const std::uint32_t towards = up ? 1 : extent - 1;
    // An adding pass starts with the block before the rank's own, so that its own comes last.
    const std::uint32_t sent_first = phase.take == Verb::receive ? at : (at + extent - towards) % extent;
    const std::uint32_t run = points_from(grid_, way, phase.level + 1) * way.share;
    ChunkIndex sent{
        .offset = first_share_[way_at] * grid_.size() + prefix_of(grid_, way, point, phase.level) * extent * run,
        .first = sent_first,
        .stride = up ? -1 : 1,
        .modulus = extent,
        .scale = run};
    ChunkIndex taken = sent;
    taken.first = (sent_first + extent - towards) % extent;
    const RankId next = grid_.rank_at(grid_.moved(point, dimension, (at + towards) % extent));
    const RankId previous = grid_.rank_at(grid_.moved(point, dimension, (at + extent - towards) % extent));
    return {.iterations = extent - 1,
            .body = {{.verb = Verb::send, .peer = next, .chunk = sent, .count = run},
                     {.verb = phase.take, .peer = previous, .chunk = taken, .count = run}}};
}

/// The same step by step over the lists of blocks that have the rank's coordinates so far and one more.
std::vector<Block> GridPrograms::listed_pass(std::size_t way_at, const Phase& phase, std::uint32_t point,
                                             std::uint32_t piece) const {
    const GridWay& way = ways_[way_at];
    const Block loop = pass(way_at, phase, point);
    const std::uint32_t extent = grid_.extent(way.order[phase.level]);
    const auto& lists = lists_[way_at][phase.level];
    const std::size_t first =
        std::size_t{piece} * (lists.size() / pieces_) + std::size_t{prefix_of(grid_, way, point, phase.level)} * extent;
    std::vector<Block> blocks(1);
    for (std::uint32_t step = 0; step < loop.iterations; ++step) {
        for (Instruction instruction : loop.body) {
            const std::uint32_t coordinate =
                (instruction.chunk.at(step) - instruction.chunk.offset) / instruction.count;
            instruction.chunks = lists[first + coordinate];
            instruction.chunk = {};
            instruction.count = 1;
            blocks.front().body.push_back(std::move(instruction));
        }
    }
    return blocks;
}

RankProgram GridPrograms::program(RankId rank) const {
    RankProgram program;
    if (grid_.dimension_count() == 0) {
        return program;
    }
    const std::uint32_t point = grid_.point_of(rank);
    const bool listed = operation_ != Operation::all_reduce;
    const auto blocks_of = [&](std::size_t way, const Phase& phase, std::uint32_t piece) {
        return listed ? listed_pass(way, phase, point, piece) : std::vector<Block>{pass(way, phase, point)};
    };
    std::uint32_t event = 0;
    for (std::size_t way = 0; way < ways_.size(); ++way) {
        const std::vector<Phase> all = phases(ways_[way]);
        const auto channel = static_cast<std::uint32_t>(way * channels() / ways_.size());
        if (pieces_ == 1) {
            Thread& thread = program.emplace_back(Thread{.channel = channel});
            for (const Phase& phase : all) {
                for (Block& block : blocks_of(way, phase, 0)) {
                    thread.blocks.push_back(std::move(block));
                }
            }
            continue;
        }
        for (std::size_t at = 0; at < all.size(); ++at) {
            const bool storing_beside_adding = !listed && all[at].take == Verb::receive;
            Thread& thread = program.emplace_back(Thread{.channel = channel + (storing_beside_adding ? 1 : 0)});
            const auto add_piece = [&](std::uint32_t piece) {
                if (at > 0) {
                    thread.blocks.push_back({.body = {{.verb = Verb::wait, .event = event - 1}}});
                }
                for (Block& block : blocks_of(way, all[at], piece)) {
                    thread.blocks.push_back(std::move(block));
                }
                if (at + 1 < all.size()) {
                    thread.blocks.push_back({.body = {{.verb = Verb::signal, .event = event}}});
                }
            };
            if (listed) {
                for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
                    add_piece(piece);
                }
            } else {
                thread.rounds = pieces_;
                thread.round_stride = grid_.size() * total_shares_;
                add_piece(0);
            }
            event += at + 1 < all.size() ? 1 : 0;
        }
    }
    return program;
}

std::vector<std::vector<double>> ring_loads(const RankGrid& grid, const std::vector<GridWay>& ways) {
    std::vector<std::vector<double>> loads;
    for (const GridWay& way : ways) {
        auto& of_way = loads.emplace_back(grid.dimension_count(), 0.0);
        double left = 1;
        for (const std::size_t dimension : way.order) {
            const double extent = grid.extent(dimension);
            of_way[dimension] = left * (extent - 1) / extent;
            left /= extent;
        }
    }
    return loads;
}

double grid_steps(const RankGrid& grid) {
    double steps = 0;
    for (const Dimension& dimension : grid.dimensions()) {
        steps += dimension.extent - 1;
    }
    return steps;
}

double grid_messages(const RankGrid& grid, std::size_t ways, std::uint32_t pieces) {
    return grid_steps(grid) * static_cast<double>(grid.size()) * static_cast<double>(ways) * pieces;
}

std::optional<std::string> grid_obstacle(const Communicator& communicator, const RankGrid& grid) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (std::uint32_t point = 0; point < grid.size(); ++point) {
        for (std::size_t d = 0; d < grid.dimension_count(); ++d) {
            const RankId here = grid.rank_at(point);
            const RankId next = grid.rank_at(grid.moved(point, d, (grid.coordinate(point, d) + 1) % grid.extent(d)));
            if (!reach.joins(here, next)) {
                return reach.complaint(here, next);
            }
        }
    }
    return std::nullopt;
}

}  // namespace lockstep::collective
