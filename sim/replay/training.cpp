#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/replay/choice.h"
#include "sim/replay/history.h"
#include "sim/replay/idle_time.h"
#include "sim/replay/player.h"
#include "sim/replay/replay.h"

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

/// Runs the programs of all ranks: puts each task on its stream when the stream and its dependencies allow.
class Training final : public Conductor {
  public:
    Training(const fabric::Fabric& fabric, std::span<const VertexId> placement, const TaskGraph& graph,
             const Settings& settings)
        : fabric_(&fabric),
          placement_(placement.begin(), placement.end()),
          graph_(&graph),
          settings_(&settings),
          engine_(settings.make_engine(fabric)),
          player_(*engine_, *settings.router, *this),
          history_(graph),
          communicators_(graph.communicators.size()),
          scripts_(graph.calls.size()),
          link_bytes_(fabric.link_count(), 0.0) {
        player_.on_progress = settings.on_progress;
        for (const Program& program : graph.programs) {
            auto& lists = tasks_on_stream_.emplace_back(graph.streams.size());
            for (std::size_t task = 0; task < program.size(); ++task) {
                lists[static_cast<std::size_t>(program[task].stream)].push_back(static_cast<TaskId>(task));
            }
        }
        place_in_communicator_.resize(graph.communicators.size());
        for (std::size_t at = 0; at < graph.communicators.size(); ++at) {
            for (std::size_t place = 0; place < graph.communicators[at].size(); ++place) {
                place_in_communicator_[at].emplace(graph.communicators[at][place], id_at<RankId>(place));
            }
        }
        ranks_.resize(graph.ranks);
        for (std::size_t rank = 0; rank < graph.ranks; ++rank) {
            ranks_[rank].cursors.assign(graph.streams.size(), {});
            ranks_[rank].steps_ended.assign(history_.program(id_at<RankId>(rank)).size(), 0);
        }
    }

    StepRun run() {
        for (std::size_t rank = 0; rank < graph_->ranks; ++rank) {
            start_what_can(id_at<RankId>(rank));
        }
        player_.run();
        refuse_unfinished();
        return result();
    }

    void on_timer(std::uint64_t token) override {
        end_task(id_at<RankId>(token >> stream_bits), static_cast<StreamId>(token & ((1U << stream_bits) - 1)));
    }

    void on_rank_end(PlayId play, RankId place) override {
        const auto [step, call] = performance_of_[static_cast<std::size_t>(play)];
        const RankId rank = graph_->communicators[call_of(call).communicator][index(place)];
        Performance& left = performances_.at({step, call});
        left.presence[index(place)] = Presence::done;
        if (--left.ranks_left == 0) {
            performances_.erase({step, call});
        }
        const Rank& state = ranks_[index(rank)];
        for (std::size_t stream = 0; stream < state.cursors.size(); ++stream) {
            if (state.cursors[stream].running && task_at(rank, stream).call == call) {
                end_task(rank, static_cast<StreamId>(stream));
                return;
            }
        }
    }

  private:
    /// How far a stream is: `done` tasks ended over all steps, and whether the next one is under way.
    struct Cursor {
        std::uint64_t done = 0;
        bool running = false;
    };

    struct Rank {
        std::vector<Cursor> cursors;             ///< by StreamId
        std::vector<std::uint32_t> steps_ended;  ///< by TaskId: in how many steps it has ended
    };

    enum class Presence : std::uint8_t { absent, inside, done };

    struct Performance {
        PlayId play{};
        std::size_t ranks_left = 0;
        std::vector<Presence> presence = {};  ///< by place in the communicator
    };

    /// What a call is played from; calls that ask for the same share it.
    struct Script {
        std::string algorithm;
        std::shared_ptr<PreparedSchedule> schedule;
        std::uint32_t channels = 1;
    };

    const CollectiveCall& call_of(CallId call) const { return graph_->calls[static_cast<std::size_t>(call)]; }

    std::span<const TaskId> tasks_of(RankId rank, std::size_t stream) const {
        return tasks_on_stream_[graph_->program_of_rank[index(rank)]][stream];
    }

    std::uint32_t step_at(RankId rank, std::size_t stream) const {
        return static_cast<std::uint32_t>(ranks_[index(rank)].cursors[stream].done / tasks_of(rank, stream).size());
    }

    TaskId task_id_at(RankId rank, std::size_t stream) const {
        const auto tasks = tasks_of(rank, stream);
        return tasks[ranks_[index(rank)].cursors[stream].done % tasks.size()];
    }

    const Task& task_at(RankId rank, std::size_t stream) const {
        return history_.program(rank)[static_cast<std::size_t>(task_id_at(rank, stream))];
    }

    bool stream_has_ended(RankId rank, std::size_t stream) const {
        return tasks_of(rank, stream).empty() || step_at(rank, stream) >= graph_->steps;
    }

    const collective::Communicator& communicator(std::uint32_t at) {
        if (!communicators_[at]) {
            std::vector<VertexId> gpus;
            for (const RankId rank : graph_->communicators[at]) {
                gpus.push_back(placement_[index(rank)]);
            }
            communicators_[at].emplace(*fabric_, std::move(gpus));
        }
        return *communicators_[at];
    }

    const Script& script(CallId id) {
        Script& script = scripts_[static_cast<std::size_t>(id)];
        if (script.schedule == nullptr) {
            const CollectiveCall& call = call_of(id);
            const auto key = std::make_tuple(call.communicator, call.request.operation, call.request.bytes.value,
                                             index(call.request.root), call.algorithm);
            auto [known, fresh] = scripts_by_request_.try_emplace(key);
            if (fresh) {
                const collective::Communicator& ranks = communicator(call.communicator);
                Script& made = known->second;
                made.algorithm = call.algorithm;
                const collective::Schedule schedule = schedule_of(call, ranks, made.algorithm);
                made.channels = schedule.channels;
                made.schedule = std::make_shared<PreparedSchedule>(ranks, schedule, call.request.bytes);
            }
            script = known->second;
        }
        return script;
    }

    /// From a file, or made by an algorithm. Sets the name of the one that `auto` chooses.
    collective::Schedule schedule_of(const CollectiveCall& call, const collective::Communicator& ranks,
                                     std::string& name) const {
        if (call.schedule) {
            return *call.schedule;
        }
        const collective::Algorithm& algorithm = chosen_algorithm(ranks, call.request, call.algorithm, *settings_);
        name = algorithm.name;
        return algorithm.make(ranks, call.request);
    }

    bool costs_nothing(const CollectiveCall& call) const {
        const bool moves_nothing =
            call.request.bytes.value == 0 && call.request.operation != collective::Operation::barrier;
        return moves_nothing || graph_->communicators[call.communicator].size() == 1;
    }

    void start_what_can(RankId rank) {
        for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
            if (!stream_has_ended(rank, stream) && !ranks_[index(rank)].cursors[stream].running) {
                start_if_ready(rank, stream);
            }
        }
    }

    void start_if_ready(RankId rank, std::size_t stream) {
        Rank& state = ranks_[index(rank)];
        const std::uint32_t step = step_at(rank, stream);
        const TaskId id = task_id_at(rank, stream);
        const Task& task = task_at(rank, stream);
        const bool ready = std::all_of(task.after.begin(), task.after.end(), [&](TaskId before) {
            return state.steps_ended[static_cast<std::size_t>(before)] > step;
        });
        if (!ready) {
            return;
        }
        state.cursors[stream].running = true;
        if (history_.keeps(step)) {
            history_.at(step, rank, id).start = player_.now();
        }
        if (task.call && !costs_nothing(call_of(*task.call))) {
            const CollectiveCall& call = call_of(*task.call);
            const RankId place = place_in_communicator_[call.communicator].at(rank);
            Performance& joined = performance(step, *task.call);
            joined.presence[index(place)] = Presence::inside;
            player_.arrive(joined.play, place);
        } else {
            player_.set_timer(task.call ? Seconds{0} : task.duration, index(rank) << stream_bits | stream);
        }
    }

    Performance& performance(std::uint32_t step, CallId call) {
        const auto [entry, fresh] = performances_.try_emplace({step, call});
        if (fresh) {
            const bool reported = step == history_.last_step();
            const std::size_t size = graph_->communicators[call_of(call).communicator].size();
            entry->second = {player_.open(*script(call).schedule, reported ? &link_bytes_ : nullptr), size,
                             std::vector<Presence>(size, Presence::absent)};
            const auto at = static_cast<std::size_t>(entry->second.play);
            if (performance_of_.size() <= at) {
                performance_of_.resize(at + 1);
            }
            performance_of_[at] = {step, call};
        }
        return entry->second;
    }

    void end_task(RankId rank, StreamId on) {
        const auto stream = static_cast<std::size_t>(on);
        Rank& state = ranks_[index(rank)];
        const TaskId id = task_id_at(rank, stream);
        if (history_.keeps(step_at(rank, stream))) {
            history_.at(step_at(rank, stream), rank, id).end = player_.now();
        }
        ++state.steps_ended[static_cast<std::size_t>(id)];
        state.cursors[stream].running = false;
        ++state.cursors[stream].done;
        start_what_can(rank);
    }

    /// Who keeps a performance from ending: ranks that have not come to it, or, if all have, the schedule itself.
    void add_waiting(std::uint32_t step, CallId id, const Performance& performance,
                     std::vector<std::string>& lines) const {
        const CollectiveCall& call = call_of(id);
        const std::vector<RankId>& members = graph_->communicators[call.communicator];
        std::vector<RankId> inside;
        std::vector<RankId> held_up;
        std::vector<RankId> never;
        for (std::size_t place = 0; place < members.size(); ++place) {
            if (performance.presence[place] == Presence::inside) {
                inside.push_back(members[place]);
            } else if (performance.presence[place] == Presence::absent) {
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
        return std::ranges::any_of(history_.program(rank), [&](const Task& task) { return task.call == call; });
    }

    void refuse_unfinished() const {
        std::vector<std::string> stuck;
        for (const auto& [key, performance] : performances_) {
            add_waiting(key.first, key.second, performance, stuck);
        }
        for (std::size_t rank = 0; rank < graph_->ranks; ++rank) {
            for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
                // Those under way are in one of the calls above.
                if (!stream_has_ended(id_at<RankId>(rank), stream) && !ranks_[rank].cursors[stream].running) {
                    stuck.push_back(fmt::format(
                        "rank {}: stream {} cannot start {} of step {}", rank, excerpt(graph_->streams[stream]),
                        excerpt(task_at(id_at<RankId>(rank), stream).label), step_at(id_at<RankId>(rank), stream) + 1));
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

    std::vector<CollectiveUse> collective_uses(const TimeAccount& account) {
        // Sums over ranks and calls, by family and size.
        struct Sums {
            std::size_t use = 0;
            Seconds time;
            std::size_t parts = 0;
            Seconds exposed;
        };
        std::vector<CollectiveUse> uses;
        std::map<std::tuple<std::string, collective::Operation, std::string, std::size_t, std::int64_t>, Sums> sums;
        std::vector<Sums*> sums_of_call;
        for (std::size_t at = 0; at < graph_->calls.size(); ++at) {
            const CollectiveCall& call = graph_->calls[at];
            const std::size_t size = graph_->communicators[call.communicator].size();
            const std::string algorithm = costs_nothing(call) ? "none" : script(static_cast<CallId>(at)).algorithm;
            const auto [entry, fresh] =
                sums.try_emplace({call.name, call.request.operation, algorithm, size, call.request.bytes.value});
            if (fresh) {
                entry->second.use = uses.size();
                uses.push_back({.name = call.name,
                                .kind = call.kind,
                                .operation = call.request.operation,
                                .algorithm = algorithm,
                                .protocol = std::string(protocol_name),
                                .group_size = size,
                                .bytes = call.request.bytes,
                                .count = 0});
            }
            ++uses[entry->second.use].count;
            entry->second.exposed += account.exposed_by_call[at];
            sums_of_call.push_back(&entry->second);
        }
        for (std::size_t rank = 0; rank < graph_->ranks; ++rank) {
            const Program& program = history_.program(id_at<RankId>(rank));
            for (std::size_t task = 0; task < program.size(); ++task) {
                if (program[task].call) {
                    const Interval& when =
                        history_.at(history_.last_step(), id_at<RankId>(rank), static_cast<TaskId>(task));
                    Sums& sum = *sums_of_call[static_cast<std::size_t>(*program[task].call)];
                    sum.time += when.end - when.start;
                    ++sum.parts;
                }
            }
        }
        for (const auto& [key, sum] : sums) {
            if (sum.parts > 0) {
                uses[sum.use].time = sum.time / static_cast<double>(sum.parts);
            }
            uses[sum.use].exposed = sum.exposed / static_cast<double>(graph_->ranks);
        }
        return uses;
    }

    StepRun result() {
        TimeAccount account = account_time(history_);
        StepRun run{.step_time = account.step_time,
                    .ranks = std::move(account.ranks),
                    .collectives = collective_uses(account),
                    .links = link_uses(*fabric_, link_bytes_, account.step_time),
                    .simulator = player_.use()};
        const std::uint32_t last = history_.last_step();
        for (std::size_t rank = 0; rank < graph_->ranks; ++rank) {
            const auto id = id_at<RankId>(rank);
            for (std::size_t stream = 0; stream < graph_->streams.size(); ++stream) {
                for (const TaskId task : tasks_of(id, stream)) {
                    const Interval& when = history_.at(last, id, task);
                    const Task& what = history_.program(id)[static_cast<std::size_t>(task)];
                    run.spans.push_back({.rank = id,
                                         .stream = static_cast<StreamId>(stream),
                                         .label = what.label,
                                         .is_collective = what.call.has_value(),
                                         .start = when.start,
                                         .end = when.end});
                }
            }
        }
        const auto earliest = std::min_element(run.spans.begin(), run.spans.end(),
                                               [](const Span& a, const Span& b) { return a.start < b.start; });
        const Seconds origin = earliest == run.spans.end() ? Seconds{0} : earliest->start;
        for (Span& span : run.spans) {
            span.start -= origin;
            span.end -= origin;
        }
        return run;
    }

    const fabric::Fabric* fabric_;
    std::vector<VertexId> placement_;
    const TaskGraph* graph_;
    const Settings* settings_;
    std::unique_ptr<engine::Engine> engine_;
    Player player_;
    History history_;
    std::vector<std::vector<std::vector<TaskId>>> tasks_on_stream_;  ///< by program, stream
    std::vector<std::map<RankId, RankId>> place_in_communicator_;    ///< by communicator: job rank -> its rank
    std::vector<Rank> ranks_;
    std::vector<std::optional<collective::Communicator>> communicators_;
    std::vector<Script> scripts_;  ///< by CallId
    std::map<std::tuple<std::uint32_t, collective::Operation, std::int64_t, std::size_t, std::string>, Script>
        scripts_by_request_;
    std::map<std::pair<std::uint32_t, CallId>, Performance> performances_;  ///< under way, by step and call
    std::vector<std::pair<std::uint32_t, CallId>> performance_of_;          ///< by PlayId
    std::vector<double> link_bytes_;
};

}  // namespace

StepRun run_training(const fabric::Fabric& fabric, std::span<const VertexId> placement, const TaskGraph& graph,
                     const Settings& settings) {
    return Training(fabric, placement, graph, settings).run();
}

}  // namespace lockstep::replay
