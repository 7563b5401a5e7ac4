#pragma once

#include "sim/replay/history.h"
#include "sim/replay/replay.h"
#include "sim/replay/result.h"
#include "sim/replay/scripts.h"

namespace lockstep::replay {

/// What a job's history says of the reported step, for all ranks: all but the links, the fold and the simulator's use.
StepRun step_result(const History& history, const Scripts& scripts, Timeline timeline);

}  // namespace lockstep::replay
