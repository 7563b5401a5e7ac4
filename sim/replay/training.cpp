#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/replay/cast.h"
#include "sim/replay/choice.h"
#include "sim/replay/history.h"
#include "sim/replay/job_fold.h"
#include "sim/replay/player.h"
#include "sim/replay/replay.h"
#include "sim/replay/scripts.h"
#include "sim/replay/step_fold.h"
#include "sim/replay/step_result.h"

namespace lockstep::replay {

using workload::CallId;
using workload::CollectiveCall;
using workload::Program;
using workload::StreamId;
using workload::Task;
using workload::TaskGraph;
using workload::TaskId;

namespace {

constexpr std::size_t waiting_named = 8;
constexpr unsigned stream_bits = 16;
/// A timer's token that is no stream's.
constexpr std::uint64_t all_have_moved = std::uint64_t{UINT32_MAX} << stream_bits;

/// Runs the programs of those who play: puts each task on its stream when the stream and its dependencies allow.
class Training final : public Conductor {
  public:
    Training(const fabric::Fabric& fabric, const TaskGraph& graph, const Cast& cast, const Settings& settings)
        : graph_(&graph),
          cast_(&cast),
          engine_(settings.make_engine(fabric)),
          player_(*engine_, *settings.router, *this),
          history_(graph, cast),
          link_bytes_(fabric.link_count(), 0.0),
          looks_for_repetition_(settings.folding == Folding::on &&
                                settings.router->policy() != fabric::RoutingPolicy::adaptive) {
        player_.on_progress = settings.on_progress;
        for (const Program& program : graph.programs) {
            auto& lists = tasks_on_stream_.emplace_back(graph.streams.size());
            for (std::size_t task = 0; task < program.size(); ++task) {
                lists[static_cast<std::size_t>(program[task].stream)].push_back(static_cast<TaskId>(task));
            }
        }
        actors_.resize(cast.actors().size());
        for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
            actors_[actor].cursors.assign(graph.streams.size(), {});
            actors_[actor].steps_ended.assign(history_.program(id_at<ActorId>(actor)).size(), 0);
        }
    }

    void run() {
        for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
            start_what_can(id_at<ActorId>(actor));
        }
        player_.run();
        refuse_unfinished();
    }

    const History& history() const { return history_; }
    const SimulatorUse& use() const { return player_.use(); }
    std::uint32_t steps_simulated() const { return graph_->steps - steps_skipped_; }
    /// By LinkId, in the reported step.
    std::vector<double>& link_bytes() { return link_bytes_; }

    void on_timer(std::uint64_t token) override {
        if (token == all_have_moved) {
            skip_repeated();
            return;
        }
        end_task(id_at<ActorId>(token >> stream_bits), static_cast<StreamId>(token & ((1U << stream_bits) - 1)));
        await_others();
    }

    void on_rank_end(PlayId play, RankId place) override {
        const std::pair<std::uint32_t, std::uint32_t> key = performance_of_[static_cast<std::size_t>(play)];
        Performance& left = performances_.at(key);
        left.presence[index(place)].state = Presence::done;
        const Occupant who = left.presence[index(place)];
        if (--left.places_left == 0) {
            performances_.erase(key);
        }
        end_task(who.actor, who.stream);
        await_others();
    }

  private:
    /// How far a stream is: `done` tasks ended over all steps, and whether the next one is under way.
    struct Cursor {
        std::uint64_t done = 0;
        bool running = false;
        Seconds due{};  ///< when that ends, if it is no collective
    };

    struct Actor {
        std::vector<Cursor> cursors;             ///< by StreamId
        std::vector<std::uint32_t> steps_ended;  ///< by TaskId: in how many steps it has ended
    };

    enum class Presence : std::uint8_t { absent, inside, done };

    /// Who has come to a place of a performance.
    struct Occupant {
        ActorId actor{};
        StreamId stream{};
        Presence state = Presence::absent;
    };

    struct Performance {
        PlayId play{};
        std::size_t places_left = 0;
        std::vector<Occupant> presence = {};  ///< by place
    };

    const CollectiveCall& call_of(CallId call) const { return graph_->calls[static_cast<std::size_t>(call)]; }

    std::span<const TaskId> tasks_of(ActorId actor, std::size_t stream) const {
        return tasks_on_stream_[graph_->program_of_rank[index(cast_->rank_of(actor))]][stream];
    }

    std::uint32_t step_at(ActorId actor, std::size_t stream) const {
        return static_cast<std::uint32_t>(actors_[index(actor)].cursors[stream].done / tasks_of(actor, stream).size());
    }

    TaskId task_id_at(ActorId actor, std::size_t stream) const {
        const auto tasks = tasks_of(actor, stream);
        return tasks[actors_[index(actor)].cursors[stream].done % tasks.size()];
    }

    const Task& task_at(ActorId actor, std::size_t stream) const {
        return history_.program(actor)[static_cast<std::size_t>(task_id_at(actor, stream))];
    }

    bool stream_has_ended(ActorId actor, std::size_t stream) const {
        return tasks_of(actor, stream).empty() || step_at(actor, stream) >= graph_->steps;
    }

    void start_what_can(ActorId actor) {
        for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
            if (!stream_has_ended(actor, stream) && !actors_[index(actor)].cursors[stream].running) {
                start_if_ready(actor, stream);
            }
        }
    }

    void start_if_ready(ActorId actor, std::size_t stream) {
        Actor& state = actors_[index(actor)];
        const std::uint32_t step = step_at(actor, stream);
        const TaskId id = task_id_at(actor, stream);
        const Task& task = task_at(actor, stream);
        const bool ready = std::all_of(task.after.begin(), task.after.end(), [&](TaskId before) {
            return state.steps_ended[static_cast<std::size_t>(before)] > step;
        });
        if (!ready) {
            return;
        }
        state.cursors[stream].running = true;
        if (step > latest_step_) {
            latest_step_ = step;
            awaits_quiet_ = looks_for_repetition_;
        }
        if (history_.keeps(step)) {
            history_.at(step, actor, id).start = player_.now();
        }
        if (task.call && cast_->place_of(actor, id).call != Cast::none) {
            const Cast::Place& place = cast_->place_of(actor, id);
            Performance& joined = performance(step, place.call);
            joined.presence[index(place.at)] = {actor, static_cast<StreamId>(stream), Presence::inside};
            player_.arrive(joined.play, place.at);
        } else {
            const Seconds duration = task.call ? Seconds{0} : task.duration;
            state.cursors[stream].due = player_.now() + duration;
            player_.set_timer(duration, index(actor) << stream_bits | stream);
        }
    }

    Performance& performance(std::uint32_t step, std::uint32_t call) {
        const auto [entry, fresh] = performances_.try_emplace({step, call});
        if (fresh) {
            const bool reported = step == history_.last_step();
            const Cast::Call& what = cast_->calls()[call];
            entry->second = {player_.open(*what.schedule, reported ? &link_bytes_ : nullptr), what.places,
                             std::vector<Occupant>(what.places)};
            const auto at = static_cast<std::size_t>(entry->second.play);
            if (performance_of_.size() <= at) {
                performance_of_.resize(at + 1);
            }
            performance_of_[at] = {step, call};
        }
        return entry->second;
    }

    void end_task(ActorId actor, StreamId on) {
        const auto stream = static_cast<std::size_t>(on);
        Actor& state = actors_[index(actor)];
        const TaskId id = task_id_at(actor, stream);
        if (history_.keeps(step_at(actor, stream))) {
            history_.at(step_at(actor, stream), actor, id).end = player_.now();
        }
        ++state.steps_ended[static_cast<std::size_t>(id)];
        state.cursors[stream].running = false;
        ++state.cursors[stream].done;
        start_what_can(actor);
    }

    /// Once in each step, as soon as no collective is under way and everybody has done what is due at that instant, in
    /// whatever order.
    void await_others() {
        if (awaits_quiet_ && performances_.empty()) {
            awaits_quiet_ = false;
            player_.set_timer(Seconds{0}, all_have_moved);
        }
    }

    /// If the step begins as the one before did, so will all that follow, and they are left out, but for the two of
    /// which the history is kept.
    void skip_repeated() {
        if (!performances_.empty()) {
            awaits_quiet_ = true;
            return;
        }
        constexpr std::uint32_t steps_kept = 2;
        if (latest_step_ + steps_kept + 1 >= graph_->steps) {
            looks_for_repetition_ = false;
            return;
        }
        StepFold::Moment here = moment();
        if (const std::optional<Seconds> due = here.until_settled()) {
            player_.set_timer(*due, all_have_moved);
            return;
        }
        const std::optional<StepFold::Period> period = step_fold_.look_at(std::move(here));
        if (!period) {
            return;
        }
        looks_for_repetition_ = false;
        steps_skipped_ = graph_->steps - (latest_step_ + steps_kept + 1);
        player_.skip(period->length * steps_skipped_, period->messages * steps_skipped_);
        latest_step_ += steps_skipped_;
        for (std::size_t at = 0; at < actors_.size(); ++at) {
            for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
                actors_[at].cursors[stream].done +=
                    std::uint64_t{steps_skipped_} * tasks_of(id_at<ActorId>(at), stream).size();
            }
            for (std::uint32_t& steps : actors_[at].steps_ended) {
                steps += steps_skipped_;
            }
        }
    }

    StepFold::Moment moment() const {
        StepFold::Moment moment{.step = latest_step_, .now = player_.now(), .messages = player_.use().messages};
        for (std::size_t at = 0; at < actors_.size(); ++at) {
            for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
                const Cursor& cursor = actors_[at].cursors[stream];
                moment.places.push_back(
                    {.tasks_ended = cursor.done,
                     .tasks = static_cast<std::uint32_t>(tasks_of(id_at<ActorId>(at), stream).size()),
                     .is_running = cursor.running,
                     .left = cursor.running ? cursor.due - player_.now() : Seconds{0}});
            }
        }
        return moment;
    }

    /// Who keeps a performance from ending: ranks that have not come to it, or, if all have, the schedule itself. (A
    /// job that is folded is run again, unfolded, before anybody reads this: members of the communicator are the
    /// places.)
    void add_waiting(std::uint32_t step, CallId id, const Performance& performance,
                     std::vector<std::string>& lines) const {
        const CollectiveCall& call = call_of(id);
        const std::vector<RankId>& members = graph_->communicators[call.communicator];
        std::vector<RankId> inside;
        std::vector<RankId> held_up;
        std::vector<RankId> never;
        for (std::size_t place = 0; place < members.size(); ++place) {
            if (performance.presence[place].state == Presence::inside) {
                inside.push_back(members[place]);
            } else if (performance.presence[place].state == Presence::absent) {
                (makes(members[place], id) ? held_up : never).push_back(members[place]);
            }
        }
        const std::string name =
            fmt::format("{} {} of step {}", collective::name_of(call.request.operation), excerpt(call.name), step + 1);
        const std::string waiting = inside.empty() ? fmt::format("others have done {} without", name)
                                                   : fmt::format("{} wait{} in {} for", workload::ranks_text(inside),
                                                                 inside.size() == 1 ? "s" : "", name);
        if (!held_up.empty()) {
            lines.push_back(fmt::format("{} {}, which {} not come to it", waiting, workload::ranks_text(held_up),
                                        held_up.size() == 1 ? "has" : "have"));
        }
        if (!never.empty()) {
            lines.push_back(fmt::format("{} {}, which never make{} that call", waiting, workload::ranks_text(never),
                                        never.size() == 1 ? "s" : ""));
        }
        if (held_up.empty() && never.empty()) {
            for (const std::string& line : player_.waiting(performance.play, waiting_named)) {
                lines.push_back(fmt::format("{}, by the ranks of its group: {}", name, line));
            }
        }
    }

    /// Whether the rank's program has the call.
    bool makes(RankId rank, CallId call) const {
        return std::ranges::any_of(history_.program(cast_->actor_of(rank)),
                                   [&](const Task& task) { return task.call == call; });
    }

    void refuse_unfinished() const {
        std::vector<std::string> stuck;
        if (cast_->is_folded()) {
            if (!performances_.empty()) {
                throw SimulationError("deadlock among those who stand for all");
            }
        } else {
            for (const auto& [key, performance] : performances_) {
                add_waiting(key.first, cast_->calls()[key.second].original, performance, stuck);
            }
        }
        for (std::size_t at = 0; at < actors_.size(); ++at) {
            const auto actor = id_at<ActorId>(at);
            for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
                // Those under way are in one of the calls above.
                if (!stream_has_ended(actor, stream) && !actors_[at].cursors[stream].running) {
                    stuck.push_back(fmt::format("rank {}: stream {} cannot start {} of step {}",
                                                index(cast_->rank_of(actor)), excerpt(graph_->streams[stream]),
                                                excerpt(task_at(actor, stream).label), step_at(actor, stream) + 1));
                }
            }
        }
        if (!stuck.empty()) {
            const std::size_t more = stuck.size() > waiting_named ? stuck.size() - waiting_named : 0;
            stuck.resize(stuck.size() - more);
            throw SimulationError(fmt::format("deadlock: nothing is left to happen, but {}{}", fmt::join(stuck, "; "),
                                              more > 0 ? fmt::format("; and {} more", more) : ""));
        }
    }

    const TaskGraph* graph_;
    const Cast* cast_;
    std::unique_ptr<engine::Engine> engine_;
    Player player_;
    History history_;
    std::vector<std::vector<std::vector<TaskId>>> tasks_on_stream_;  ///< by program, stream
    std::vector<Actor> actors_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Performance> performances_;  ///< under way, by step and call
    std::vector<std::pair<std::uint32_t, std::uint32_t>> performance_of_;          ///< by PlayId
    std::vector<double> link_bytes_;
    StepFold step_fold_{};
    bool looks_for_repetition_;
    bool awaits_quiet_ = false;  ///< a step has begun, and not yet been compared with the one before
    std::uint32_t latest_step_ = 0;
    std::uint32_t steps_skipped_ = 0;
};

StepRun run_cast(const fabric::Fabric& fabric, const TaskGraph& graph, const Scripts& scripts, const Cast& cast,
                 const Settings& settings, const Fold* fold) {
    Training training(fabric, graph, cast, settings);
    training.run();
    if (fold != nullptr) {
        fold->spread(training.link_bytes());
    }
    StepRun run = step_result(training.history(), scripts, settings.timeline);
    run.links = link_uses(fabric, training.link_bytes(), run.step_time);
    run.simulator = training.use();
    run.fold.steps = graph.steps;
    run.fold.steps_simulated = training.steps_simulated();
    return run;
}

/// With what is known of alike nodes.
StepRun with_nodes(StepRun run, const FoldUse& nodes) {
    const FoldUse steps = run.fold;
    run.fold = nodes;
    run.fold.steps = steps.steps;
    run.fold.steps_simulated = steps.steps_simulated;
    return run;
}

}  // namespace

StepRun run_training(const fabric::Fabric& fabric, std::span<const VertexId> placement, const TaskGraph& graph,
                     const Settings& settings) {
    const Units units(fabric, placement);
    const Scripts scripts(fabric, units, graph, settings);
    FoldUse use;
    if (settings.folding == Folding::on) {
        const ProgramCalls calls(graph);
        const JobFold folded(fabric, units, *settings.router, graph, scripts, calls, settings.threads);
        use = folded.use();
        if (folded.fold() != nullptr) {
            try {
                const Cast cast(graph, scripts, calls, *folded.fold());
                return with_nodes(run_cast(fabric, graph, scripts, cast, settings, folded.fold()), use);
            } catch (const SimulationError&) {
                // Once more with everybody, to name all of those that wait, or leave something over.
            }
        }
    }
    return with_nodes(run_cast(fabric, graph, scripts, Cast(graph, scripts), settings, nullptr), use);
}

}  // namespace lockstep::replay
