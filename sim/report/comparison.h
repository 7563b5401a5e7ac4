#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/port_model.h"
#include "sim/replay/result.h"

namespace lockstep::report {

/// A range of sizes in which one algorithm is the fastest of those compared.
struct Reign {
    std::string algorithm;
    Bytes first;  ///< the smallest size at which it was seen to be the fastest
    Bytes last;   ///< the largest
    /// Where the next one takes over: where straight lines through both one's times at `last` and at the next size
    /// cross. None for the last reign, and where one of the two was not run at both sizes.
    std::optional<Bytes> until;
};

/// Which algorithm is the fastest at which sizes. rows: by size, ascending; several algorithms at each. Times within
/// 1e-9 of each other are equal, and then the one that reigns already stays, or else the first row wins. Sizes at which
/// nothing takes time are left out.
std::vector<Reign> reigns(std::span<const replay::CollectiveRun> rows);

/// Whether some size has more than one row: then there is something to compare.
bool compares(std::span<const replay::CollectiveRun> rows);

/// What a row's algorithm takes by the book.
struct Formula {
    Seconds time;
    collective::Cost::Holds holds;  ///< exactly: only where the fabric is uniform, with one port a rank, too
};

/// None where the row has no cost (a schedule from a file) or the fabric no model (one rank).
std::optional<Formula> formula(const replay::CollectiveRun& row, const std::optional<collective::PortModel>& model);

}  // namespace lockstep::report
