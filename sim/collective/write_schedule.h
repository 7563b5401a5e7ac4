#pragma once

#include <ostream>
#include <string_view>

#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// Writes a schedule in Lockstep's own format (docs/schedules.md), so that load_schedule makes the same of it: loops
/// stay loops, and ranks that do alike share a program in which numbers count up with the rank where they do. Sizes of
/// all_to_all_v are left to whoever uses the file. summary: one line.
/// Throws: InputError for a schedule larger than load_schedule would read, and for a permutation. Cost: linear in the
/// instructions of all ranks.
void write_schedule(std::ostream& out, const Schedule& schedule, std::string_view summary);

}  // namespace lockstep::collective
