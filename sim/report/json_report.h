#pragma once

#include <ostream>

#include "sim/report/setup.h"

namespace lockstep::report {

/// `lockstep.run/1`, as docs/json.md describes it.
void write_json(std::ostream& out, const StepReport& report);

/// `lockstep.collective/1`, as docs/json.md describes it.
void write_json(std::ostream& out, const CollectiveReport& report);

}  // namespace lockstep::report
