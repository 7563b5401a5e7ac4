#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/report/explain.h"

namespace lockstep::report {

/// `3`; `2–5`; `0, 2 and 5`. Where it takes more than `most` words, the rest is counted: `0, 2, 4 and 5 more`.
/// numbers: ascending.
std::string listed(std::span<const std::uint32_t> numbers, std::size_t most = 6);
std::string listed(std::span<const RankId> ranks, std::size_t most = 6);

/// "chunk 3", "chunks 2–5".
std::string chunks_text(std::span<const std::uint32_t> chunks);

/// In binary units, four digits: `1.5 MiB`, `349.5 KiB`; below 10 KiB to the byte.
std::string bytes_text(Bytes bytes);

/// "ring all_reduce"
std::string title(const Explanation& explanation);

/// "4 ranks on single-switch, 1 MiB in 4 chunks of 256 KiB"
std::string setting(const Explanation& explanation);

/// What happens in a step, one or two sentences. Requires: the step's moves and changes are there.
std::string sentence(const Explanation& explanation, std::size_t step);

/// What came out and why, a paragraph each: what is held at the end, where the simulated time differs from the formula
/// and from the bound, and why busbw is what it is.
std::vector<std::string> conclusions(const Explanation& explanation);

}  // namespace lockstep::report
