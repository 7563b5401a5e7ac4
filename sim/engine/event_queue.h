#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/event_heap.h"

namespace lockstep::engine {

/// A priority queue of events by date, each with a small dense id through which it can be moved to another date. Made
/// for events of which many have the same date to the last bit, as the flows of ranks that do the same: those of one
/// date are a list, and a heap holds one entry for each date. An event whose date nobody shares costs little more than
/// in the heap alone.
/// Holds no memory per event beyond the largest number there ever were.
class EventQueue {
  public:
    bool empty() const { return heap_.empty(); }
    /// The number of different dates, but for those found too long ago to be remembered.
    std::size_t date_count() const { return heap_.size(); }
    /// The first date. Requires: not empty.
    double next() const { return heap_.top().time; }

    /// When the order of dates is put right: at once, or by restore_order() after many changes.
    enum class Order : std::uint8_t { kept, broken };

    /// Adds the event, or moves the one of the same id. Requires: date >= 0. Cost: O(1) if an event was lately moved to
    /// the same date, else with order kept O(log dates).
    void set(double date, std::uint32_t id, Order order) {
        if (id >= events_.size()) {
            events_.resize(static_cast<std::size_t>(id) + 1);
        }
        const std::uint32_t from = events_[id].date;
        if (from != none && dates_[from].time == date) {
            return;
        }
        auto& [recent_date, recent] = recent_[RecentDates::place_of(date)];
        const bool is_known = recent_date == date && dates_[recent].first != none && dates_[recent].time == date;
        recent_date = date;
        if (from != none && !is_known && dates_[from].first == id && events_[id].next == none) {
            recent = from;  // nobody shares its date: the entry moves with it
        } else {
            if (from != none) {
                unlink(id, order);
            }
            if (is_known) {
                link(id, recent);
                return;
            }
            recent = new_date();
            link(id, recent);
        }
        dates_[recent].time = date;
        if (order == Order::kept) {
            heap_.set({date, recent});
        } else {
            heap_.set_without_order({date, recent});
        }
    }
    void restore_order() { heap_.restore_order(); }

    /// Removes the events of the first date and tells their ids. Requires: not empty.
    template <class Tell>
    void pop(Tell tell) {
        const std::uint32_t date = heap_.pop().id;
        for (std::uint32_t id = dates_[date].first; id != none; id = events_[id].next) {
            events_[id].date = none;
            tell(id);  // must not set events
        }
        forget(date);
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    struct Event {
        std::uint32_t date = none;
        std::uint32_t next = none;  // of the same date
        std::uint32_t before = none;
    };
    struct Date {
        double time = 0.0;
        std::uint32_t first = none;  // none: not in use
        std::uint32_t last = none;
    };

    std::uint32_t new_date() {
        if (free_dates_.empty()) {
            free_dates_.push_back(static_cast<std::uint32_t>(dates_.size()));
            dates_.emplace_back();
        }
        const std::uint32_t date = free_dates_.back();
        free_dates_.pop_back();
        return date;
    }

    void forget(std::uint32_t date) {
        dates_[date] = {};
        free_dates_.push_back(date);
    }

    void link(std::uint32_t id, std::uint32_t date) {
        Date& list = dates_[date];
        events_[id] = {date, none, list.last};
        (list.first == none ? list.first : events_[list.last].next) = id;
        list.last = id;
    }

    void unlink(std::uint32_t id, Order order) {
        const Event event = events_[id];
        Date& list = dates_[event.date];
        (event.next == none ? list.last : events_[event.next].before) = event.before;
        (event.before == none ? list.first : events_[event.before].next) = event.next;
        if (list.first == none) {
            if (order == Order::kept) {
                heap_.remove(event.date);
            } else {
                heap_.remove_without_order(event.date);
            }
            forget(event.date);
        }
    }

    EventHeap heap_;             // of dates
    std::vector<Event> events_;  // by id
    std::vector<Date> dates_;
    std::vector<std::uint32_t> free_dates_;
    struct Recent {
        double time = -1.0;
        std::uint32_t date = 0;
    };
    std::array<Recent, RecentDates::places> recent_{};  // by hash: where the time was last seen
};

}  // namespace lockstep::engine
