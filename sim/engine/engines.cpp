#include "sim/engine/engines.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/engine/fluid/fluid_engine.h"
#include "sim/engine/simgrid/simgrid_engine.h"

namespace lockstep::engine {

std::span<const EngineKind> engines() {
    static const std::array<EngineKind, 2> all{{
        {"fluid", "max-min fair fluid flows, exact and fast", &make_fluid_engine, true},
        {"simgrid", "SimGrid's solver as a reference, its TCP correction factors off, slow", &make_simgrid_engine,
         false},
    }};
    return all;
}

const EngineKind& engine_named(std::string_view name) {
    const std::span<const EngineKind> all = engines();
    const auto found =
        std::find_if(all.begin(), all.end(), [name](const EngineKind& kind) { return kind.name == name; });
    if (found == all.end()) {
        std::vector<std::string> known;
        for (const EngineKind& kind : all) {
            known.push_back(kind.name);
        }
        throw InputError(fmt::format("unknown engine `{}`{}", name, suggestion(name, known)));
    }
    return *found;
}

}  // namespace lockstep::engine
