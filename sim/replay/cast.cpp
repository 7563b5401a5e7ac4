#include "sim/replay/cast.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace lockstep::replay {

using workload::CallId;
using workload::Program;
using workload::TaskGraph;
using workload::TaskId;

namespace {

const Program& program_of(const TaskGraph& graph, RankId rank) {
    return graph.programs[graph.program_of_rank[index(rank)]];
}

/// Sets that grow together, of things numbered from 0.
class DisjointSets {
  public:
    explicit DisjointSets(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }

    std::size_t find(std::size_t thing) {
        while (parent_[thing] != thing) {
            parent_[thing] = parent_[parent_[thing]];
            thing = parent_[thing];
        }
        return thing;
    }
    void join(std::size_t a, std::size_t b) {
        a = find(a);
        b = find(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<std::size_t> parent_;
};

}  // namespace

void Cast::add_actor(const TaskGraph& graph, RankId rank) {
    actors_.push_back(rank);
    first_place_.push_back(places_.size());
    places_.resize(places_.size() + program_of(graph, rank).size());
}

Cast::Cast(const TaskGraph& graph, const Scripts& scripts) {
    std::vector<std::shared_ptr<PreparedSchedule>> prepared;
    for (std::uint32_t script = 0; script < scripts.size(); ++script) {
        const Script& what = scripts[script];
        prepared.push_back(
            std::make_shared<PreparedSchedule>(scripts.communicator(what.communicator), what.schedule, what.bytes));
    }
    std::vector<std::uint32_t> number(graph.calls.size(), none);
    for (std::size_t call = 0; call < graph.calls.size(); ++call) {
        const std::uint32_t script = scripts.of(id_at<CallId>(call));
        if (script != Scripts::none) {
            number[call] = static_cast<std::uint32_t>(calls_.size());
            calls_.push_back({id_at<CallId>(call),
                              static_cast<std::uint32_t>(graph.communicators[graph.calls[call].communicator].size()),
                              prepared[script]});
        }
    }
    // By rank: its communicators and its place in each, by communicator.
    std::vector<std::vector<std::pair<std::uint32_t, RankId>>> places(graph.ranks);
    for (std::uint32_t communicator = 0; communicator < graph.communicators.size(); ++communicator) {
        const auto& members = graph.communicators[communicator];
        for (std::size_t place = 0; place < members.size(); ++place) {
            places[index(members[place])].emplace_back(communicator, id_at<RankId>(place));
        }
    }
    for (std::size_t rank = 0; rank < graph.ranks; ++rank) {
        add_actor(graph, id_at<RankId>(rank));
        const Program& program = program_of(graph, id_at<RankId>(rank));
        for (std::size_t task = 0; task < program.size(); ++task) {
            if (!program[task].call || number[index(*program[task].call)] == none) {
                continue;
            }
            const std::uint32_t communicator = graph.calls[index(*program[task].call)].communicator;
            const auto found =
                std::ranges::lower_bound(places[rank], communicator, {}, &std::pair<std::uint32_t, RankId>::first);
            if (found == places[rank].end() || found->first != communicator) {
                throw std::invalid_argument(fmt::format("rank {} calls a group that it is not in", rank));
            }
            places_[first_place_[rank] + task] = {number[index(*program[task].call)], found->second};
        }
    }
}

namespace {

/// Finds the calls of a fold: which places of actors play together.
class FoldedCalls {
  public:
    FoldedCalls(const TaskGraph& graph, const Scripts& scripts, const ProgramCalls& calls, const Fold& fold)
        : graph_(&graph), scripts_(&scripts), calls_(&calls), fold_(&fold), sets_(0) {
        std::size_t tasks = 0;
        for (const RankId rank : fold.actors()) {
            first_.push_back(tasks);
            tasks += program_of(graph, rank).size();
        }
        sets_ = DisjointSets(tasks);
        join_calls();
    }

    /// A task of an actor that is a call, or several that play together.
    struct Part {
        ActorId actor{};
        TaskId task{};
        CallId call{};
        std::uint32_t script = 0;
        RankId place{};  ///< in the call's own communicator
    };

    /// By set; each in the order of actors and tasks.
    std::vector<std::vector<Part>> found() {
        std::map<std::size_t, std::size_t> number;
        std::vector<std::vector<Part>> all;
        for_each_call([&](const Part& part) {
            const auto [entry, fresh] = number.try_emplace(sets_.find(node(part.actor, part.task)), all.size());
            if (fresh) {
                all.emplace_back();
            }
            all[entry->second].push_back(part);
        });
        return all;
    }

    /// The task of an actor that stands for what the peer does in a call.
    std::pair<ActorId, TaskId> stand_in(CallId call, RankId peer) const {
        const RankId rank = graph_->communicators[graph_->calls[index(call)].communicator][index(peer)];
        return {fold_->actor_of(rank), *calls_->task_of(graph_->program_of_rank[index(rank)], call)};
    }

  private:
    std::size_t node(ActorId actor, TaskId task) const { return first_[index(actor)] + index(task); }

    template <class Visit>
    void for_each_call(const Visit& visit) const {
        for (std::size_t actor = 0; actor < fold_->actors().size(); ++actor) {
            const RankId rank = fold_->actors()[actor];
            const Program& program = program_of(*graph_, rank);
            for (std::size_t task = 0; task < program.size(); ++task) {
                const auto call = program[task].call;
                if (call && scripts_->of(*call) != Scripts::none) {
                    const std::uint32_t communicator = graph_->calls[index(*call)].communicator;
                    const auto place = places_.find({communicator, rank});
                    visit(Part{id_at<ActorId>(actor), id_at<TaskId>(task), *call, scripts_->of(*call),
                               place == places_.end() ? RankId{} : place->second});
                }
            }
        }
    }

    /// All that takes part in a call of an actor's plays together, by those who stand for it.
    void join_calls() {
        std::set<CallId> seen;
        for_each_call([&](const Part& part) {
            if (!seen.insert(part.call).second) {
                return;
            }
            const std::uint32_t communicator = graph_->calls[index(part.call)].communicator;
            for (const auto& [actor, program] : kinds_of_members(communicator)) {
                sets_.join(node(part.actor, part.task), node(actor, *calls_->task_of(program, part.call)));
            }
        });
    }

    /// The members of a communicator, by who stands for them and their programs.
    const std::set<std::pair<ActorId, std::uint32_t>>& kinds_of_members(std::uint32_t communicator) {
        const auto [entry, fresh] = kinds_.try_emplace(communicator);
        if (fresh) {
            const auto& members = graph_->communicators[communicator];
            for (std::size_t place = 0; place < members.size(); ++place) {
                const ActorId actor = fold_->actor_of(members[place]);
                entry->second.emplace(actor, graph_->program_of_rank[index(members[place])]);
                if (fold_->actors()[index(actor)] == members[place]) {
                    places_.emplace(std::make_pair(communicator, members[place]), id_at<RankId>(place));
                }
            }
        }
        return entry->second;
    }

    const TaskGraph* graph_;
    const Scripts* scripts_;
    const ProgramCalls* calls_;
    const Fold* fold_;
    DisjointSets sets_;
    std::vector<std::size_t> first_;  ///< by actor, of its tasks
    std::map<std::uint32_t, std::set<std::pair<ActorId, std::uint32_t>>> kinds_;
    std::map<std::pair<std::uint32_t, RankId>, RankId> places_;  ///< of actors, by communicator and rank
};

}  // namespace

Cast::Cast(const TaskGraph& graph, const Scripts& scripts, const ProgramCalls& calls, const Fold& fold) : fold_(&fold) {
    for (const RankId rank : fold.actors()) {
        add_actor(graph, rank);
    }
    FoldedCalls folded(graph, scripts, calls, fold);
    // Calls of the same seats share a schedule. (Where an actor has two seats, who plays with which of them differs.)
    std::map<std::vector<std::tuple<ActorId, std::uint32_t, RankId>>, std::shared_ptr<PreparedSchedule>> known;
    for (const auto& parts : folded.found()) {
        std::vector<Seat> seats;
        std::vector<std::tuple<ActorId, std::uint32_t, RankId>> key;
        bool alone = true;
        for (const auto& part : parts) {
            alone = alone && (seats.empty() || seats.back().actor != part.actor);
            places_[first_place_[index(part.actor)] + index(part.task)] = {static_cast<std::uint32_t>(calls_.size()),
                                                                           id_at<RankId>(seats.size())};
            seats.push_back({part.actor, part.script, part.place});
            key.emplace_back(part.actor, part.script, part.place);
        }
        const auto make = [&] {
            return std::make_shared<PreparedSchedule>(fold.prepared(seats, [&](std::size_t seat, RankId peer) {
                const auto [actor, task] = folded.stand_in(parts[seat].call, peer);
                return index(place_of(actor, task).at);
            }));
        };
        std::shared_ptr<PreparedSchedule> schedule;
        if (alone) {
            auto& entry = known[key];
            if (entry == nullptr) {
                entry = make();
            }
            schedule = entry;
        } else {
            schedule = make();
        }
        calls_.push_back({parts.front().call, static_cast<std::uint32_t>(parts.size()), std::move(schedule)});
    }
}

}  // namespace lockstep::replay
