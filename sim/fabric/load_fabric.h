#pragma once

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// Builds the fabric that a topology file describes (docs/topology-yaml.md), with the file's parameters as they are
/// now. Devices are looked up by name in `models/devices/` of `data`. Throws: InputError with position for anything the
/// file says that cannot be.
Fabric load_fabric(const YamlFile& file, const DataFiles& data);

}  // namespace lockstep::fabric
