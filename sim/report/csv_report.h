#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "sim/report/setup.h"

namespace lockstep::report {

/// The collectives of the step, a row each, under a line of column names; columns as in docs/json.md, those of the
/// whole step and of how it was made repeated in every row so that files can be put together. A step without
/// collectives is one row in which their cells are empty. RFC 4180, but lines end in \n.
void write_csv(std::ostream& out, const StepReport& report);

/// The rows of the table, under a line of column names. A rate that does not exist is an empty cell.
void write_csv(std::ostream& out, const CollectiveReport& report);

/// A cell: quoted where it contains a comma, a quote or a line break.
std::string csv_cell(std::string_view text);

}  // namespace lockstep::report
