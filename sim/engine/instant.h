#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sim/engine/engine.h"

namespace lockstep::engine {

/// Two dates that differ by less than this part of themselves (16 units in the last place) are one instant: predictions
/// of dates that are equal in exact arithmetic differ by rounding.
inline constexpr double same_instant = 0x1p-48;

/// What is due at the present instant, to be reported in the order in which it was started.
class Instant {
  public:
    enum class Kind : std::uint8_t { timer, flow };

    void add(Kind kind, std::uint64_t sequence, Token token) { due_.push_back({sequence, token, kind}); }

    /// Puts what was added in order. Not to be called while reporting; what is added then comes last, having been
    /// started last.
    void sort() {
        const auto before = [](const Due& a, const Due& b) { return a.sequence < b.sequence; };
        if (!std::is_sorted(due_.begin(), due_.end(), before)) {
            std::sort(due_.begin(), due_.end(), before);
        }
    }

    /// Reports everything, also what is added meanwhile. If a handler throws, the next call goes on behind it.
    /// Returns: how much was reported.
    std::uint64_t report(Events& events) {
        std::uint64_t reported = 0;
        while (next_ < due_.size()) {
            const Due due = due_[next_++];
            ++reported;
            if (due.kind == Kind::timer) {
                events.on_timer(due.token);
            } else {
                events.on_flow_end(due.token);
            }
        }
        due_.clear();
        next_ = 0;
        return reported;
    }

  private:
    struct Due {
        std::uint64_t sequence;
        Token token;
        Kind kind;
    };
    std::vector<Due> due_;
    std::size_t next_ = 0;
};

/// Marks an engine as running and refuses to run it from within one of its own handlers.
class RunGuard {
  public:
    explicit RunGuard(bool& running) : running_(running) {
        if (running_) {
            throw std::logic_error("run() called from a handler of the same engine");
        }
        running_ = true;
    }
    ~RunGuard() { running_ = false; }
    RunGuard(const RunGuard&) = delete;
    RunGuard& operator=(const RunGuard&) = delete;

  private:
    bool& running_;
};

}  // namespace lockstep::engine
