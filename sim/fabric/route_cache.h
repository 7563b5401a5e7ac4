#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lockstep::fabric {

/// Values that can be made again, by number, kept within a budget: where a new one does not fit, the oldest go.
/// References last until the next call of make_room.
template <class Value>
class RouteCache {
  public:
    explicit RouteCache(std::size_t budget_bytes) : budget_(budget_bytes) {}

    /// Returns: nullptr if it is not there (any more).
    Value* find(std::uint64_t key) {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : &found->second.value;
    }

    /// Lets the oldest go until `bytes` more fit, or nothing is left. Returns: the last to go, for its memory to be
    /// used again.
    std::optional<Value> make_room(std::size_t bytes) {
        std::optional<Value> last;
        while (!order_.empty() && used_ + bytes > budget_) {
            const auto oldest = entries_.find(order_.front());
            last = std::move(oldest->second.value);
            used_ -= oldest->second.bytes;
            entries_.erase(oldest);
            order_.pop_front();
        }
        return last;
    }

    /// Requires: find(key) is nullptr.
    Value& insert(std::uint64_t key, Value value, std::size_t bytes) {
        used_ += bytes;
        order_.push_back(key);
        return entries_.emplace(key, Entry{std::move(value), bytes}).first->second.value;
    }

  private:
    struct Entry {
        Value value;
        std::size_t bytes;
    };
    std::size_t budget_;
    std::size_t used_ = 0;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::deque<std::uint64_t> order_;
};

}  // namespace lockstep::fabric
