#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/engine/engine.h"
#include "sim/replay/prepared_schedule.h"

namespace lockstep::replay {

/// No message, no thread.
inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Messages that have arrived and that nobody has taken yet.
struct Inbox {
    std::uint32_t arrived = 0;
    std::uint32_t waiting_thread = none;
};

/// Where a thread is in its program: all that is needed to go on within a loop.
struct ThreadState {
    std::uint32_t step = 0;             ///< the instruction that is next, by its number in the schedule
    std::uint32_t first_step = 0;       ///< of the loop
    std::uint32_t end_step = 0;         ///< of the loop
    std::uint32_t iterations_left = 0;  ///< of the loop, after this one
    std::uint32_t loop = 0;             ///< of the thread
    std::uint32_t round = 0;
    RankId rank{};
    bool has_ended = false;
};

/// A connection in play, with the message that moves or moves next, and the inbox of its one receiver. A cache line:
/// most messages touch nothing else of their connection.
struct alignas(64) Lane {
    double bytes = 0.0;          ///< of the first message
    double counted_bytes = 0.0;  ///< of messages that moved along the route; not yet added to the links
    Seconds latency;             ///< of the route
    engine::RouteId route{};     ///< meaningful if has_route
    RankId from{};
    std::uint32_t first_queued = none;  ///< the message behind the first
    std::uint32_t last_queued = none;
    std::uint32_t stands_for = 1;
    Inbox inbox;
    Carrier carrier = Carrier::message;
    bool is_busy = false;    ///< has a first message
    bool has_route = false;  ///< the same for all of its messages
};

/// One that is behind the first of its lane.
struct Message {
    double bytes = 0.0;
    Seconds ready_at;           ///< when its latency is spent
    std::uint32_t next = none;  ///< the one behind it
};

/// Contributions to the reductions of one connection that are not complete yet.
struct Reduction {
    std::vector<std::uint64_t> given;      ///< by member: how many it has contributed
    std::deque<std::uint32_t> incomplete;  ///< contributions to each reduction not complete, from number `complete` on
    std::uint64_t complete = 0;
};

/// One performance of a schedule.
struct Play {
    PreparedSchedule* schedule = nullptr;
    std::vector<ThreadState> threads;
    std::vector<Lane> lanes;                      ///< by connection
    std::vector<Inbox> inboxes;                   ///< of events and of members of groups
    std::vector<Reduction> reductions;            ///< by connection; empty when the schedule has none
    std::vector<std::uint32_t> draining_threads;  ///< by connection: waits until nothing is under way; empty at first
    std::vector<std::uint32_t> open;              ///< by rank: threads not ended plus messages not arrived
    std::vector<bool> arrived;
    std::size_t ranks_left = 0;     ///< that have not ended
    std::size_t ranks_to_tell = 0;  ///< whose end the conductor has not been told
    std::vector<double>* link_bytes = nullptr;

    /// Makes it the performance of this schedule in which nobody has arrived yet.
    void reset(PreparedSchedule& played, std::vector<double>* into);
    /// Moves a thread on to its next instruction. Returns: false at the end of its program.
    bool step_on(ThreadState& state) const {
        if (++state.step != state.end_step) {
            return true;
        }
        if (state.iterations_left > 0) {
            --state.iterations_left;
            state.step = state.first_step;
            return true;
        }
        return enter_next_loop(state);
    }
    bool enter_next_loop(ThreadState& state) const;
    /// Of the message that a thread sends by the step it is at, where messages have sizes of their own.
    double own_bytes(const ThreadState& state) const;
    /// Adds bytes that crossed a route to its links.
    void count(const fabric::Route& route, double bytes);
    /// Adds what the lanes have counted to the links of their routes.
    void count_lanes();
};

/// Throws: SimulationError for messages that arrived and that nobody took: an instruction is missing, and the time
/// would be that of something else. Requires: all ranks have ended.
void refuse_leftovers(const Play& play);

/// What keeps ranks from ending, as Player::waiting.
std::vector<std::string> waiting_in(const Play& play, std::size_t most);

}  // namespace lockstep::replay
