#include "sim/workload/tasks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/load_programs.h"
#include "sim/collective/schedule_scope.h"
#include "sim/workload/tasks_calls.h"

namespace lockstep::workload {

using collective::Operation;

namespace {

constexpr std::string_view everybody = "all";
constexpr std::size_t most_streams = 64;

/// Reads what a program consists of.
class TaskReader {
  public:
    TaskReader(const std::vector<Group>& groups, const collective::Scope& scope,
               const std::vector<std::string>& streams, const FindSchedule& find_schedule, WrittenProgram& into)
        : groups_(&groups), scope_(&scope), streams_(&streams), find_schedule_(&find_schedule), into_(&into) {}

    void read(const YamlValue& value) {
        YamlMap map = value.map();
        const auto [word, name] = what_it_does(map);
        Task task{.label = name.text()};
        const bool computes = word == "compute";
        task.stream = stream_of(map, computes);
        task.after = dependencies(map);
        if (computes) {
            task.duration = map.require("time").seconds();
        } else {
            into_->calls.push_back(call(map, value, collective::operation_named(word), task.label));
        }
        map.finish();
        into_->tasks.push_back(std::move(task));
    }

  private:
    /// The key that says what a task does, and the name that stands behind it.
    static std::pair<std::string, YamlValue> what_it_does(YamlMap& map) {
        std::vector<std::string> words{"compute"};
        for (const Operation operation : collective::operations()) {
            // Sizes for each pair have no place in a task, and random traffic is nothing that jobs do.
            if (operation != Operation::all_to_all_v && operation != Operation::permutation) {
                words.emplace_back(collective::name_of(operation));
            }
        }
        std::optional<std::pair<std::string, YamlValue>> found;
        for (const std::string& word : words) {
            if (const auto name = map.find(word)) {
                if (found) {
                    name->fail(fmt::format("a task does one thing, and this one has `{}` already", found->first));
                }
                found.emplace(word, *name);
            }
        }
        if (!found) {
            for (const char* const key : {"time", "bytes", "group", "root", "algorithm", "kind", "stream", "after"}) {
                map.find(key);
            }
            map.finish();  // a misspelt word is named as such
            map.self().fail(fmt::format("expected a task: {} with its name, got none of them", fmt::join(words, ", ")));
        }
        return *found;
    }

    /// Kernels go on the first stream, calls on the second.
    StreamId stream_of(YamlMap& map, bool computes) const {
        const auto stream = map.find("stream");
        if (!stream) {
            return computes || streams_->size() == 1 ? compute_stream_ : StreamId{1};
        }
        const std::string name = stream->one_of(*streams_);
        return id_at<StreamId>(static_cast<std::size_t>(std::ranges::find(*streams_, name) - streams_->begin()));
    }

    /// Of several tasks of one name, the last is meant.
    std::vector<TaskId> dependencies(YamlMap& map) const {
        const auto after = map.find("after");
        if (!after) {
            return {};
        }
        std::vector<TaskId> ids;
        for (const YamlValue& item : after->is_list() ? after->list() : std::vector{*after}) {
            const std::string name = item.text();
            const auto& tasks = into_->tasks;
            const auto found =
                std::find_if(tasks.rbegin(), tasks.rend(), [&](const Task& task) { return task.label == name; });
            if (found == tasks.rend()) {
                std::vector<std::string> known;
                for (const Task& task : tasks) {
                    known.push_back(task.label);
                }
                item.fail(fmt::format("no task {} stands above this one in its program{}", excerpt(name),
                                      suggestion(name, known)));
            }
            ids.push_back(id_at<TaskId>(static_cast<std::size_t>(tasks.rend() - found) - 1));
        }
        return ids;
    }

    WrittenCall call(YamlMap& map, const YamlValue& at, Operation operation, const std::string& name) const {
        const std::size_t group = group_of(map);
        WrittenCall written{.call = {.name = name, .communicator = static_cast<std::uint32_t>(group)},
                            .at = at,
                            .task = into_->tasks.size()};
        written.call.request.operation = operation;
        if (operation == Operation::barrier) {
            if (const auto bytes = map.find("bytes")) {
                bytes->fail("a barrier moves no data");
            }
        } else {
            written.call.request.bytes = map.require("bytes").bytes();
        }
        if (const auto root = map.find("root")) {
            written.call.request.root = root_of(*root, operation, (*groups_)[group]);
        }
        written.call.algorithm = "auto";
        written.algorithm_at = map.find("algorithm");
        if (written.algorithm_at) {
            choose_algorithm(written.call, *written.algorithm_at, (*groups_)[group].members.size(), *find_schedule_);
        }
        if (const auto kind = map.find("kind")) {
            written.call.kind = kind_of(*kind);
        }
        return written;
    }

    std::size_t group_of(YamlMap& map) const {
        std::vector<std::string> names;
        for (const Group& group : *groups_) {
            names.push_back(group.name);
        }
        const auto value = map.find("group");
        if (!value) {
            return 0;
        }
        const auto found = static_cast<std::size_t>(std::ranges::find(names, value->one_of(names)) - names.begin());
        const Group& group = (*groups_)[found];
        for (const RankId rank : into_->ranks) {
            if (!group.is_member[index(rank)]) {
                value->fail(fmt::format("rank {} runs this program and is not in group {}, which has {}", index(rank),
                                        excerpt(group.name), ranks_text(group.members)));
            }
        }
        return found;
    }

    /// Files name ranks of the job, requests those of the communicator.
    RankId root_of(const YamlValue& value, Operation operation, const Group& group) const {
        if (!collective::has_root(operation)) {
            value.fail(fmt::format("{} has no root", collective::name_of(operation)));
        }
        const auto most = static_cast<std::int64_t>(group.is_member.size()) - 1;
        const std::int64_t number = collective::ScopedNumber(value, *scope_).count({}, 0, most, "a rank");
        const auto root = id_at<RankId>(static_cast<std::size_t>(number));
        if (!group.is_member[index(root)]) {
            value.fail(fmt::format("rank {} is not in group {}, which has {}", number, excerpt(group.name),
                                   ranks_text(group.members)));
        }
        const auto found = std::ranges::find(group.members, root);
        return id_at<RankId>(static_cast<std::size_t>(found - group.members.begin()));
    }

    static Parallelism kind_of(const YamlValue& value) {
        std::vector<std::string> names;
        for (std::size_t kind = 0; kind < parallelism_count; ++kind) {
            names.emplace_back(name_of(static_cast<Parallelism>(kind)));
        }
        return static_cast<Parallelism>(std::ranges::find(names, value.one_of(names)) - names.begin());
    }

    static constexpr StreamId compute_stream_{0};

    const std::vector<Group>* groups_;
    const collective::Scope* scope_;
    const std::vector<std::string>* streams_;
    const FindSchedule* find_schedule_;
    WrittenProgram* into_;
};

std::vector<std::string> read_streams(YamlMap& root) {
    const auto value = root.find("streams");
    if (!value) {
        return {"compute", "communication"};
    }
    std::vector<std::string> names;
    for (const YamlValue& item : value->list()) {
        names.push_back(item.text());
        if (std::ranges::count(names, names.back()) > 1) {
            item.fail(fmt::format("stream {} is there already", excerpt(names.back())));
        }
        if (names.size() > most_streams) {
            item.fail(fmt::format("a GPU has at most {} streams", most_streams));
        }
    }
    if (names.empty()) {
        value->fail("expected the names of streams, the compute stream first, got none");
    }
    return names;
}

Group group_of(std::string name, std::vector<RankId> members, std::size_t ranks) {
    Group group{std::move(name), std::move(members), std::vector<bool>(ranks, false)};
    for (const RankId rank : group.members) {
        group.is_member[index(rank)] = true;
    }
    return group;
}

/// The group of all ranks comes first.
std::vector<Group> read_groups(YamlMap& root, const collective::Scope& scope, std::size_t ranks) {
    std::vector<RankId> all(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        all[rank] = id_at<RankId>(rank);
    }
    std::vector<Group> groups{group_of(std::string(everybody), std::move(all), ranks)};
    if (const auto value = root.find("groups")) {
        for (const auto& [name, members] : value->map().entries()) {
            if (name == everybody) {
                members.fail("that name stands for the group of all ranks");
            }
            groups.push_back(
                group_of(name, collective::selected_ranks(members, scope, static_cast<std::uint32_t>(ranks)), ranks));
            if (groups.back().members.empty()) {
                members.fail("a group has at least one rank");
            }
        }
    }
    return groups;
}

class ProgramsReader {
  public:
    ProgramsReader(const std::vector<Group>& groups, const collective::Scope& scope, const FindSchedule& find_schedule,
                   const TaskGraph& graph)
        : groups_(&groups),
          scope_(&scope),
          find_schedule_(&find_schedule),
          graph_(&graph),
          has_program_(graph.ranks, false) {}

    std::vector<WrittenProgram> read(const YamlValue& value) {
        std::vector<WrittenProgram> programs;
        for (const YamlValue& item : value.list()) {
            YamlMap map = item.map();
            WrittenProgram& program = programs.emplace_back();
            program.ranks = ranks_of(map.require("ranks"));
            const YamlValue tasks = map.require("tasks");
            map.finish();
            TaskReader reader(*groups_, *scope_, graph_->streams, *find_schedule_, program);
            for (const YamlValue& task : tasks.list()) {
                reader.read(task);
            }
            if (program.tasks.empty()) {
                tasks.fail("a program has at least one task");
            }
        }
        const auto idle = std::ranges::find(has_program_, false);
        if (idle != has_program_.end()) {
            value.fail(fmt::format("rank {} has no program, and there are {} ranks: give it one, or lower `ranks`",
                                   idle - has_program_.begin(), graph_->ranks));
        }
        return programs;
    }

  private:
    std::vector<RankId> ranks_of(const YamlValue& value) {
        std::vector<RankId> ranks;
        if (value.is_scalar() && value.text() == "others") {
            for (std::size_t rank = 0; rank < graph_->ranks; ++rank) {
                if (!has_program_[rank]) {
                    ranks.push_back(id_at<RankId>(rank));
                }
            }
            if (ranks.empty()) {
                value.fail("no ranks are left without a program");
            }
        } else {
            ranks = collective::selected_ranks(value, *scope_, static_cast<std::uint32_t>(graph_->ranks));
        }
        if (ranks.empty()) {
            value.fail("expected at least one rank");
        }
        for (const RankId rank : ranks) {
            if (has_program_[index(rank)]) {
                value.fail(fmt::format("rank {} has a program already", index(rank)));
            }
            has_program_[index(rank)] = true;
        }
        return ranks;
    }

    const std::vector<Group>* groups_;
    const collective::Scope* scope_;
    const FindSchedule* find_schedule_;
    const TaskGraph* graph_;
    std::vector<bool> has_program_;
};

/// Throws: InputError at the algorithm that was chosen for a call and cannot serve its group on these GPUs.
void require_algorithms(const std::vector<Group>& groups, const std::vector<WrittenProgram>& programs,
                        const Places& places, std::size_t ranks) {
    std::vector<VertexId> gpus;
    std::vector<std::optional<collective::Communicator>> communicators(groups.size());
    for (const WrittenProgram& program : programs) {
        for (const WrittenCall& written : program.calls) {
            if (!written.algorithm_at || written.call.algorithm == "auto" || written.call.schedule) {
                continue;
            }
            if (gpus.empty()) {
                gpus = places.placement.empty() ? collective::default_placement(places.fabric, ranks)
                                                : std::vector(places.placement.begin(), places.placement.end());
            }
            auto& communicator = communicators[written.call.communicator];
            if (!communicator) {
                std::vector<VertexId> members;
                for (const RankId rank : groups[written.call.communicator].members) {
                    members.push_back(gpus[index(rank)]);
                }
                communicator.emplace(places.fabric, std::move(members));
            }
            const collective::Algorithm& algorithm = collective::algorithm_named(written.call.algorithm);
            if (const auto obstacle = algorithm.obstacle(*communicator, written.call.request)) {
                written.algorithm_at->fail(*obstacle);
            }
        }
    }
}

}  // namespace

void read_tasks(YamlMap& root, const Parameters& parameters, const Places& places, const FindSchedule& find_schedule,
                TaskGraph& graph) {
    collective::Scope scope(parameters);
    if (!parameters.declares("ranks")) {
        scope.add_constant("ranks", static_cast<double>(graph.ranks));
    }
    graph.streams = read_streams(root);
    const std::vector<Group> groups = read_groups(root, scope, graph.ranks);
    std::vector<WrittenProgram> programs =
        ProgramsReader(groups, scope, find_schedule, graph).read(root.require("programs"));
    match_calls(groups, programs, graph);
    require_algorithms(groups, programs, places, graph.ranks);
    graph.program_of_rank.resize(graph.ranks);
    for (WrittenProgram& program : programs) {
        for (const RankId rank : program.ranks) {
            graph.program_of_rank[index(rank)] = static_cast<std::uint32_t>(graph.programs.size());
        }
        graph.programs.push_back(std::move(program.tasks));
    }
}

}  // namespace lockstep::workload
