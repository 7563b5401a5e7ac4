#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/communicator.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// GPUs without nodes, each with one link of `rate` and `latency` to one switch.
fabric::Fabric single_switch(std::uint32_t gpus, Bandwidth rate = {50e9}, Seconds latency = {10e-9});

enum class Island : std::uint8_t { switched, reducing, full_mesh, loop };

/// Nodes as of a DGX: GPUs joined by an island (switches with 450 GB/s for each GPU, or 64 GB/s links to all or to two
/// neighbours), each with a NIC at 50 GB/s behind PCIe at 60 GB/s, rail r of all nodes on a switch of its own, rails
/// joined by a spine. Latencies: 1 us per link outside the node, 0.1 us inside.
fabric::Fabric dgx_cluster(std::uint32_t nodes, std::uint32_t gpus_per_node, Island island);

/// The hybrid cube mesh of a DGX-1 with V100: 25 GB/s per NVLink, no switch. GPUs forward nothing.
fabric::Fabric cube_mesh();

/// GPUs of one node, every pair joined by a link of 64 GB/s.
fabric::Fabric full_mesh(std::uint32_t gpus);

enum class Wrap : std::uint8_t { none, all };

/// GPUs without nodes in a grid, 50 GB/s to each neighbour, dimension 0 numbered fastest. GPUs forward traffic.
fabric::Fabric grid(const std::vector<std::uint32_t>& extents, Wrap wrap);

/// The same, with GPUs numbered in an order drawn from `seed`.
fabric::Fabric scattered_grid(const std::vector<std::uint32_t>& extents, Wrap wrap, std::uint64_t seed);

/// All GPUs, placed by default.
Communicator everybody(const fabric::Fabric& fabric);

}  // namespace lockstep::collective
