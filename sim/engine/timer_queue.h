#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/event_heap.h"
#include "sim/engine/instant.h"

namespace lockstep::engine {

/// The timers that are set, by date. Timers of the same date, as the ranks of a collective set them, share one
/// place in the queue. Holds no memory per timer beyond the largest number there ever were.
class TimerQueue {
  public:
    bool empty() const { return dates_.empty(); }
    /// Requires: not empty.
    double next() const { return dates_.top().time; }

    /// Requires: sequences rise from call to call. Cost: O(1) for a date that a timer was lately set for, else O(log
    /// dates).
    void add(double date, std::uint64_t sequence, Token token) {
        const std::uint32_t timer = place_in(timers_, free_timer_);
        timers_[timer] = {token, sequence, none};
        std::uint32_t& recent = recent_[RecentDates::place_of(date)];
        if (recent < chains_.size() && chains_[recent].date == date) {
            timers_[chains_[recent].last].next = timer;
            chains_[recent].last = timer;
            return;
        }
        recent = place_in(chains_, free_chain_);
        chains_[recent] = {date, timer, timer, none};
        dates_.set({date, recent});
    }

    /// Moves the timers due up to this date to `instant`.
    void take_due(double latest, Instant& instant) {
        while (!dates_.empty() && dates_.top().time <= latest) {
            const std::uint32_t chain = dates_.pop().id;
            for (std::uint32_t timer = chains_[chain].first; timer != none; timer = timers_[timer].next) {
                instant.add(Instant::Kind::timer, timers_[timer].sequence, timers_[timer].token);
            }
            timers_[chains_[chain].last].next = free_timer_;
            free_timer_ = chains_[chain].first;
            chains_[chain].date = -1.0;
            chains_[chain].next = free_chain_;
            free_chain_ = chain;
        }
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    struct Timer {
        Token token;
        std::uint64_t sequence;
        std::uint32_t next;  // of its chain, or of those free
    };
    /// The timers of one date, in the order in which they were set.
    struct Chain {
        double date;  // below 0: free
        std::uint32_t first;
        std::uint32_t last;
        std::uint32_t next;  // of those free
    };

    template <class Entry>
    static std::uint32_t place_in(std::vector<Entry>& entries, std::uint32_t& free) {
        if (free == none) {
            entries.emplace_back();
            return static_cast<std::uint32_t>(entries.size() - 1);
        }
        const std::uint32_t place = free;
        free = entries[place].next;
        return place;
    }

    EventHeap dates_;  // of chains
    std::vector<Timer> timers_;
    std::vector<Chain> chains_;
    std::uint32_t free_timer_ = none;
    std::uint32_t free_chain_ = none;
    std::array<std::uint32_t, RecentDates::places> recent_{};  // by hash of the date: a chain that may be its
};

}  // namespace lockstep::engine
