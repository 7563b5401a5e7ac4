#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

enum class Severity : std::uint8_t {
    error,    ///< some job cannot run on this fabric
    warning,  ///< it can, but this is most likely not what was meant
    note      ///< worth knowing
};

std::string_view name_of(Severity severity);

/// What kind of thing was found, so that a script need not read the message.
enum class Concern : std::uint8_t {
    disconnected_gpus,
    stranded_gpus,
    unreachable_pairs,
    gpu_without_link,
    idle_nic,
    isolated_vertex,
    oversubscription,
    rounded_oversubscription,
    mixed_bundle,
    unlike_nodes,
    slow_cable,
    slow_nic_bus
};

std::string_view name_of(Concern concern);

struct Finding {
    Severity severity = Severity::note;
    Concern concern = Concern::isolated_vertex;
    std::string message = {};             ///< names the vertices and says which side to change
    std::vector<VertexId> vertices = {};  ///< all that it is about
};

/// What looks wrong in a fabric, worst first. Cost: linear in the fabric but for pairs of GPUs that only GPUs could
/// join (those are searched in fabrics of up to 4,096 GPUs).
std::vector<Finding> check(const Fabric& fabric);

}  // namespace lockstep::fabric
