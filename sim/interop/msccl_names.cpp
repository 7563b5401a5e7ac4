#include "sim/interop/msccl_names.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace lockstep::interop {

using collective::Buffer;
using collective::Operation;

namespace {

const std::array<std::string, 9>& step_names() {
    static const std::array<std::string, 9> names{"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"};
    return names;
}

constexpr std::array<std::pair<std::string_view, Operation>, 9> operations{
    {{"allreduce", Operation::all_reduce},
     {"reducescatter", Operation::reduce_scatter},
     {"reduce_scatter", Operation::reduce_scatter},  // as msccl-tools writes it
     {"allgather", Operation::all_gather},
     {"broadcast", Operation::broadcast},
     {"reduce", Operation::reduce},
     {"alltoall", Operation::all_to_all},
     {"gather", Operation::gather},
     {"scatter", Operation::scatter}}};

}  // namespace

std::span<const std::string> msccl_step_names() { return step_names(); }

MscclStep msccl_step_named(std::string_view name) {
    const auto found = std::ranges::find(step_names(), name);
    if (found == step_names().end()) {
        throw std::invalid_argument("msccl_step_named: no such step");
    }
    return static_cast<MscclStep>(found - step_names().begin());
}

std::string_view name_of(MscclStep step) { return step_names()[static_cast<std::size_t>(step)]; }

bool sends(MscclStep step) {
    return step == MscclStep::send || step == MscclStep::receive_copy_send || step == MscclStep::receive_reduce_send ||
           step == MscclStep::receive_reduce_copy_send;
}

bool receives(MscclStep step) {
    return step == MscclStep::receive || step == MscclStep::receive_reduce_copy ||
           (sends(step) && step != MscclStep::send);
}

bool uses_source(MscclStep step) {
    return step != MscclStep::receive && step != MscclStep::receive_copy_send && step != MscclStep::nop;
}

bool uses_target(MscclStep step) {
    return step != MscclStep::send && step != MscclStep::receive_reduce_send && step != MscclStep::nop;
}

std::span<const std::string> msccl_operation_names() {
    static const std::array<std::string, 9> names{"allreduce", "reducescatter", "reduce_scatter",
                                                  "allgather", "broadcast",     "reduce",
                                                  "alltoall",  "gather",        "scatter"};
    return names;
}

Operation operation_of(std::string_view coll) {
    const auto found = std::ranges::find(operations, coll, &std::pair<std::string_view, Operation>::first);
    if (found == operations.end()) {
        throw std::invalid_argument("operation_of: no such collective");
    }
    return found->second;
}

std::optional<std::string> coll_of(Operation operation) {
    const auto found = std::ranges::find(operations, operation, &std::pair<std::string_view, Operation>::second);
    return found == operations.end() ? std::nullopt : std::optional(std::string(found->first));
}

bool has_blocks(Operation operation) {
    return operation == Operation::reduce_scatter || operation == Operation::all_gather ||
           operation == Operation::all_to_all || operation == Operation::gather || operation == Operation::scatter;
}

Region region_of(const collective::Schedule& schedule, MscclBuffer buffer, RankId rank) {
    const Operation operation = schedule.operation;
    const bool is_input = buffer == MscclBuffer::input;
    const bool is_block = is_input ? operation == Operation::all_gather || operation == Operation::gather
                                   : operation == Operation::reduce_scatter || operation == Operation::scatter;
    Region region{.buffer = is_input ? Buffer::data : schedule.result, .size = schedule.chunks};
    if (is_block) {
        region.size = schedule.chunks / schedule.ranks;
        region.first = static_cast<std::uint32_t>(rank) * region.size;
    }
    return region;
}

}  // namespace lockstep::interop
