#pragma once

#include <ostream>

#include "sim/report/setup.h"

namespace lockstep::report {

/// The step for a person to read, at most 100 characters wide: step time, GPU idle fraction, where the step goes, the
/// collectives, the hottest links, and what the figures rest on.
void write_text(std::ostream& out, const StepReport& report);

/// The table that nccl-tests would print, with the lower bound and the busiest link beside the time; at most 100
/// characters wide up to the link, whose ends are named in full. Lines that are not rows begin with `#`. The average
/// bus bandwidth below is one for each algorithm where several were asked for.
void write_text(std::ostream& out, const CollectiveReport& report);

/// The GPUs in rank order, one a line with its rank and node behind a `#`: what --show-placement prints and --placement
/// reads.
void write_placement(std::ostream& out, const fabric::Fabric& fabric, std::span<const VertexId> placement);

}  // namespace lockstep::report
