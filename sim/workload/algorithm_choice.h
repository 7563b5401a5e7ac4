#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/base/yaml.h"
#include "sim/collective/load_schedule.h"
#include "sim/collective/schedule.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload {

/// Finds the schedule that a name other than an algorithm's stands for: a file or one that is shipped. Null where there
/// is none of that name. Throws: InputError for a schedule that cannot be read or is for another use. May be empty:
/// there are only algorithms then.
using FindSchedule =
    std::function<std::shared_ptr<const collective::Schedule>(const std::string& name, const collective::ScheduleUse&)>;

/// Sets what a call is done by, an algorithm of the table, `auto` or a schedule from a file. at: what the workload
/// says; call: with its request but for the size; ranks: of its communicator.
/// Throws: InputError at that place for what knows nothing of the operation or is for other ranks.
void choose_algorithm(CollectiveCall& call, const YamlValue& at, std::size_t ranks, const FindSchedule& find_schedule);

}  // namespace lockstep::workload
