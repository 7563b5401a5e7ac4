#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/yaml.h"
#include "sim/collective/schedule.h"
#include "sim/collective/schedule_scope.h"

namespace lockstep::collective {

/// The ranks that a value of a schedule file selects: `all`, a rank, a list of ranks, or {from, to, by}.
/// Throws: InputError, also for a rank that is listed twice.
std::vector<RankId> selected_ranks(const YamlValue& value, const Scope& scope, std::uint32_t ranks);

/// The programs of all ranks: `steps` or `threads` of every rank, or `programs` for some ranks each; with the names
/// that `let` gives to numbers. head: all of the schedule but its programs.
/// Throws: InputError.
std::vector<RankProgram> load_programs(YamlMap& root, Scope& scope, const Schedule& head);

}  // namespace lockstep::collective
