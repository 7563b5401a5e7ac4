#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/engine.h"

namespace lockstep::replay {

/// How far a thread is in what may repeat itself; or by how much it moves on.
struct Progress {
    std::uint32_t rounds = 0;
    std::uint32_t iterations = 0;  ///< of the loop it is in

    bool operator==(const Progress&) const = default;
};

/// The state of a performance between two events, seen from that moment.
struct Snapshot {
    std::vector<Progress> progress;  ///< by thread
    std::vector<std::uint32_t>
        counts;                  ///< all else that is counted: where threads wait, messages under way and arrived
    std::vector<Seconds> waits;  ///< of messages that queue: how long from now until they may move
    std::vector<bool> busy;      ///< by connection: whether a message is under way
    /// By connection: of messages that queue and may move at once, how many there are. Where they are not all of the
    /// size of the one that moves, they belong to counts instead.
    std::vector<std::uint32_t> ready;
    std::vector<double> bytes;   ///< by connection: of messages that have begun to move, so far
    std::uint64_t messages = 0;  ///< so far
};

/// What happens over and over again: by how much a performance moves on each time.
struct Cycle {
    Seconds length;
    std::vector<Progress> progress;  ///< by thread
    std::vector<std::int64_t>
        fewer_queued;           ///< by connection: messages that may move at once; negative if there are more
    std::vector<double> bytes;  ///< by connection
    std::uint64_t messages = 0;
};

/// Notices that a performance repeats itself, so that the rest of its loops can be added up instead of played.
///
/// A reference thread cuts time into laps: one each time it goes on in its loop. Once the lengths of laps repeat with
/// some period, two windows of that many laps are compared event by event. If the same happens in both at the same
/// distances, and the state is the same where they begin, meet and end but for how far loops are and how much queues,
/// then it happens again and again until a thread leaves its loop or a queue runs dry. What happens at one instant may
/// come in any order. That holds for what is not looked at, too: a window is as long as any latency at least, and a
/// message that moves at its end started in it, so what is left of either follows from what happened in it.
///
/// Requires: a step moves the same number of bytes in all iterations, and routes do not depend on load.
/// Times count as the same if they differ by less than a 2^-43rd of the time so far, which is about 500 times the
/// rounding of a clock: a drift below that is taken for none.
/// Source: periodic regimes of max-plus linear systems, Baccelli, Cohen, Olsder and Quadrat (1992), "Synchronization
/// and linearity", chapter 3; here observed, not derived.
class Repetition {
  public:
    /// Starts anew, with laps of another thread.
    void restart(Seconds now);

    bool is_recording() const { return recording_; }
    /// Of every event while recording, in order of time.
    void note_event(engine::Token token, Seconds now);

    /// At the end of an instant in which the reference thread has moved on by so much. longest_latency: no message
    /// spends more before it moves. Returns: whether a snapshot is wanted now.
    bool note_lap(std::uint32_t moved, Seconds longest_latency, Seconds now);
    /// Returns: what repeats itself, once that is sure.
    std::optional<Cycle> note_snapshot(Snapshot snapshot, Seconds now);

  private:
    struct Lap {
        Seconds length;
        std::uint32_t moved;
    };
    struct Event {
        engine::Token token;
        Seconds at;  ///< from the beginning of its window
    };

    bool alike(const Lap& a, const Lap& b) const;
    bool same_happened() const;
    void sort_instants(std::vector<Event>& events) const;
    std::size_t period() const;
    std::size_t laps_as_long_as(Seconds length) const;
    void give_up();

    std::vector<Lap> laps_;
    Seconds lap_began_{};
    Seconds tolerance_{};
    std::size_t next_look_ = 0;

    bool recording_ = false;
    std::size_t window_laps_ = 0;
    std::size_t laps_left_ = 0;        ///< of the window
    std::vector<Event> first_events_;  ///< of the first window
    std::vector<Event> events_;        ///< of the present one
    std::vector<Snapshot> snapshots_;
    Seconds window_began_{};
    Seconds first_length_{};
};

}  // namespace lockstep::replay
