#pragma once

#include <vector>

#include "sim/base/units.h"
#include "sim/replay/history.h"
#include "sim/replay/result.h"

namespace lockstep::replay {

/// Where the time of those who play went in the reported step.
struct TimeAccount {
    Seconds step_time{};
    std::vector<RankTime> actors{};
    /// By CallId: time that compute streams waited for the call, summed over ranks. An actor stands for ranks whose
    /// calls are others of the same name, size and kind, so that only sums over such calls are right.
    std::vector<Seconds> exposed_by_call{};
};

/// Explains each actor's time over the last step_time seconds before its own last task ended: a rank's window holds one
/// step in steady state, whatever its lead or lag against the others. Where only one step was run, the window is that
/// of all, and a rank that ends before the others waits for them.
///
/// A GPU is busy while a kernel runs on any of its streams. Every gap ends when some task could start because the last
/// thing it waited for ended; from there the chain of waits is walked back through the gap. Time in a collective counts
/// as waiting for a straggler until the last rank of its communicator has arrived, and as exposed communication after
/// that. What no task explains is overhead.
TimeAccount account_time(const History& history);

}  // namespace lockstep::replay
