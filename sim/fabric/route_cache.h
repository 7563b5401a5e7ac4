#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace lockstep::fabric {

/// Values that can be made again, by number, kept within a budget: when a new one does not fit, the oldest go.
/// References last until the next insertion.
template <class Value>
class RouteCache {
  public:
    explicit RouteCache(std::size_t budget_bytes) : budget_(budget_bytes) {}

    /// Returns: nullptr if it is not there (any more).
    Value* find(std::uint64_t key) {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : &found->second.value;
    }

    /// Requires: find(key) is nullptr. The value just inserted is never the one to go.
    Value& insert(std::uint64_t key, Value value, std::size_t bytes) {
        while (!order_.empty() && used_ + bytes > budget_) {
            const auto oldest = entries_.find(order_.front());
            used_ -= oldest->second.bytes;
            entries_.erase(oldest);
            order_.pop_front();
        }
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
