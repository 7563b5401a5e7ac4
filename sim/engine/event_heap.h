#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::engine {

/// Where to remember, in a table of few places, what a date was last used for.
struct RecentDates {
    static constexpr unsigned bits = 8;
    static constexpr std::size_t places = std::size_t{1} << bits;

    static std::size_t place_of(double date) {
        return (std::bit_cast<std::uint64_t>(date) * 0x9E3779B97F4A7C15ULL) >> (64U - bits);
    }
};

/// A priority queue of events by time, each with a small dense id through which it can be moved in time. Events of the
/// same time come in an order that depends on what was set before, and on nothing else.
/// Four children per vertex: half the levels of a binary heap and the children of a vertex share a cache line or two.
/// Holds no memory per event beyond the largest number there ever were.
class EventHeap {
  public:
    struct Event {
        double time = 0.0;
        std::uint32_t id = 0;  ///< dense, at most one event per id
    };

    bool empty() const { return events_.empty(); }
    std::size_t size() const { return events_.size(); }
    /// Requires: not empty.
    const Event& top() const { return events_.front(); }

    /// Adds the event, or moves the one of the same id. Cost: O(log size).
    void set(const Event& event) {
        const std::size_t position = place_of(event.id);
        const bool later = before(events_[position], event);  // a new event stands at infinity: never later
        events_[position] = event;
        if (later) {
            sift_down(position);
        } else {
            sift_up(position);
        }
    }

    /// As set, but leaves the order broken until restore_order(). Cost: O(1).
    void set_without_order(const Event& event) { events_[place_of(event.id)] = event; }

    /// Cost: O(size).
    void restore_order() {
        for (std::size_t position = 0; position < events_.size(); ++position) {
            position_[events_[position].id] = static_cast<std::uint32_t>(position);
        }
        for (std::size_t position = events_.size() / 4 + 1; position-- > 0;) {
            if (position < events_.size()) {
                sift_down(position);
            }
        }
    }

    /// Removes the event of this id. Requires: there is one. Cost: O(log size).
    void remove(std::uint32_t id) {
        const std::size_t position = position_[id];
        const double time = events_[position].time;
        remove_without_order(id);
        if (position < events_.size()) {
            if (events_[position].time < time) {
                sift_up(position);
            } else {
                sift_down(position);
            }
        }
    }

    /// As remove, but leaves the order broken until restore_order(). Cost: O(1).
    void remove_without_order(std::uint32_t id) {
        const std::size_t position = position_[id];
        position_[id] = absent;
        const Event last = events_.back();
        events_.pop_back();
        if (position < events_.size()) {
            put(position, last);
        }
    }

    /// Removes and returns the first event. Requires: not empty.
    Event pop() {
        const Event first = events_.front();
        position_[first.id] = absent;
        const Event last = events_.back();
        events_.pop_back();
        if (!events_.empty()) {
            events_.front() = last;
            sift_down(0);
        }
        return first;
    }

  private:
    static constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max();

    static bool before(const Event& a, const Event& b) { return a.time < b.time; }

    /// Where the event of this id stands, made at the end if there is none.
    std::size_t place_of(std::uint32_t id) {
        if (id >= position_.size()) {
            position_.resize(static_cast<std::size_t>(id) + 1, absent);
        }
        if (position_[id] == absent) {
            position_[id] = static_cast<std::uint32_t>(events_.size());
            events_.push_back({std::numeric_limits<double>::infinity(), id});
        }
        return position_[id];
    }

    void put(std::size_t position, const Event& event) {
        events_[position] = event;
        position_[event.id] = static_cast<std::uint32_t>(position);
    }

    void sift_up(std::size_t position) {
        const Event event = events_[position];
        while (position > 0) {
            const std::size_t parent = (position - 1) / 4;
            if (!before(event, events_[parent])) {
                break;
            }
            put(position, events_[parent]);
            position = parent;
        }
        put(position, event);
    }

    void sift_down(std::size_t position) {
        const Event event = events_[position];
        const std::size_t size = events_.size();
        while (true) {
            const std::size_t first_child = 4 * position + 1;
            if (first_child >= size) {
                break;
            }
            const std::size_t end = first_child + 4 < size ? first_child + 4 : size;
            std::size_t least = first_child;
            for (std::size_t child = first_child + 1; child < end; ++child) {
                if (before(events_[child], events_[least])) {
                    least = child;
                }
            }
            if (!before(events_[least], event)) {
                break;
            }
            put(position, events_[least]);
            position = least;
        }
        put(position, event);
    }

    std::vector<Event> events_;
    std::vector<std::uint32_t> position_;  // by id
};

}  // namespace lockstep::engine
