#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/collective/schedule.h"

namespace lockstep::interop {

/// What a step of a thread block does; `rrcs` receives, adds, stores and sends on.
enum class MscclStep : std::uint8_t {
    send,
    receive,
    receive_copy_send,
    receive_reduce_copy,
    receive_reduce_send,
    receive_reduce_copy_send,
    copy,
    reduce,
    nop,
};

/// `s`, `r`, `rcs`, `rrc`, `rrs`, `rrcs`, `cpy`, `re`, `nop`, in the order of the kinds.
std::span<const std::string> msccl_step_names();
/// Requires: one of them.
MscclStep msccl_step_named(std::string_view name);
std::string_view name_of(MscclStep step);
bool sends(MscclStep step);
bool receives(MscclStep step);
/// Whether the step reads `srcbuf`, or writes `dstbuf`, of its own GPU.
bool uses_source(MscclStep step);
bool uses_target(MscclStep step);

/// The names of `coll`, also older ones.
std::span<const std::string> msccl_operation_names();
/// Requires: one of them.
collective::Operation operation_of(std::string_view coll);
/// The name of `coll`; none where MSCCL does not know the operation.
std::optional<std::string> coll_of(collective::Operation operation);
/// Whether the vector has a block for each rank.
bool has_blocks(collective::Operation operation);

enum class MscclBuffer : std::uint8_t { input, output };

/// Where one of MSCCL's buffers lies in ours, for a rank.
struct Region {
    collective::Buffer buffer = collective::Buffer::data;
    std::uint32_t first = 0;
    std::uint32_t size = 0;
};

/// A buffer holds the vector, or only the rank's block of it (what goes into a gather, what comes out of a scatter). In
/// place both lie in Buffer::data; out of place, which is where Schedule::result is Buffer::received, the output is
/// that.
Region region_of(const collective::Schedule& schedule, MscclBuffer buffer, RankId rank);

}  // namespace lockstep::interop
