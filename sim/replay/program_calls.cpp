#include "sim/replay/program_calls.h"

#include <algorithm>
#include <tuple>

#include "sim/base/ids.h"

namespace lockstep::replay {

using workload::CallId;
using workload::TaskId;

ProgramCalls::ProgramCalls(const workload::TaskGraph& graph) : graph_(&graph) {
    for (const workload::Program& program : graph.programs) {
        auto& entries = entries_.emplace_back();
        for (std::size_t task = 0; task < program.size(); ++task) {
            if (const auto call = program[task].call) {
                entries.push_back({graph.calls[index(*call)].communicator, *call, id_at<TaskId>(task)});
            }
        }
        std::ranges::sort(entries, {}, [](const Entry& entry) {
            return std::make_tuple(entry.communicator, entry.call, entry.task);
        });
    }
}

std::span<const ProgramCalls::Entry> ProgramCalls::of(std::uint32_t program, std::uint32_t communicator) const {
    const auto found = std::ranges::equal_range(entries_[program], communicator, {}, &Entry::communicator);
    return {found.begin(), found.end()};
}

std::optional<TaskId> ProgramCalls::task_of(std::uint32_t program, CallId call) const {
    const auto calls = of(program, graph_->calls[index(call)].communicator);
    const auto found = std::ranges::lower_bound(calls, call, {}, &Entry::call);
    return found != calls.end() && found->call == call ? std::optional(found->task) : std::nullopt;
}

}  // namespace lockstep::replay
