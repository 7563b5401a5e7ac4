#pragma once

#include <span>
#include <string>

#include "sim/report/explain.h"

namespace lockstep::report {

/// Who sends to whom in some messages of a step, as a sentence without its full stop: "Every rank sends a chunk to the
/// next rank", "Ranks 0 and 3 swap 2 chunks with one other rank: …". Requires: messages between two ranks, one at
/// least.
std::string pattern_of(const Explanation& explanation, std::span<const Move* const> moves);

/// "a, b and c"
std::string words_joined(std::span<const std::string> words);

}  // namespace lockstep::report
