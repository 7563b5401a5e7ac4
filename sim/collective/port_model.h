#pragma once

#include <optional>

#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/fabric/route.h"

namespace lockstep::collective {

/// A fabric as the α–β model sees it.
struct PortModel {
    Seconds alpha{};      ///< a message's latency
    Bandwidth rate{};     ///< B: what a message alone moves at
    bool uniform = true;  ///< whether this is so for every pair looked at, or only for the worst
    /// Whether a rank sends to all others at once no faster than to one, as the model takes it. False in a mesh, where
    /// each pair has links of its own: what sends to several at once is faster there than by the book.
    bool one_port = true;
};

/// α and B of the routes from each rank to the next and from rank 0 to every other: the largest latency and the least
/// rate. Pairs that no path joins, in a mesh whose GPUs do not relay, are left out, and the model is not uniform then.
/// How many ports there are is seen at rank 0. None for one rank, or if no pair is joined. Cost: O(ranks) routes.
std::optional<PortModel> port_model(const Communicator& communicator, fabric::Router& router);

/// What the algorithm takes by the book.
Seconds time_of(const Cost& cost, const PortModel& model);

}  // namespace lockstep::collective
