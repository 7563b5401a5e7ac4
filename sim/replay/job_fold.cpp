#include "sim/replay/job_fold.h"

#include <bit>
#include <map>
#include <string_view>

namespace lockstep::replay {

using workload::CallId;
using workload::CollectiveCall;
using workload::Task;
using workload::TaskGraph;

namespace {

Digest mix_text(Digest digest, std::string_view text) {
    digest = mix(digest, text.size());
    for (const char letter : text) {
        digest = mix(digest, static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
    }
    return digest;
}

/// What a call is to its ranks and in reports; who sends what to whom is for its script to say.
Digest kind_of(const TaskGraph& graph, const CollectiveCall& call, const std::string& algorithm) {
    Digest kind = mix_text(mix_text(Digest{}, call.name), algorithm);
    kind = mix(kind, static_cast<std::uint64_t>(call.kind));
    kind = mix(kind, static_cast<std::uint64_t>(call.request.operation));
    kind = mix(kind, static_cast<std::uint64_t>(call.request.bytes.value));
    return mix(kind, graph.communicators[call.communicator].size());
}

}  // namespace

JobFold::JobFold(const fabric::Fabric& fabric, const Units& units, fabric::Router& router, const TaskGraph& graph,
                 const Scripts& scripts, const ProgramCalls& calls, std::size_t threads) {
    if (!add_groups(graph, scripts, calls)) {
        use_ = {.nodes = units.size(),
                .classes = units.size(),
                .broken_by = "some ranks of a group do not make each of its calls once"};
        return;
    }
    add_duties(graph, scripts);
    fold_.emplace(fabric, units, router, input_, threads);
    use_ = fold_->use();
}

/// Returns: false if some rank leaves out calls of its group, or makes one twice.
bool JobFold::add_groups(const TaskGraph& graph, const Scripts& scripts, const ProgramCalls& calls) {
    std::vector<std::uint32_t> group_of(graph.communicators.size(), Scripts::none);
    std::vector<std::uint32_t> scripts_of(graph.communicators.size(), 0);
    std::vector<std::uint32_t> number(scripts.size(), 0);  // of the script within its group
    for (std::uint32_t script = 0; script < scripts.size(); ++script) {
        const std::uint32_t communicator = scripts[script].communicator;
        if (group_of[communicator] == Scripts::none) {
            group_of[communicator] = static_cast<std::uint32_t>(input_.groups.size());
            input_.groups.push_back(
                {.communicator = &scripts.communicator(communicator), .members = graph.communicators[communicator]});
        }
        number[script] = scripts_of[communicator]++;
        input_.scripts.push_back({.group = group_of[communicator],
                                  .number = number[script],
                                  .schedule = &scripts[script].schedule,
                                  .bytes = scripts[script].bytes});
    }
    std::vector<std::size_t> calls_of(graph.communicators.size(), 0);
    for (const CollectiveCall& call : graph.calls) {
        ++calls_of[call.communicator];
    }
    for (std::uint32_t communicator = 0; communicator < graph.communicators.size(); ++communicator) {
        if (group_of[communicator] == Scripts::none) {
            continue;
        }
        std::map<std::uint32_t, Digest> by_program;
        FoldGroup& group = input_.groups[group_of[communicator]];
        group.uses.reserve(group.members.size());
        for (const RankId rank : group.members) {
            const std::uint32_t program = graph.program_of_rank[index(rank)];
            const auto [entry, fresh] = by_program.try_emplace(program);
            if (fresh) {
                const auto made = calls.of(program, communicator);
                if (made.size() != calls_of[communicator]) {
                    return false;
                }
                for (std::size_t at = 0; at < made.size(); ++at) {
                    if (at > 0 && made[at - 1].call == made[at].call) {
                        return false;
                    }
                    const std::uint32_t script = scripts.of(made[at].call);
                    entry->second = mix(mix(entry->second, static_cast<std::uint64_t>(made[at].task)),
                                        script == Scripts::none ? std::uint64_t{Scripts::none} : number[script]);
                }
            }
            group.uses.push_back(entry->second);
        }
    }
    return true;
}

void JobFold::add_duties(const TaskGraph& graph, const Scripts& scripts) {
    std::vector<Digest> kinds;
    for (std::size_t at = 0; at < graph.calls.size(); ++at) {
        const std::uint32_t script = scripts.of(id_at<CallId>(at));
        kinds.push_back(kind_of(graph, graph.calls[at], script == Scripts::none ? "" : scripts[script].algorithm));
    }
    std::vector<Digest> by_program;
    for (const workload::Program& program : graph.programs) {
        Digest& all = by_program.emplace_back();
        for (const Task& task : program) {
            all = mix(all, static_cast<std::uint64_t>(task.stream));
            all = task.call ? mix(mix(all, kinds[index(*task.call)]), scripts.of(*task.call) == Scripts::none ? 1U : 2U)
                            : mix(all, std::bit_cast<std::uint64_t>(task.duration.value));
            all = mix(all, task.after.size());
            for (const workload::TaskId before : task.after) {
                all = mix(all, static_cast<std::uint64_t>(before));
            }
        }
    }
    for (const std::uint32_t program : graph.program_of_rank) {
        input_.duties.push_back(by_program[program]);
    }
}

}  // namespace lockstep::replay
