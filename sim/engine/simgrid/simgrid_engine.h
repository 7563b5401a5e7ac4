#pragma once

#include <memory>

#include "sim/engine/engine.h"

namespace lockstep::engine {

/// SimGrid's network solver (CM02), the reference that `fluid` is compared with. Its correction factors for TCP on
/// grids (latency 13.01, bandwidth 0.97, 5 % of cross traffic) are off. Slow: use it to check, not to explore.
/// Only one can be alive in a process; the next may be made once it is gone.
/// Throws: std::logic_error while another is alive. start_flow throws InputError for a route whose shares are no ratios
/// of small whole numbers.
std::unique_ptr<Engine> make_simgrid_engine(const fabric::Fabric& fabric);

}  // namespace lockstep::engine
