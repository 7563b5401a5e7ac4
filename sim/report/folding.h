#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/replay/result.h"
#include "sim/report/json_stream.h"

namespace lockstep::report {

/// How far a run was folded, in words: `16384 nodes in 64 classes`, and what keeps them apart. Empty where there was
/// nothing to fold: one node, or folding was off.
std::string folding_text(const replay::FoldUse& fold);

/// A line for each way in which rows were folded, with the algorithms where there are several.
std::vector<std::string> folding_lines(std::span<const replay::CollectiveRun> rows);

/// null where folding was off.
Json folding_json(const replay::FoldUse& fold);

}  // namespace lockstep::report
