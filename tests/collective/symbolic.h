#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The order in which runnable threads get their turn. A sound schedule does not care.
enum class Turns : std::uint8_t { forward, backward };

/// What playing a schedule on symbolic data showed.
struct Verdict {
    std::vector<std::string> problems;    ///< empty: every rank ended with exactly what the operation promises
    std::vector<std::int64_t> bytes_out;  ///< by rank: sent to peers and offered or multicast to switches
    std::vector<std::int64_t> bytes_in;   ///< by rank: received from peers and switches
    std::vector<std::uint64_t> steps;     ///< by rank: instructions carried out
    std::uint32_t depth = 0;              ///< most messages one after the other, each sent only after the last came in
    std::uint64_t messages = 0;           ///< between ranks; reductions and multicasts count once each
};

/// Plays all ranks' programs on symbolic data, in which a chunk is the multiset of contributions in it: an interpreter
/// of its own, from the words of sim/collective/schedule.h alone, that knows nothing of time. Finds contributions that
/// are missing, doubled or from the wrong place, messages that nobody takes, deadlock, and connections that two threads
/// share.
Verdict play(const Schedule& schedule, Bytes bytes, Turns turns = Turns::forward);

}  // namespace lockstep::collective
