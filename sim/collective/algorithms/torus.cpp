#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/dimensions.h"
#include "sim/collective/grid_programs.h"
#include "sim/collective/ring_programs.h"

// Rings along the dimensions of a torus. One part of the data goes along x, then y, then z; another along y, z, x; a
// third along z, x, y; and each of them once up and once down the rings. So at any time every link of a GPU, 2 for each
// of D dimensions, carries its own part, and the torus moves the data as fast as its links allow. Source: Jain and
// Sabharwal (2010), "Optimal bucket algorithms for large MPI collectives on torus interconnects"; Sack and Gropp
// (2012), "Faster topology-aware collective algorithms through non-minimal communication".

namespace lockstep::collective {

namespace {

std::optional<RankGrid> grid_for(const Communicator& communicator, const Request& request) {
    const auto& asked = request.tuning.dimensions;
    return asked.empty() ? grid_of_links(communicator) : grid_of_extents(communicator, asked);
}

/// How many streams of the ways the links along a dimension carry at full rate: those up and those down have links of
/// their own where the dimension closes. Where it does not, the hop from its last rank to its first goes back over the
/// links of the other direction; and two ranks have one link.
double directions_at_once(const Dimension& dimension) { return dimension.wraps && dimension.extent > 2 ? 2 : 1; }

/// The part of the data that the busiest link carries in one pass. shares: by first dimension.
double busiest(const RankGrid& grid, const std::vector<std::vector<double>>& loads,
               const std::vector<std::uint32_t>& shares) {
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    double most = 0;
    for (std::size_t d = 0; d < grid.dimension_count(); ++d) {
        double load = 0;
        for (std::size_t k = 0; k < shares.size(); ++k) {
            load += shares[k] / total * loads[k][d];
        }
        most = std::max(most, load / directions_at_once(grid.dimensions()[d]));
    }
    return most;
}

/// One way for each dimension to begin with, the others following in turn.
std::vector<GridWay> rotations(std::size_t dimensions) {
    std::vector<GridWay> ways(dimensions);
    for (std::size_t k = 0; k < dimensions; ++k) {
        for (std::size_t i = 0; i < dimensions; ++i) {
            ways[k].order.push_back((k + i) % dimensions);
        }
    }
    return ways;
}

bool all_alike(const RankGrid& grid) {
    const auto& dimensions = grid.dimensions();
    return std::all_of(dimensions.begin(), dimensions.end(),
                       [&](const Dimension& dimension) { return dimension == dimensions.front(); });
}

/// How much of the data begins with each dimension so that the busiest link carries as little as possible: equal shares
/// where dimensions are alike; else the best in 32 parts, which comes within a few percent of the least.
std::vector<std::uint32_t> shares_of(const RankGrid& grid) {
    constexpr std::uint32_t parts = 32;
    constexpr std::size_t most_dimensions = 4;  // 6545 ways to share out; of 5 dimensions there would be 58905
    const std::size_t count = grid.dimension_count();
    std::vector<std::uint32_t> best(count, 1);
    if (count > most_dimensions || all_alike(grid)) {
        return best;
    }
    const auto loads = ring_loads(grid, rotations(count));
    double least = busiest(grid, loads, best);
    std::vector<std::uint32_t> shares(count, 0);
    const auto share_out = [&](auto&& self, std::size_t k, std::uint32_t left) -> void {
        if (k + 1 < count) {
            for (std::uint32_t share = 0; share <= left; ++share) {
                shares[k] = share;
                self(self, k + 1, left - share);
            }
            return;
        }
        shares[k] = left;
        const double load = busiest(grid, loads, shares);
        if (load < least * (1 - 1e-9)) {
            least = load;
            best = shares;
        }
    };
    share_out(share_out, 0, parts);
    const std::uint32_t common = std::accumulate(best.begin(), best.end(), 0U, std::gcd<std::uint32_t, std::uint32_t>);
    std::transform(best.begin(), best.end(), best.begin(), [&](std::uint32_t share) { return share / common; });
    return best;
}

std::vector<GridWay> ways_for(const RankGrid& grid) {
    std::vector<GridWay> ways;
    const std::vector<std::uint32_t> shares = shares_of(grid);
    const std::vector<GridWay> orders = rotations(grid.dimension_count());
    for (std::size_t k = 0; k < orders.size(); ++k) {
        for (const Direction direction : {Direction::up, Direction::down}) {
            if (shares[k] > 0) {
                ways.push_back({.order = orders[k].order, .direction = direction, .share = shares[k]});
            }
        }
    }
    return ways;
}

/// Where dimensions are alike, all ways change from one to the next at the same time, and no link is ever idle. Else
/// pieces fill the gaps: eight are enough, unless messages become so short that latency is all that is left of them
/// (64 KiB take 0.7 us at 90 GB/s).
std::uint32_t pieces_for(const RankGrid& grid, const Request& request) {
    constexpr std::int64_t shortest_message = 64 << 10;
    constexpr std::int64_t most = 8;
    if (request.tuning.pieces || all_alike(grid)) {
        return request.tuning.pieces.value_or(1);
    }
    std::int64_t messages = 0;  // that the data makes in the first step of all ways
    for (const Dimension& dimension : grid.dimensions()) {
        messages += 2 * static_cast<std::int64_t>(dimension.extent);
    }
    return static_cast<std::uint32_t>(
        std::clamp(request.bytes.value / messages / shortest_message, std::int64_t{1}, most));
}

std::uint64_t total_shares(const std::vector<GridWay>& ways) {
    return std::accumulate(ways.begin(), ways.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const GridWay& way) { return sum + way.share; });
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const auto& asked = request.tuning.dimensions;
    if (communicator.size() == 1 && asked.empty()) {
        return std::nullopt;
    }
    const auto grid = grid_for(communicator, request);
    if (!grid) {
        return asked.empty() ? "torus needs GPUs that are linked to their neighbours in a grid or torus, or dimensions "
                               "in which to see them so"
                             : extents_complaint(asked, communicator.size());
    }
    if (auto too_fine = chunk_obstacle(grid->size() * total_shares(ways_for(*grid)), pieces_for(*grid, request))) {
        return too_fine;
    }
    return grid_obstacle(communicator, *grid);
}

Schedule make(const Communicator& communicator, const Request& request) {
    Schedule schedule{.algorithm = "torus",
                      .operation = request.operation,
                      .ranks = static_cast<std::uint32_t>(communicator.size()),
                      .program = [](RankId) { return RankProgram{}; }};
    if (communicator.size() == 1) {
        return schedule;
    }
    RankGrid grid = *grid_for(communicator, request);
    std::vector<GridWay> ways = ways_for(grid);
    const std::uint32_t pieces = pieces_for(grid, request);
    const auto programs =
        std::make_shared<const GridPrograms>(std::move(grid), std::move(ways), request.operation, pieces);
    schedule.channels = programs->channels();
    schedule.chunks = programs->chunks();
    schedule.program = [programs](RankId rank) { return programs->program(rank); };
    return schedule;
}

double messages(const Communicator& communicator, const Request& request) {
    if (communicator.size() == 1) {
        return 0;
    }
    const RankGrid grid = *grid_for(communicator, request);
    return grid_messages(grid, ways_for(grid).size(), pieces_for(grid, request)) *
           (request.operation == Operation::all_reduce ? 2 : 1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    Cost cost{.formula = "nothing to do", .source = "Jain and Sabharwal 2010"};
    if (communicator.size() == 1) {
        return cost;
    }
    const RankGrid grid = *grid_for(communicator, request);
    const auto& dimensions = grid.dimensions();
    const auto n = static_cast<double>(grid.size());
    const double passes = request.operation == Operation::all_reduce ? 2 : 1;
    const std::string factor = passes == 1 ? "" : "2";
    const bool linked = dimensions.front().linked;
    const bool alike = linked && dimensions.front().wraps && all_alike(grid);
    cost.alphas = passes * grid_steps(grid);
    cost.holds = alike && pieces_for(grid, request) == 1 ? Cost::Holds::exactly : Cost::Holds::approximately;
    const auto bytes = passes * static_cast<double>(request.bytes.value);
    if (!linked) {
        cost.bytes = (n - 1) / n * bytes;
        cost.formula = fmt::format("{0}Σ(p-1)α + {0}(n-1)/n S/B, through one port", factor);
        return cost;
    }
    const std::vector<std::uint32_t> shares = shares_of(grid);
    cost.bytes = busiest(grid, ring_loads(grid, rotations(dimensions.size())), shares) * bytes;
    cost.formula =
        alike ? fmt::format("{0}Σ(p-1)α + {0}(n-1)/n S/({1}B)", factor,
                            static_cast<double>(dimensions.size()) * directions_at_once(dimensions.front()))
              : fmt::format("{0}Σ(p-1)α + {0}f S/B, f = {1:.4g} on the busiest link", factor, cost.bytes / bytes);
    return cost;
}

}  // namespace

Algorithm torus_algorithm() {
    return {.name = "torus",
            .summary = "rings along every dimension of a torus, both ways at once: all links of every GPU are busy",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
