#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/dimensions.h"
#include "sim/collective/reach.h"
#include "sim/collective/ring_programs.h"
#include "sim/collective/swing_pattern.h"

// Swing: in step s an even rank exchanges with the one 1, -1, 3, -5, 11, ... places further on, an odd one with the one
// as far back. That reaches everybody in ceil(log2 n) steps, as halving does, but over shorter distances: the sums of
// large blocks go to neighbours. On a torus the steps take turns in the dimensions, and the data is cut in parts that
// begin with each dimension and each direction. Source: De Sensi, Bonato, Saam and Hoefler (2024), "Swing:
// short-cutting rings for higher bandwidth allreduce", NSDI.
//
// What is sent in each step follows from the all-gather: a rank gives its partner what that does not have yet. The
// reduce-scatter is the same backwards in time. For powers of two everybody gives everything there is; for other even
// numbers no block arrives twice. Of an odd number one rank stays outside and exchanges its blocks with each directly.

namespace lockstep::collective {

namespace {

struct Exchange {
    std::size_t dimension = 0;
    std::uint32_t step = 0;  ///< in that dimension
};

/// How one part of the data goes: the exchanges of a reduce-scatter in order, and whether even coordinates go up first.
struct Way {
    std::vector<Exchange> exchanges = {};
    bool mirrored = false;
};

/// What programs need to know; it outlives the communicator.
struct Plan {
    RankGrid grid;                            ///< of those that swing
    std::optional<RankId> outside = {};       ///< of an odd number of ranks
    std::vector<SwingPattern> patterns = {};  ///< by dimension
    std::vector<Way> ways = {};               ///< one channel each
    Operation operation = Operation::all_reduce;

    /// Of an all-reduce over powers of two it does not matter whose block is where: by way and point, a numbering by
    /// which all that is given in one message is consecutive. Else none, and messages are lists of blocks.
    std::vector<std::vector<std::uint32_t>> numbers = {};

    /// A coordinate that a point's pattern names by an offset: mirrored for odd coordinates, and once more on mirrored
    /// ways.
    std::uint32_t coordinate_at(std::size_t way, std::uint32_t point, std::size_t dimension,
                                std::uint32_t offset) const {
        const std::uint32_t extent = grid.extent(dimension);
        const std::uint32_t at = grid.coordinate(point, dimension);
        const bool mirrored = (at % 2 == 1) != ways[way].mirrored;
        return (mirrored ? at + extent - offset : at + offset) % extent;
    }
    std::uint32_t partner(std::size_t way, std::uint32_t point, const Exchange& exchange) const {
        const std::uint32_t offset = patterns[exchange.dimension].partner[exchange.step];
        return grid.moved(point, exchange.dimension, coordinate_at(way, point, exchange.dimension, offset));
    }
    std::uint32_t chunk_of(RankId owner, std::size_t way) const {
        return static_cast<std::uint32_t>(index(owner) * ways.size() + way);
    }
};

RankGrid line_of(const std::vector<RankId>& ring, std::size_t length) {
    std::vector<std::uint32_t> rank_at;
    for (std::size_t place = 0; place < length; ++place) {
        rank_at.push_back(static_cast<std::uint32_t>(ring[place]));
    }
    return {{{.extent = static_cast<std::uint32_t>(length)}}, std::move(rank_at)};
}

bool all_even(const RankGrid& grid) {
    return std::all_of(grid.dimensions().begin(), grid.dimensions().end(),
                       [](const Dimension& dimension) { return dimension.extent % 2 == 0; });
}

std::vector<Way> ways_through(const std::vector<SwingPattern>& patterns, bool both_ways) {
    std::uint32_t most_steps = 0;
    for (const SwingPattern& pattern : patterns) {
        most_steps = std::max(most_steps, pattern.steps());
    }
    std::vector<Way> ways;
    for (std::size_t first = 0; first < (both_ways ? patterns.size() : 1); ++first) {
        Way way;
        for (std::uint32_t t = 0; t < most_steps; ++t) {
            for (std::size_t i = 0; i < patterns.size(); ++i) {
                const std::size_t dimension = (first + i) % patterns.size();
                if (t < patterns[dimension].steps()) {
                    way.exchanges.push_back({dimension, t});
                }
            }
        }
        ways.push_back(way);
        if (both_ways) {
            way.mirrored = true;
            ways.push_back(std::move(way));
        }
    }
    return ways;
}

/// The numbering of points by which what each has before an exchange of the all-gather is consecutive: exchange by
/// exchange the points fall into two halves, of which the one with the least point comes first.
std::vector<std::uint32_t> halves_first(const Plan& plan, std::size_t way) {
    const std::vector<Exchange>& exchanges = plan.ways[way].exchanges;
    std::vector<std::uint32_t> least(plan.grid.size());  // of the points with which each shares a half
    std::iota(least.begin(), least.end(), 0U);
    std::vector<std::uint32_t> number(plan.grid.size(), 0);
    for (std::size_t at = exchanges.size(); at-- > 0;) {
        std::vector<std::uint32_t> joined(least.size());
        for (std::uint32_t point = 0; point < least.size(); ++point) {
            const std::uint32_t other = least[plan.partner(way, point, exchanges[at])];
            number[point] |= (least[point] > other ? 1U : 0U) << (exchanges.size() - 1 - at);
            joined[point] = std::min(least[point], other);
        }
        least = std::move(joined);
    }
    return number;
}

/// Requires: two ranks or more, and dimensions that serve.
Plan plan_for(const Communicator& communicator, const Request& request) {
    const auto& asked = request.tuning.dimensions;
    auto grid = asked.empty() ? grid_of_links(communicator) : grid_of_extents(communicator, asked);
    std::optional<RankId> outside;
    bool both_ways = false;
    if (grid && all_even(*grid)) {
        both_ways = grid->dimensions().front().linked;
    } else {
        // Along the communicator's first ring.
        const std::vector<RankId>& ring = communicator.rings().front();
        std::vector<std::vector<RankId>> circles{ring, ring};
        std::reverse(circles.back().begin() + 1, circles.back().end());
        both_ways = rings_at_once(communicator, circles) > 1;
        if (ring.size() % 2 == 1) {
            outside = ring.back();
        }
        grid = line_of(ring, ring.size() - ring.size() % 2);
    }
    Plan plan{.grid = std::move(*grid), .outside = outside, .operation = request.operation};
    for (const Dimension& dimension : plan.grid.dimensions()) {
        plan.patterns.push_back(swing_pattern(dimension.extent));
    }
    plan.ways = ways_through(plan.patterns, both_ways);
    if (plan.operation == Operation::all_reduce && !outside && std::has_single_bit(plan.grid.size())) {
        for (std::size_t way = 0; way < plan.ways.size(); ++way) {
            plan.numbers.push_back(halves_first(plan, way));
        }
    }
    return plan;
}

/// The program of one rank on one way.
class Program {
  public:
    Program(const Plan& plan, std::size_t way, RankId rank) : plan_(plan), way_(way), rank_(rank) {}

    Thread thread() {
        if (plan_.operation != Operation::all_gather) {
            to_outside();
            reduce_scatter();
            from_outside(Verb::receive_reduce);
        }
        if (plan_.operation != Operation::reduce_scatter) {
            to_outside_own();
            all_gather();
            from_outside_own();
        }
        return {.channel = static_cast<std::uint32_t>(way_), .blocks = {std::move(block_)}};
    }

  private:
    const Way& way() const { return plan_.ways[way_]; }

    /// What `point` gives its partner in the all-gather's exchange number `at`: the blocks along the dimension that the
    /// partner lacks, times what both have along the others by then.
    Instruction given(std::uint32_t point, std::size_t at) const {
        const RankGrid& grid = plan_.grid;
        if (!plan_.numbers.empty()) {
            const std::size_t later = way().exchanges.size() - 1 - at;
            const std::uint32_t first = plan_.numbers[way_][point] >> later << later;
            return {.chunk = {.offset = static_cast<std::uint32_t>(way_) * grid.size() + first}, .count = 1U << later};
        }
        std::vector<std::uint32_t> done(grid.dimension_count(), 0);
        for (std::size_t before = 0; before < at; ++before) {
            done[way().exchanges[before].dimension] += 1;
        }
        const Exchange& exchange = way().exchanges[at];
        std::vector<std::uint32_t> points{point};
        for (std::size_t d = 0; d < grid.dimension_count(); ++d) {
            const SwingPattern& pattern = plan_.patterns[d];
            const std::vector<std::uint32_t>& offsets =
                d == exchange.dimension ? pattern.given[exchange.step] : pattern.had[done[d]];
            std::vector<std::uint32_t> moved;
            moved.reserve(points.size() * offsets.size());
            for (const std::uint32_t from : points) {
                for (const std::uint32_t offset : offsets) {
                    moved.push_back(grid.moved(from, d, plan_.coordinate_at(way_, point, d, offset)));
                }
            }
            points = std::move(moved);
        }
        for (std::uint32_t& block : points) {
            block = plan_.chunk_of(plan_.grid.rank_at(block), way_);
        }
        return {.chunks = std::make_shared<const std::vector<std::uint32_t>>(std::move(points))};
    }

    void exchange(RankId with, Instruction sent, Verb take, Instruction taken) {
        sent.verb = Verb::send;
        sent.peer = with;
        taken.verb = take;
        taken.peer = with;
        block_.body.push_back(std::move(sent));
        block_.body.push_back(std::move(taken));
    }

    void reduce_scatter() {
        for (std::size_t at = 0; rank_ != plan_.outside && at < way().exchanges.size(); ++at) {
            const std::uint32_t point = plan_.grid.point_of(rank_);
            const std::uint32_t other = plan_.partner(way_, point, way().exchanges[at]);
            // The all-gather backwards: what the other would give is what it is owed.
            exchange(plan_.grid.rank_at(other), given(other, at), Verb::receive_reduce, given(point, at));
        }
    }

    void all_gather() {
        for (std::size_t at = way().exchanges.size(); rank_ != plan_.outside && at-- > 0;) {
            const std::uint32_t point = plan_.grid.point_of(rank_);
            const std::uint32_t other = plan_.partner(way_, point, way().exchanges[at]);
            exchange(plan_.grid.rank_at(other), given(point, at), Verb::receive, given(other, at));
        }
    }

    /// The outside rank and every other, from the outside rank's point of view in the order of the grid.
    template <class Make>
    void with_outside(Make make) {
        if (!plan_.outside) {
            return;
        }
        if (rank_ != plan_.outside) {
            block_.body.push_back(make(*plan_.outside));
            return;
        }
        for (std::uint32_t point = 0; point < plan_.grid.size(); ++point) {
            block_.body.push_back(make(plan_.grid.rank_at(point)));
        }
    }
    ChunkIndex block_of(RankId owner) const { return {.offset = plan_.chunk_of(owner, way_)}; }

    void to_outside() {
        with_outside([&](RankId peer) { return Instruction{.peer = peer, .chunk = block_of(peer)}; });
    }
    void from_outside(Verb take) {
        with_outside([&](RankId peer) { return Instruction{.verb = take, .peer = peer, .chunk = block_of(rank_)}; });
    }
    void to_outside_own() {
        with_outside([&](RankId peer) { return Instruction{.peer = peer, .chunk = block_of(rank_)}; });
    }
    void from_outside_own() {
        with_outside(
            [&](RankId peer) { return Instruction{.verb = Verb::receive, .peer = peer, .chunk = block_of(peer)}; });
    }

    const Plan& plan_;
    std::size_t way_;
    RankId rank_;
    Block block_ = {};
};

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const auto& asked = request.tuning.dimensions;
    if (!asked.empty()) {
        const auto grid = grid_of_extents(communicator, asked);
        if (!grid) {
            return extents_complaint(asked, communicator.size());
        }
        if (grid->dimension_count() > 1 && !all_even(*grid)) {
            return "swing needs an even number of ranks along each of several dimensions";
        }
    }
    const Reach reach(communicator);
    if (communicator.size() == 1 || reach.joins_all()) {
        return std::nullopt;
    }
    const Plan plan = plan_for(communicator, request);
    for (std::uint32_t point = 0; point < plan.grid.size(); ++point) {
        const RankId here = plan.grid.rank_at(point);
        if (plan.outside && !reach.joins(here, *plan.outside)) {
            return reach.complaint(here, *plan.outside);
        }
        for (std::size_t d = 0; d < plan.patterns.size(); ++d) {
            for (const std::uint32_t partner : plan.patterns[d].partner) {
                const std::uint32_t extent = plan.grid.extent(d);
                const std::uint32_t at = plan.grid.coordinate(point, d);
                for (const std::uint32_t coordinate : {(at + partner) % extent, (at + extent - partner) % extent}) {
                    const RankId there = plan.grid.rank_at(plan.grid.moved(point, d, coordinate));
                    if (!reach.joins(here, there)) {
                        return reach.complaint(here, there);
                    }
                }
            }
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    Schedule schedule{.algorithm = "swing",
                      .operation = request.operation,
                      .ranks = static_cast<std::uint32_t>(communicator.size()),
                      .program = [](RankId) { return RankProgram{}; }};
    if (communicator.size() == 1) {
        return schedule;
    }
    const auto plan = std::make_shared<const Plan>(plan_for(communicator, request));
    schedule.channels = static_cast<std::uint32_t>(plan->ways.size());
    schedule.chunks = schedule.ranks * schedule.channels;
    schedule.program = [plan](RankId rank) {
        RankProgram program;
        for (std::size_t way = 0; way < plan->ways.size(); ++way) {
            program.push_back(Program(*plan, way, rank).thread());
        }
        return program;
    };
    return schedule;
}

double passes_of(Operation operation) { return operation == Operation::all_reduce ? 2 : 1; }

double messages(const Communicator& communicator, const Request& request) {
    if (communicator.size() == 1) {
        return 0;
    }
    const Plan plan = plan_for(communicator, request);
    const double exchanges = static_cast<double>(plan.ways.front().exchanges.size());
    return passes_of(request.operation) * static_cast<double>(plan.ways.size()) * plan.grid.size() *
           (exchanges + (plan.outside ? 2 : 0));
}

/// By the number of hops between partners, which share links: over as many as the messages of a step cross, each link
/// carries as many of them. The parts of a torus are in different dimensions at any time.
Cost cost(const Communicator& communicator, const Request& request) {
    Cost cost{.formula = "nothing to do", .source = "De Sensi, Bonato, Saam and Hoefler 2024"};
    if (communicator.size() == 1) {
        return cost;
    }
    const Plan plan = plan_for(communicator, request);
    const auto n = static_cast<double>(communicator.size());
    const double passes = passes_of(request.operation);
    const std::string factor = passes == 1 ? "" : "2";
    const auto steps = static_cast<double>(plan.ways.front().exchanges.size());
    const double bytes = passes * (n - 1) / n * static_cast<double>(request.bytes.value);
    cost.alphas = passes * (steps + (plan.outside ? 1 : 0));
    cost.holds = plan.outside || plan.ways.size() > 1 ? Cost::Holds::approximately : Cost::Holds::exactly;
    if (plan.ways.size() == 1) {
        cost.bytes = bytes;
        cost.formula = plan.outside ? fmt::format("{0}(1 + log₂(n-1))α + {0}(n-1)/n S/B, logarithm rounded up", factor)
                                    : fmt::format("{0}{1}α + {0}(n-1)/n S/B", factor, "⌈log₂n⌉");
        return cost;
    }
    double crossed = 0;  // by the busiest link, in parts of the data of a way
    double part = 1;
    for (const Exchange& exchange : plan.ways.front().exchanges) {
        const std::uint32_t extent = plan.grid.extent(exchange.dimension);
        const std::uint32_t partner = plan.patterns[exchange.dimension].partner[exchange.step];
        part /= 2;
        // Of two ranks, both directions lead over the one link.
        crossed += part * (extent == 2 ? 2 : std::min(partner, extent - partner));
    }
    const double congestion = crossed / ((n - 1) / n);
    cost.bytes = bytes * congestion / static_cast<double>(plan.ways.size());
    cost.formula = fmt::format("{0}{1}α + {0}(n-1)/n {2:.3f} S/({3}B)", factor, steps, congestion, plan.ways.size());
    return cost;
}

}  // namespace

Algorithm swing_algorithm() {
    return {.name = "swing",
            .summary = "partners 1, -1, 3, -5, ... places away: log2 n steps over short distances, for rings and tori",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
