#pragma once

#include <cstddef>
#include <ostream>

#include "sim/report/explain.h"

namespace lockstep::report {

/// Whether text carries the escape sequences of terminals.
enum class Colour : std::uint8_t { never, always };

/// How much is printed.
struct TextLimits {
    std::size_t width = 100;  ///< in characters; columns of chunks beyond are left out
    std::size_t steps = 16;   ///< of more, the first and the last ones are printed
    std::size_t rows = 16;    ///< of more ranks, the first and the last ones
    std::size_t moves = 16;   ///< of a step
};

/// The algorithm step by step, for a person to read: what it is, its formula, who sends what to whom and what each rank
/// holds then, and what came out. What is left out is said.
void write_text(std::ostream& out, const Explanation& explanation, Colour colour, const TextLimits& limits = {});

}  // namespace lockstep::report
