#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// One collective to be done.
struct Request {
    Operation operation = Operation::all_reduce;
    Bytes bytes = {};  ///< nccl-tests' size: for reduce_scatter, all_gather and all_to_all the total over ranks
    RankId root{};     ///< of broadcast
};

/// An entry of the table of algorithms. One file per algorithm makes one of these.
struct Algorithm {
    std::string name;     ///< as users type it: `halving-doubling`
    std::string summary;  ///< one line
    std::vector<Operation> operations;
    /// Why it cannot serve this communicator ("halving-doubling needs a power of two of ranks, not 12"), if it cannot.
    std::optional<std::string> (*obstacle)(const Communicator& communicator, const Request& request);
    /// Requires: the operation is listed and there is no obstacle.
    Schedule (*make)(const Communicator& communicator, const Request& request);
    /// Point-to-point messages the schedule sends, roughly: what simulating it costs.
    double (*messages)(const Communicator& communicator, const Request& request);
};

/// All algorithms, in the order in which `auto` breaks ties.
std::span<const Algorithm> algorithms();
/// Throws: InputError with the nearest known name. `auto` is not an algorithm.
const Algorithm& algorithm_named(std::string_view name);
/// Those that do `request` on `communicator`.
std::vector<const Algorithm*> candidates(const Communicator& communicator, const Request& request);

/// A time that no schedule can beat on this fabric: each GPU's scale-up and scale-out links against what it must send
/// or receive (with in-switch reduction where the fabric has it, the vector once), each node's links to the outside
/// against what must cross them, plus the smallest link-by-link latency of any first message. Derivation:
/// docs/collectives.md.
Seconds lower_bound(const Communicator& communicator, const Request& request);

}  // namespace lockstep::collective
