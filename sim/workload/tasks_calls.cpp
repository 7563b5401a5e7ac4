#include "sim/workload/tasks_calls.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::workload {

namespace {

bool same(const CollectiveCall& a, const CollectiveCall& b) {
    return a.request.operation == b.request.operation && a.request.bytes == b.request.bytes &&
           a.request.root == b.request.root && a.algorithm == b.algorithm;
}

/// "all_reduce `gradients` of 100 MB"
std::string described(const CollectiveCall& call, const Group& group) {
    const collective::Operation operation = call.request.operation;
    std::string text = fmt::format("{} {}", collective::name_of(operation), excerpt(call.name));
    if (operation != collective::Operation::barrier) {
        text += fmt::format(" of {}", to_text(call.request.bytes));
    }
    if (collective::has_root(operation)) {
        text += fmt::format(" with root {}", index(group.members[index(call.request.root)]));
    }
    return call.algorithm == "auto" ? text : fmt::format("{} by {}", text, call.algorithm);
}

/// What one program calls of one group, in order.
std::vector<WrittenCall*> calls_of(WrittenProgram& program, std::size_t group) {
    std::vector<WrittenCall*> calls;
    for (WrittenCall& written : program.calls) {
        if (written.call.communicator == group) {
            calls.push_back(&written);
        }
    }
    return calls;
}

[[noreturn]] void refuse(const Group& group, std::size_t place, const WrittenCall& first,
                         const WrittenProgram& first_program, const WrittenCall& other,
                         const WrittenProgram& other_program) {
    const auto members_of = [&](const WrittenProgram& program) {
        std::vector<RankId> members;
        std::ranges::copy_if(program.ranks, std::back_inserter(members),
                             [&](RankId rank) { return group.is_member[index(rank)]; });
        return ranks_text(members);
    };
    throw SimulationError(fmt::format(
        "{}: call {} on group {} is {} for {}, but {} for {} ({}): all ranks of a group have to make the same calls in "
        "the same order",
        to_text(other.at.position()), place + 1, excerpt(group.name), described(other.call, group),
        members_of(other_program), described(first.call, group), members_of(first_program),
        to_text(first.at.position())));
}

}  // namespace

void match_calls(const std::vector<Group>& groups, std::vector<WrittenProgram>& programs, TaskGraph& graph) {
    std::vector<std::size_t> program_of_rank(graph.ranks);
    for (std::size_t at = 0; at < programs.size(); ++at) {
        for (const RankId rank : programs[at].ranks) {
            program_of_rank[index(rank)] = at;
        }
    }
    for (std::size_t group = 0; group < groups.size(); ++group) {
        graph.communicators.push_back(groups[group].members);
        // Which call of the graph stands at each place, and who made it first.
        struct Place {
            CallId id{};
            const WrittenCall* first = nullptr;
            const WrittenProgram* first_program = nullptr;
        };
        std::vector<Place> places;
        std::vector<bool> is_read(programs.size(), false);
        for (const RankId rank : groups[group].members) {
            const std::size_t at = program_of_rank[index(rank)];
            if (is_read[at]) {
                continue;
            }
            is_read[at] = true;
            const std::vector<WrittenCall*> calls = calls_of(programs[at], group);
            for (std::size_t place = 0; place < calls.size(); ++place) {
                if (place == places.size()) {
                    places.push_back({id_at<CallId>(graph.calls.size()), calls[place], &programs[at]});
                    graph.calls.push_back(calls[place]->call);
                } else if (!same(calls[place]->call, places[place].first->call)) {
                    refuse(groups[group], place, *places[place].first, *places[place].first_program, *calls[place],
                           programs[at]);
                }
                programs[at].tasks[calls[place]->task].call = places[place].id;
            }
        }
    }
}

}  // namespace lockstep::workload
