#pragma once

#include <cstdint>

#include "tests/collective/fabrics.h"

#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

namespace lockstep::collective {

/// A network of two levels whose switches can reduce. Latencies: 0.1 us per link inside a node, 1 us from a NIC to its
/// leaf, 2 us from a leaf to a spine.
struct Network {
    std::uint32_t leaves = 2;
    std::uint32_t nodes_on_leaf = 2;
    std::uint32_t gpus_in_node = 1;
    std::uint32_t nics_of_gpu = 1;
    std::uint32_t spines = 1;
    bool leaves_reduce = true;
    bool spines_reduce = true;
    Island inside = Island::reducing;
    Bandwidth nic = {50e9};           ///< of each; the uplinks are as fast
    Bandwidth inside_rate = {400e9};  ///< of a GPU to its island, or to each peer; to its NIC
};

/// Where NIC number k of a node, counted over its GPUs, hangs on the leaf of rail k: `leaves` for each rail.
fabric::Fabric network(const Network& shape);

/// Runs it on an engine of its own.
replay::CollectiveRun run_on(const Communicator& communicator, const Request& request, const char* algorithm,
                             const engine::EngineKind& kind);

/// Each of the engines in turn.
const engine::EngineKind& each_engine();

}  // namespace lockstep::collective
