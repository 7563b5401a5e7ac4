#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/switch_tiers.h"

namespace lockstep::fabric {

struct DeviceCount {
    VertexKind kind = VertexKind::gpu;
    std::string device = {};  ///< name in the catalogue, may be empty
    std::size_t count = 0;
    bool inside_nodes = true;
};

/// Links that are alike: what they are, and what stands at their ends.
struct LinkGroup {
    Link link = {};
    VertexKind from = VertexKind::gpu;  ///< the earlier kind of the two
    VertexKind to = VertexKind::gpu;
    std::size_t count = 0;  ///< full-duplex links
};

/// Least and most over the GPUs.
struct BandwidthRange {
    Bandwidth least = {};
    Bandwidth most = {};
};

/// The most that the first half of the GPUs (in their order) can send to the second over scale-out links at once.
struct Bisection {
    std::size_t first_half = 0;  ///< GPUs
    std::size_t second_half = 0;
    std::optional<Bandwidth> bandwidth = {};  ///< one direction; none when it was not worked out
    std::string reason = {};                  ///< why not
};

struct Summary {
    std::size_t nodes = 0;
    std::size_t gpus = 0;
    std::size_t links = 0;  ///< full-duplex
    RoutingPolicy routing = RoutingPolicy::static_;
    std::vector<DeviceCount> devices = {};    ///< by kind, then by first appearance
    std::vector<LinkGroup> link_groups = {};  ///< by tier, then by first appearance
    BandwidthRange scale_up_per_gpu = {};     ///< of a GPU's own scale-up links, one direction
    BandwidthRange scale_out_per_gpu = {};    ///< as WayOut::scale_out; nothing for a GPU without a way out
    std::vector<SwitchTier> tiers = {};
    Bisection bisection = {};
};

/// What there is in a fabric. Cost: linear, but for the bisection, which is a maximum flow over the fabric's switches.
Summary summarize(const Fabric& fabric);

/// The bisection alone. `most_links`: it is not worked out where more links than this join the switches.
Bisection bisection(const Fabric& fabric, std::size_t most_links);

}  // namespace lockstep::fabric
