#pragma once

#include <ostream>

#include "sim/report/explain.h"

namespace lockstep::report {

/// The explanation as one page of HTML that animates it and needs nothing else: no network, no fonts, no other file.
void write_page(std::ostream& out, const Explanation& explanation);

}  // namespace lockstep::report
