#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/base/yaml.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What a schedule from a file is wanted for, as far as that is known. What a file leaves open (`ranks: any`) it takes
/// from here; where it does not, the two must agree.
struct ScheduleUse {
    std::optional<Operation> operation = {};
    std::optional<std::uint32_t> ranks = {};
    std::optional<RankId> root = {};
    std::shared_ptr<const SizeMatrix> sizes = nullptr;  ///< of all_to_all_v
    /// `pieces` and `channels` set the file's parameters of that name, if it declares them.
    Tuning tuning = {};
};

/// The schedule that a file in Lockstep's own format describes (docs/schedules.md). Everything is worked out and
/// checked here, for every rank; loops are kept as loops where chunk numbers move evenly.
/// Throws: InputError with position for anything the file says that cannot be, and where it and `use` disagree, saying
/// which side to change. Limits: 65,536 ranks, 2^24 chunks, and those of StepBudget.
Schedule load_schedule(YamlFile file, const ScheduleUse& use);

/// Throws: InputError where a schedule from a file does not do what it is wanted for: another operation, number of
/// ranks or root. at: the file, for the message.
void require_use(const Schedule& schedule, const ScheduleUse& use, const SourcePosition& at);

}  // namespace lockstep::collective
