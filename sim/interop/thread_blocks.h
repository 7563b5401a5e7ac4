#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/schedule.h"
#include "sim/interop/msccl_names.h"

namespace lockstep::interop {

/// A step of a thread block, with places as MSCCL names them.
struct OutStep {
    struct Place {
        char buffer = 'i';
        std::int64_t offset = -1;
    };
    MscclStep kind = MscclStep::nop;
    Place source = {'i', -1};
    Place target = {'o', -1};
    std::uint32_t count = 0;
    std::optional<std::uint32_t> after_block = {};  ///< with after_step: the step that it follows
    std::uint32_t after_step = 0;
    bool is_waited_for = false;
    bool drains = false;
};

struct OutThreadBlock {
    std::optional<RankId> send = {};
    std::optional<RankId> receive = {};
    std::uint32_t channel = 0;
    std::vector<OutStep> steps = {};
};

struct OutGpu {
    std::vector<OutThreadBlock> blocks = {};
    std::uint32_t scratch_chunks = 0;
};

/// A rank's program as thread blocks, each with one receiver and one sender at most. Loops are unrolled. steps_left:
/// how many more there may be; counted down. Throws: InputError as write_msccl.
OutGpu thread_blocks_of(const collective::Schedule& schedule, RankId rank, std::int64_t& steps_left);

}  // namespace lockstep::interop
