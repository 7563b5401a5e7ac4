#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/base/parameters.h"
#include "sim/base/yaml.h"
#include "sim/cli/flags.h"
#include "sim/cli/targets.h"
#include "sim/engine/engines.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/replay.h"
#include "sim/report/setup.h"

namespace lockstep::cli {

/// The files that a command reads, with all settings applied.
struct InputFiles {
    YamlFile topology;
    std::optional<YamlFile> workload;
    std::vector<InputPath> paths;  ///< of these, of the network that the workload names, and of the placement
};

/// Loads the topology and, where one is named, the workload. Throws: InputError.
InputFiles load_files(const DataFiles& data, const InputOptions& options);

/// The parameters of a file with the values they have.
std::vector<report::ParameterInForce> in_force(const Parameters& parameters);

/// The engine, routing and seed asked for.
struct EngineChoice {
    const engine::EngineKind* engine = nullptr;         ///< never null
    std::optional<fabric::RoutingPolicy> routing = {};  ///< none: as the topology says
    std::uint64_t seed = 1;
    replay::Folding folding = replay::Folding::on;  ///< off with any but our own engine: SimGrid is the reference
};

/// Throws: InputError with the nearest known word.
EngineChoice engine_choice(const EngineOptions& options);

/// What reports say of how a result was made.
report::Setup setup_of(const InputFiles& files, const EngineChoice& choice, const fabric::Fabric& fabric);

/// rank -> GPU: as the placement file says, else the default of the fabric; as many as --ranks says, else all there
/// are. Throws: InputError for a file that names what is no GPU of the fabric, or one twice; for more ranks than GPUs;
/// and where --ranks and the file disagree.
std::vector<VertexId> placement_of(const fabric::Fabric& fabric, const InputOptions& options);

/// Wall clock since `begin` (Seconds of a steady clock) and the most memory so far; none where it is to be left out.
class MachineMeter {
  public:
    MachineMeter();
    std::optional<report::MachineUse> use(MachineFigures figures) const;

  private:
    Seconds begin_;
};

}  // namespace lockstep::cli
