#pragma once

#include <functional>

#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// Checks (Catch2) that `after` does the same as `before`: it is proved in both orders of turns, with as many messages
/// and bytes, one after the other, and takes the same time with the same bytes on every link of the fabric.
void check_same(const Communicator& communicator, const Schedule& before, const Schedule& after);

/// Calls `check` with a schedule of each algorithm of the table for each operation that it can do on the fabric; roots
/// lie in the middle. Returns how many there were.
int for_each_schedule(const fabric::Fabric& fabric,
                      const std::function<void(const Communicator&, const Schedule&)>& check);

}  // namespace lockstep::collective
