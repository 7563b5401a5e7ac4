#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What can be wrong with a schedule.
enum class Fault : std::uint8_t {
    missing,    ///< a contribution that the result lacks (and where it was overwritten, if it was)
    doubled,    ///< a contribution that the result has more than once
    misplaced,  ///< data where other data is due, or added to data of another chunk
    absent,     ///< a rank sends or adds what it does not have
    untaken,    ///< a message, contribution or signal that nobody takes
    deadlock,   ///< a rank that waits for ever
    malformed,  ///< not a program at all: a chunk, peer or group that does not exist
    race,       ///< one thread of a rank writes what another one reads or writes, and nothing says which comes first
};
std::string_view name_of(Fault fault);

/// A fault, where it shows.
struct Finding {
    Fault fault = Fault::missing;
    RankId rank{};
    std::uint64_t step = 0;   ///< instructions the rank had carried out in that thread; of results 0
    std::uint32_t chunk = 0;  ///< the first it is about
    std::string text{};       ///< a sentence for users, with rank, step and chunk in it
};

/// The order in which runnable threads get their turn. A sound schedule does not care.
enum class Turns : std::uint8_t { forward, backward };

/// Which contributions are in a chunk: (rank, times), ranks ascending; all of them to `chunk`.
struct Content {
    std::uint32_t chunk = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranks = {};

    bool operator==(const Content&) const = default;
};

/// One arrival: what a rank took from a peer or from a switch, or what it copied or added for itself (Verb::copy and
/// reduce: from and to are the same, and step and turn are those of what it had taken before, 0 if nothing).
struct Transfer {
    std::uint32_t step = 1;  ///< messages in the longest chain that ends with this one
    std::uint32_t turn = 1;  ///< the same, where a message also follows the one before it on its connection
    Verb verb = Verb::receive;
    RankId from{};  ///< the sender; of in-switch sums the first member of the group
    RankId to{};
    std::uint32_t channel = 0;
    std::uint32_t group = 0;                 ///< of in-switch verbs
    Buffer buffer = Buffer::data;            ///< where it went
    std::vector<std::uint32_t> chunks = {};  ///< numbers there
    std::vector<Content> contents = {};      ///< what came, chunk by chunk
    Bytes bytes{};
};

/// Whether a proof keeps what it saw.
enum class Record : std::uint8_t { nothing, transfers };

/// What playing a schedule on symbolic data showed.
struct Proof {
    std::vector<Finding> findings = {};        ///< empty: every rank ended with exactly what the operation promises
    std::vector<std::int64_t> bytes_out = {};  ///< by rank: sent to peers and offered or multicast to switches
    std::vector<std::int64_t> bytes_in = {};   ///< by rank: received from peers and switches
    std::vector<std::uint64_t> steps = {};     ///< by rank: instructions carried out
    std::uint32_t depth = 0;                   ///< most messages one after the other
    std::uint64_t messages = 0;                ///< between ranks; in-switch reductions and multicasts count once each
    bool races_checked = true;                 ///< false where that would take too long: very many threads
    std::vector<Transfer> transfers = {};      ///< where recorded: by step, then receiver, then order of arrival

    bool holds() const { return findings.empty(); }
};

/// What a rank has in `buffer` at the start, by chunk; a chunk without ranks is unknown. Buffer::scratch is empty.
std::vector<Content> initial_contents(const Schedule& schedule, RankId rank, Buffer buffer);

/// Plays all ranks' programs on symbolic data, in which a chunk is the multiset of contributions in it; knows nothing
/// of time. Shows that the schedule delivers the operation's result whatever the timing, or what is wrong with it (the
/// first ten findings). Where threads of a rank meet in a chunk it also looks for races; without one, and if this order
/// of turns ends well, all do. bytes: the size of the vector, for the byte counts. Cost: O(chunks moved * ranks), with
/// races O(messages * threads).
Proof prove(const Schedule& schedule, Bytes bytes, Turns turns = Turns::forward, Record record = Record::nothing);

}  // namespace lockstep::collective
