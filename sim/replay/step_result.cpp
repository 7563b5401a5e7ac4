#include "sim/replay/step_result.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "sim/replay/choice.h"
#include "sim/replay/idle_time.h"

namespace lockstep::replay {

using workload::CallId;
using workload::CollectiveCall;
using workload::Program;
using workload::StreamId;
using workload::Task;
using workload::TaskGraph;
using workload::TaskId;

namespace {

std::vector<CollectiveUse> collective_uses(const History& history, const Scripts& scripts, const TimeAccount& account) {
    // Sums over ranks and calls, by family and size.
    struct Sums {
        std::size_t use = 0;
        Seconds time;
        std::size_t parts = 0;
        Seconds exposed;
    };
    const TaskGraph& graph = history.graph();
    std::vector<CollectiveUse> uses;
    std::map<std::tuple<std::string, collective::Operation, std::string, std::size_t, std::int64_t>, Sums> sums;
    std::vector<Sums*> sums_of_call;
    for (std::size_t at = 0; at < graph.calls.size(); ++at) {
        const CollectiveCall& call = graph.calls[at];
        const std::size_t size = graph.communicators[call.communicator].size();
        const std::uint32_t script = scripts.of(static_cast<CallId>(at));
        const std::string algorithm = script == Scripts::none ? "none" : scripts[script].algorithm;
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
    for (std::size_t at = 0; at < history.actor_count(); ++at) {
        const auto actor = id_at<ActorId>(at);
        const std::uint32_t ranks = history.cast().stands_for(actor);
        const Program& program = history.program(actor);
        for (std::size_t task = 0; task < program.size(); ++task) {
            if (program[task].call) {
                const Interval& when = history.at(history.last_step(), actor, static_cast<TaskId>(task));
                Sums& sum = *sums_of_call[static_cast<std::size_t>(*program[task].call)];
                sum.time += (when.end - when.start) * ranks;
                sum.parts += ranks;
            }
        }
    }
    for (const auto& [key, sum] : sums) {
        if (sum.parts > 0) {
            uses[sum.use].time = sum.time / static_cast<double>(sum.parts);
        }
        uses[sum.use].exposed = sum.exposed / static_cast<double>(graph.ranks);
    }
    return uses;
}

/// Of all ranks, each with the labels of its own tasks and the times of the one that plays it.
std::vector<Span> spans_of(const History& history) {
    const TaskGraph& graph = history.graph();
    std::vector<Span> spans;
    for (std::size_t rank = 0; rank < graph.ranks; ++rank) {
        const auto id = id_at<RankId>(rank);
        const ActorId actor = history.cast().actor_of(id);
        const Program& program = graph.programs[graph.program_of_rank[rank]];
        for (std::size_t stream = 0; stream < graph.streams.size(); ++stream) {
            for (std::size_t task = 0; task < program.size(); ++task) {
                const Task& what = program[task];
                if (what.stream == static_cast<StreamId>(stream)) {
                    const Interval& when = history.at(history.last_step(), actor, static_cast<TaskId>(task));
                    spans.push_back({.rank = id,
                                     .stream = what.stream,
                                     .label = what.label,
                                     .is_collective = what.call.has_value(),
                                     .start = when.start,
                                     .end = when.end});
                }
            }
        }
    }
    const auto earliest =
        std::min_element(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    const Seconds origin = earliest == spans.end() ? Seconds{0} : earliest->start;
    for (Span& span : spans) {
        span.start -= origin;
        span.end -= origin;
    }
    return spans;
}

}  // namespace

StepRun step_result(const History& history, const Scripts& scripts, Timeline timeline) {
    const TimeAccount account = account_time(history);
    StepRun run{.step_time = account.step_time, .collectives = collective_uses(history, scripts, account)};
    const std::size_t ranks = history.graph().ranks;
    run.ranks.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        run.ranks.push_back(account.actors[index(history.cast().actor_of(id_at<RankId>(rank)))]);
    }
    if (timeline == Timeline::kept) {
        run.spans = spans_of(history);
    }
    return run;
}

}  // namespace lockstep::replay
