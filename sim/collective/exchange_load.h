#pragma once

#include "sim/base/units.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The most that any rank sends to or receives from all others together.
Bytes busiest_port(const SizeMatrix& sizes);
/// Whether every rank has as much for every other.
bool is_even(const SizeMatrix& sizes);

}  // namespace lockstep::collective
