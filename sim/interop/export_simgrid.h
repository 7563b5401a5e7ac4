#pragma once

#include <cstddef>
#include <ostream>
#include <span>

#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"

namespace lockstep::interop {

/// A platform file names a route for each ordered pair of hosts: with so many it is some hundred MB.
inline constexpr std::size_t most_simgrid_hosts = 1024;

/// Writes a platform file of SimGrid (version 4.1 of its format), on which SMPI and S4U programs run.
///
/// hosts: GPUs of the fabric, each once; they become the hosts, in this order, with their peak rate as speed. Between
/// any two stands the route that static routing takes; links that no route crosses are left out. A link whose two
/// directions are used alike is one of policy SPLITDUPLEX, else two of policy SHARED.
///
/// A SimGrid flow crosses each link of its route as a whole. Where ours is striped, a link that flows cross with 1/k of
/// their bytes is written with k times its bandwidth; where they cross it with unlike shares, the file scales it so
/// that each share is a whole number, and routes list it that many times. Latencies of such links go into FATPIPE links
/// of the routes' own, so that a route's latency is that of its slowest path. Times on an idle fabric are thus exact.
///
/// Not expressed: routing per flow (ecmp, adaptive), reductions in switches.
///
/// Throws: InputError for no hosts, more than most_simgrid_hosts, and shares without a common denominator up to 64;
/// SimulationError where two hosts have no route; all before anything is written.
/// Cost: quadratic in the hosts. Source: SimGrid 3.32, "Platform description" of its manual.
void write_simgrid(std::ostream& out, const fabric::Fabric& fabric, std::span<const VertexId> hosts);

}  // namespace lockstep::interop
