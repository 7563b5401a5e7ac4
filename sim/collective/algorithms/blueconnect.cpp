#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/dimensions.h"
#include "sim/collective/grid_programs.h"
#include "sim/collective/ring_programs.h"

// An all-reduce over n = p1 p2 ... pD ranks as a reduce-scatter in rings of p1, one in rings of p2 on what that has
// left, and so on; then all-gathers back. The first dimension, which moves most, is the one with the fastest links: the
// GPUs of a node. Cut into pieces, while one moves between nodes the next moves inside. Source: Cho, Finkler, Kung and
// Hunter (2019), "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy".

namespace lockstep::collective {

namespace {

std::optional<RankGrid> grid_for(const Communicator& communicator, const Request& request) {
    if (!request.tuning.dimensions.empty()) {
        return grid_of_extents(communicator, request.tuning.dimensions);
    }
    auto grid = grid_of_links(communicator);
    return grid ? grid : grid_of_nodes(communicator);
}

/// Pieces overlap what moves in different dimensions, so they only help where those have links of their own: inside
/// and between nodes. A piece should not be so short that latency is all that is left of it: 256 KiB for each rank, as
/// for `hierarchical`.
std::uint32_t pieces_for(const Communicator& communicator, const Request& request) {
    constexpr std::int64_t shortest_message = 256 << 10;
    constexpr std::int64_t most = 8;
    if (request.tuning.pieces) {
        return *request.tuning.pieces;
    }
    if (communicator.nodes().size() == 1 || communicator.nodes().front().size() == 1) {
        return 1;
    }
    const auto ranks = static_cast<std::int64_t>(communicator.size());
    return static_cast<std::uint32_t>(
        std::clamp(request.bytes.value / ranks / shortest_message, std::int64_t{1}, most));
}

GridWay dimension_by_dimension(const RankGrid& grid) {
    GridWay way{.order = std::vector<std::size_t>(grid.dimension_count())};
    std::iota(way.order.begin(), way.order.end(), std::size_t{0});
    return way;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const auto& asked = request.tuning.dimensions;
    const auto grid = grid_for(communicator, request);
    if (!grid) {
        return asked.empty() ? "blueconnect needs nodes with the same number of ranks each, or dimensions"
                             : extents_complaint(asked, communicator.size());
    }
    if (asked.empty() && communicator.size() > 1 && grid->dimension_count() < 2) {
        return "blueconnect needs several nodes of several ranks, a torus, or dimensions";
    }
    if (auto too_fine = chunk_obstacle(grid->size(), pieces_for(communicator, request))) {
        return too_fine;
    }
    return grid_obstacle(communicator, *grid);
}

Schedule make(const Communicator& communicator, const Request& request) {
    RankGrid grid = *grid_for(communicator, request);
    std::vector<GridWay> ways{dimension_by_dimension(grid)};
    const auto programs = std::make_shared<const GridPrograms>(std::move(grid), std::move(ways), request.operation,
                                                               pieces_for(communicator, request));
    return {.algorithm = "blueconnect",
            .operation = request.operation,
            .ranks = programs->grid().size(),
            .channels = programs->channels(),
            .chunks = programs->chunks(),
            .program = [programs](RankId rank) { return programs->program(rank); }};
}

double messages(const Communicator& communicator, const Request& request) {
    return grid_messages(*grid_for(communicator, request), 1, pieces_for(communicator, request)) *
           (request.operation == Operation::all_reduce ? 2 : 1);
}

/// Through one port, the dimensions' parts add up to (n-1)/n of the data, whatever the dimensions.
Cost cost(const Communicator& communicator, const Request& request) {
    const RankGrid grid = *grid_for(communicator, request);
    const auto n = static_cast<double>(grid.size());
    const double passes = request.operation == Operation::all_reduce ? 2 : 1;
    std::vector<std::uint32_t> extents;
    for (const Dimension& dimension : grid.dimensions()) {
        extents.push_back(dimension.extent);
    }
    return {.alphas = passes * grid_steps(grid),
            .bytes = passes * (n - 1) / n * static_cast<double>(request.bytes.value),
            .holds = pieces_for(communicator, request) == 1 ? Cost::Holds::exactly : Cost::Holds::approximately,
            .formula =
                fmt::format("{0}Σ(p-1)α + {0}(n-1)/n S/B, p = {1}", passes == 1 ? "" : "2", fmt::join(extents, ", ")),
            .source = "Cho, Finkler, Kung and Hunter 2019"};
}

}  // namespace

Algorithm blueconnect_algorithm() {
    return {.name = "blueconnect",
            .summary = "rings dimension by dimension, the fastest links first: any number of levels of a hierarchy",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
