#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/engine/engines.h"
#include "sim/replay/choice.h"
#include "sim/replay/fold.h"
#include "sim/replay/player.h"
#include "sim/replay/replay.h"
#include "sim/replay/thread_fold.h"

namespace lockstep::replay {

namespace {

constexpr std::size_t waiting_ranks_named = 8;
/// `auto` leaves out algorithms that take more than this many messages and this many times the leanest candidate's:
/// simulating them would cost more than the answer is worth, and so many messages only pay off when they are tiny.
constexpr double messages_always_simulated = 2e6;
constexpr double messages_over_leanest = 64;

/// A collective took longer than it was given.
struct OutOfTime {};

/// Hears when the ranks of a lone collective end. Its only timer says that time is up.
class LoneCollective final : public Conductor {
  public:
    LoneCollective(std::size_t ranks, Seconds limit) : ranks_(ranks), limit_(limit) {}

    void on_timer(std::uint64_t token) override {
        if (ended < ranks_ && token == timers_set_) {
            throw OutOfTime();
        }
    }
    void on_rank_end(PlayId, RankId) override {
        ++ended;
        last_end = player->now();
    }
    void on_skip() override { set_limit(); }

    /// Timers set before have nothing to say any more.
    void set_limit() {
        if (limit_ < Seconds{std::numeric_limits<double>::infinity()}) {
            player->set_timer(std::max(limit_ - player->now(), Seconds{0}), ++timers_set_);
        }
    }

    Player* player = nullptr;
    std::size_t ended = 0;
    Seconds last_end{};

  private:
    std::size_t ranks_;
    Seconds limit_;
    std::uint64_t timers_set_ = 0;
};

/// A collective on its own, folded: the ranks of the communicator are the job.
class FoldedAlone {
  public:
    FoldedAlone(const collective::Communicator& communicator, const collective::Schedule& schedule, Bytes bytes,
                const Settings& settings)
        : members_(everybody(communicator.size())),
          units_(communicator.fabric(), communicator.gpus()),
          input_({.groups = {{.communicator = &communicator, .members = members_}},
                  .scripts = {{.schedule = &schedule, .bytes = bytes}}}),
          fold_(communicator.fabric(), units_, *settings.router, input_, settings.threads) {}

    const Fold& fold() const { return fold_; }
    PreparedSchedule prepared() const {
        std::vector<Seat> seats;
        for (std::size_t actor = 0; actor < fold_.actors().size(); ++actor) {
            seats.push_back({.actor = id_at<ActorId>(actor), .place = fold_.actors()[actor]});
        }
        return fold_.prepared(seats, [&](std::size_t, RankId peer) { return index(fold_.actor_of(peer)); });
    }

  private:
    static std::vector<RankId> everybody(std::size_t ranks) {
        std::vector<RankId> all(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            all[rank] = id_at<RankId>(rank);
        }
        return all;
    }

    std::vector<RankId> members_;
    Units units_;
    FoldInput input_;
    Fold fold_;
};

/// The time for one candidate, on the default engine whatever engine the caller uses, so that the choice does not
/// depend on it. Infinite if it is over `limit`.
Seconds simulated_time(const collective::Algorithm& algorithm, const collective::Communicator& communicator,
                       const collective::Request& request, const Settings& settings, Seconds limit) {
    Settings quiet = settings;
    quiet.make_engine = engine::engines().front().make;
    quiet.limit = limit;
    return run_schedule(communicator, algorithm.make(communicator, request), request.bytes, quiet).time;
}

/// Folds threads of what is to be played, where that pays. use: gets to know of it.
std::optional<ThreadFold> alike_threads(PreparedSchedule& prepared, const fabric::Fabric& fabric,
                                        const Settings& settings, FoldUse& use) {
    if (settings.folding == Folding::off || message_count(prepared) < settings.fold_threads_from) {
        return std::nullopt;
    }
    try {
        std::optional<ThreadFold> fold(std::in_place, prepared, fabric, *settings.router);
        use.threads = fold->thread_count();
        use.thread_classes = fold->class_count();
        use.threads_broken_by = fold->broken_by();
        return fold->folds() ? std::move(fold) : std::nullopt;
    } catch (const SimulationError&) {  // two ranks that no path joins: it will be met on the way, or not
        return std::nullopt;
    }
}

/// Of other operations than a barrier, no data means nothing to do.
bool moves_nothing(const collective::Request& request) {
    return request.bytes.value == 0 && request.operation != collective::Operation::barrier;
}

/// The most that any rank can send or receive at.
Bandwidth widest_port(const collective::Communicator& communicator) {
    const fabric::Fabric& fabric = communicator.fabric();
    Bandwidth widest;
    for (const VertexId gpu : communicator.gpus()) {
        Bandwidth out;
        Bandwidth in;
        for (const LinkId link : fabric.links_out_of(gpu)) {
            out += fabric.link(link).bandwidth;
            in += fabric.link(fabric.reverse(link)).bandwidth;
        }
        widest = std::max({widest, out, in});
    }
    return widest;
}

/// A time that the algorithm cannot beat on any fabric whose ports are at most so wide: its bytes pass a port, or a
/// chain of messages, one after the other. 0 where the book is not exact.
Seconds least_time(const collective::Cost& cost, Bandwidth widest) {
    return cost.holds == collective::Cost::Holds::exactly ? Seconds{cost.bytes / widest.value} : Seconds{0};
}

/// The candidate with the least simulated time; those that differ by rounding only are tied, and the first of them
/// wins, on any machine. One that the widest port alone keeps from winning is not simulated, and none for longer than
/// the best so far takes.
const collective::Algorithm& fastest(const std::vector<const collective::Algorithm*>& candidates,
                                     const collective::Communicator& communicator, const collective::Request& request,
                                     const Settings& settings) {
    constexpr double tied = 1e-9;
    double leanest = std::numeric_limits<double>::infinity();
    for (const collective::Algorithm* candidate : candidates) {
        leanest = std::min(leanest, candidate->messages(communicator, request));
    }
    const Bandwidth widest = widest_port(communicator);
    const collective::Algorithm* best = nullptr;
    Seconds least{std::numeric_limits<double>::infinity()};
    std::optional<std::string> last_problem;
    for (const collective::Algorithm* candidate : candidates) {
        if (candidate->messages(communicator, request) >
                std::max(messages_always_simulated, messages_over_leanest * leanest) ||
            least_time(candidate->cost(communicator, request), widest) >= least) {
            continue;
        }
        try {
            const Seconds time = simulated_time(*candidate, communicator, request, settings, least);
            if (time.value < least.value * (1 - tied)) {
                least = time;
                best = candidate;
            }
        } catch (
            const SimulationError& problem) {  // say, two ranks that no path joins: another algorithm may not need it
            last_problem = problem.what();
        }
    }
    if (best == nullptr) {
        throw SimulationError(last_problem.value_or("no algorithm could be simulated"));
    }
    return *best;
}

/// Why each algorithm that knows the operation cannot do it here.
std::vector<std::string> obstacles(const collective::Communicator& communicator, const collective::Request& request) {
    std::vector<std::string> reasons;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        const auto& known = algorithm.operations;
        if (std::find(known.begin(), known.end(), request.operation) != known.end()) {
            if (const auto obstacle = algorithm.obstacle(communicator, request)) {
                reasons.push_back(fmt::format("{}: {}", algorithm.name, *obstacle));
            }
        }
    }
    return reasons;
}

}  // namespace

std::vector<LinkUse> link_uses(const fabric::Fabric& fabric, const std::vector<double>& bytes, Seconds time) {
    std::vector<LinkUse> uses;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] > 0) {
            const auto link = id_at<LinkId>(at);
            const double capacity = fabric.link(link).bandwidth.value * time.value;
            uses.push_back({link, bytes[at], capacity > 0 ? bytes[at] / capacity : 0.0});
        }
    }
    return uses;
}

const collective::Algorithm& chosen_algorithm(const collective::Communicator& communicator,
                                              const collective::Request& request, std::string_view name,
                                              const Settings& settings) {
    if (name != "auto") {
        const collective::Algorithm& algorithm = collective::algorithm_named(name);
        if (std::find(algorithm.operations.begin(), algorithm.operations.end(), request.operation) ==
            algorithm.operations.end()) {
            throw InputError(
                fmt::format("algorithm `{}` does not do {}", name, collective::name_of(request.operation)));
        }
        if (const auto obstacle = algorithm.obstacle(communicator, request)) {
            throw InputError(fmt::format("algorithm `{}` cannot be used here: {}", name, *obstacle));
        }
        return algorithm;
    }
    const auto candidates = collective::candidates(communicator, request);
    if (candidates.empty()) {
        throw SimulationError(fmt::format("no algorithm can do {} on these {} ranks: {}",
                                          collective::name_of(request.operation), communicator.size(),
                                          fmt::join(obstacles(communicator, request), "; ")));
    }
    if (candidates.size() == 1 || moves_nothing(request) || communicator.size() == 1) {
        return *candidates.front();
    }
    return fastest(candidates, communicator, request, settings);
}

CollectiveRun run_schedule(const collective::Communicator& communicator, const collective::Schedule& schedule,
                           Bytes bytes, const Settings& settings) {
    const collective::Request request{
        .operation = schedule.operation,
        .bytes = bytes,
        .root = schedule.root,
        .sizes = schedule.sizes,
        .traffic = schedule.permutation ? schedule.permutation->traffic() : collective::RandomTraffic{}};
    CollectiveRun run{.bytes = bytes,
                      .algorithm = schedule.algorithm,
                      .protocol = std::string(protocol_name),
                      .channels = schedule.channels,
                      .lower_bound = collective::lower_bound(communicator, request)};
    if (moves_nothing(request) || communicator.size() == 1) {
        return run;  // NCCL returns at once, too
    }
    std::optional<FoldedAlone> folded;
    if (settings.folding == Folding::on) {
        folded.emplace(communicator, schedule, bytes, settings);
        run.fold = folded->fold().use();
    }
    const bool folds = folded && folded->fold().folds();
    PreparedSchedule prepared = folds ? folded->prepared() : PreparedSchedule(communicator, schedule, bytes);
    std::optional<ThreadFold> thread_fold = alike_threads(prepared, communicator.fabric(), settings, run.fold);
    std::optional<PreparedSchedule> representatives;
    if (thread_fold) {
        representatives = thread_fold->prepared();
    }
    PreparedSchedule& played = representatives ? *representatives : prepared;
    const auto engine = settings.make_engine(communicator.fabric());
    LoneCollective conductor(played.rank_count(), settings.limit);
    Player player(*engine, *settings.router, conductor);
    conductor.player = &player;
    player.on_progress = settings.on_progress;
    std::vector<double> link_bytes(communicator.fabric().link_count(), 0.0);
    const PlayId play = player.open(played, &link_bytes);
    if (settings.folding == Folding::on && played.has_equal_chunks() &&
        settings.router->policy() != fabric::RoutingPolicy::adaptive) {
        player.fold_in_time(play);
    }
    const std::size_t ranks = played.rank_count();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        player.arrive(play, id_at<RankId>(rank));
    }
    const auto run_unfolded = [&] {  // to name all of those that wait, or leave something over
        Settings unfolded = settings;
        unfolded.folding = Folding::off;
        return run_schedule(communicator, schedule, bytes, unfolded);
    };
    try {
        conductor.set_limit();
        player.run();
    } catch (const OutOfTime&) {
        run.time = Seconds{std::numeric_limits<double>::infinity()};
        return run;
    } catch (const SimulationError&) {
        if (folds || representatives) {
            return run_unfolded();
        }
        throw;
    }
    if (conductor.ended != ranks) {
        if (folds || representatives) {
            return run_unfolded();
        }
        throw SimulationError(fmt::format("deadlock: {} of {} ranks cannot finish `{}`: {}", ranks - conductor.ended,
                                          ranks, schedule.algorithm,
                                          fmt::join(player.waiting(play, waiting_ranks_named), "; ")));
    }
    run.time = conductor.last_end;
    if (representatives) {
        thread_fold->spread(link_bytes);
    }
    if (folds) {
        folded->fold().spread(link_bytes);
    }
    run.links = link_uses(communicator.fabric(), link_bytes, run.time);
    run.simulator = player.use();
    return run;
}

CollectiveRun run_collective(const collective::Communicator& communicator, const collective::Request& request,
                             std::string_view algorithm, const Settings& settings) {
    const collective::Algorithm& chosen = chosen_algorithm(communicator, request, algorithm, settings);
    if (moves_nothing(request) || communicator.size() == 1) {
        return run_schedule(communicator,
                            {.algorithm = chosen.name,
                             .operation = request.operation,
                             .ranks = static_cast<std::uint32_t>(communicator.size())},
                            request.bytes, settings);
    }
    CollectiveRun run = run_schedule(communicator, chosen.make(communicator, request), request.bytes, settings);
    run.cost = chosen.cost(communicator, request);
    return run;
}

}  // namespace lockstep::replay
