#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/collective/prover_program.h"

namespace lockstep::collective {

enum class Access : std::uint8_t { read, write };

/// Whether threads meet in places, one of them writing: only then can there be a race. Cheap, so that most schedules
/// need no more than this.
class SharedPlaces {
  public:
    explicit SharedPlaces(std::size_t places) : seen_(places) {}

    void touch(std::size_t place, std::size_t thread, Access access);
    bool any() const { return any_; }

  private:
    struct Seen {
        std::uint32_t first_thread = 0;  ///< its number + 1; 0: none yet
        bool by_several = false;
        bool written = false;
    };
    std::vector<Seen> seen_;
    bool any_ = false;
};

/// For each thread, how many of its instructions must have been carried out by now, whatever the timing (a vector
/// clock). Sources: Lamport (1978), "Time, clocks, and the ordering of events in a distributed system"; Fidge (1988).
using Clock = std::vector<std::uint32_t>;

/// Finds accesses to one place by two threads, one of them writing, that nothing puts in order: no message, sum or
/// signal that one of them waits for after the other. In a schedule without such races, and in which each end of each
/// connection belongs to one thread, every order of turns gives the same result. Source: Flanagan and Freund (2009),
/// "FastTrack: efficient and precise dynamic race detection".
class RaceDetector {
  public:
    RaceDetector(std::size_t places, const LinkedPrograms& programs);

    /// What goes with a message that the thread sends, a contribution or a signal.
    std::shared_ptr<const Clock> leave(std::size_t thread) const;
    /// The thread has waited for what carried that.
    void join(std::size_t thread, const Clock& clock);
    /// The same for a signal. Where several threads signal an event, which of them a wait hears depends on the timing,
    /// but for the last wait, which hears all.
    void join_signal(std::size_t thread, std::uint32_t lane, const std::shared_ptr<const Clock>& clock);
    /// Both together.
    static std::shared_ptr<const Clock> joined(const std::shared_ptr<const Clock>& a,
                                               const std::shared_ptr<const Clock>& b);

    struct Touch {
        std::size_t thread = 0;
        std::uint64_t step = 0;
        Access access = Access::read;
    };
    /// Notes the access. Returns: an earlier one by another thread that might as well have come later, if there is one.
    std::optional<Touch> touch(std::size_t place, const Touch& touch);
    /// The thread's instruction is over.
    void advance(std::size_t thread) { ++clocks_[thread][thread]; }

  private:
    struct Stamp {
        std::uint64_t step = 0;
        std::uint32_t thread = 0;
        std::uint32_t time = 0;  ///< of that thread's clock
    };
    struct History {
        std::optional<Stamp> write = {};
        std::vector<Stamp> reads = {};  ///< since then, the last of each thread
    };
    /// An event that several threads signal.
    struct CommonEvent {
        std::uint64_t signals = 0;  ///< in all
        std::uint64_t waits = 0;    ///< so far
        std::shared_ptr<const Clock> heard = {};
    };
    bool is_before(const Stamp& stamp, std::size_t thread) const {
        return stamp.thread == thread || stamp.time < clocks_[thread][stamp.thread];
    }

    std::vector<Clock> clocks_;  ///< by thread
    std::vector<History> places_;
    std::map<std::uint32_t, CommonEvent> common_events_;  ///< by lane
};

/// Whether clocks of all threads for all messages are not beyond a gigabyte.
bool can_detect_races(const LinkedPrograms& programs);

}  // namespace lockstep::collective
