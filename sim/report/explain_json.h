#pragma once

#include <ostream>

#include "sim/report/explain.h"

namespace lockstep::report {

/// `lockstep.explain/1`, as docs/json.md describes it: what the animated page is drawn from.
void write_json(std::ostream& out, const Explanation& explanation);

}  // namespace lockstep::report
