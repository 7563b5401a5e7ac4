#pragma once

#include <memory>

#include "sim/engine/engine.h"

namespace lockstep::engine {

/// Lockstep's own engine: exact max-min fair sharing, recomputed once per instant and only where something changed.
/// Memory: linear in the links and in the largest number of flows and timers there ever were at one time.
std::unique_ptr<Engine> make_fluid_engine(const fabric::Fabric& fabric);

}  // namespace lockstep::engine
