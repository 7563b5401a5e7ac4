#pragma once

#include "sim/base/yaml.h"
#include "sim/fabric/assembly.h"
#include "sim/fabric/catalogue.h"

namespace lockstep::fabric {

/// Adds what connects the nodes, as `fabric` of a topology file describes it (docs/topology-yaml.md). Throws:
/// InputError, also when the endpoints do not fit.
void add_fabric(Assembly& assembly, const Endpoints& endpoints, const YamlValue& value, const Catalogue& catalogue);

/// The kinds of it. Each reads its keys from `map`; the caller finishes it.
void add_single_switch(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);
void add_leaf_spine(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);
void add_fat_tree(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);
void add_rail_optimized(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);
void add_torus(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);
void add_dragonfly(Assembly& assembly, const Endpoints& endpoints, YamlMap& map, const Catalogue& catalogue);

/// Adds the `vertices` and `links` that a file lists one by one. Links may name anything that is already there.
/// Throws: InputError.
void add_vertices(Assembly& assembly, const YamlValue& value, const Catalogue& catalogue);
void add_links(Assembly& assembly, const YamlValue& value, const Catalogue& catalogue);

}  // namespace lockstep::fabric
