#pragma once

#include <span>
#include <string_view>

#include "sim/engine/engine.h"

namespace lockstep::engine {

/// All engines; the first is the default.
std::span<const EngineKind> engines();

/// Throws: InputError with the nearest known name.
const EngineKind& engine_named(std::string_view name);

}  // namespace lockstep::engine
