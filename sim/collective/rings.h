#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/direct_links.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// The order in which a mesh is best walked: a Hamiltonian cycle of the widest direct links, else a path along direct
/// links, else none. Requires: at least 2 GPUs.
std::optional<std::vector<std::uint32_t>> mesh_order(const DirectLinks& links);

/// The rings of a communicator as places in its list of GPUs; what Communicator::rings() promises.
/// nodes: the places of each node. Cost: O(rings * GPUs + links of the GPUs and their nodes), up to logarithms.
std::vector<std::vector<RankId>> find_rings(const fabric::Fabric& fabric, std::span<const VertexId> gpus,
                                            const std::vector<std::vector<RankId>>& nodes);

}  // namespace lockstep::collective
