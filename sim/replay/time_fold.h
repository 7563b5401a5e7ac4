#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/engine.h"
#include "sim/replay/play.h"
#include "sim/replay/repetition.h"

namespace lockstep::replay {

/// Folds a performance in time: what its loops repeat is added up instead of played, as often as no thread leaves its
/// loop.
///
/// See Repetition for when that is exact. After a fold the performance goes on as if nothing had happened, with less
/// left of its loops, as everything an engine knows is relative to its clock; only the clock is late.
class TimeFold {
  public:
    /// What was added up.
    struct Skip {
        Seconds time;
        std::uint64_t messages = 0;
        std::uint32_t times = 0;
        std::vector<std::int64_t> fewer_queued;  ///< by lane: messages to be taken out of its queue, each time
    };

    /// To be called before every event of the performance is dealt with. queued: messages behind the first of their
    /// lanes; messages: how many there have been so far. Cost: hardly any unless a repetition is being looked at.
    std::optional<Skip> before_event(engine::Token token, Play& play, std::span<const Message> queued,
                                     std::uint64_t messages, Seconds now);

  private:
    void choose_reference(const Play& play, std::uint64_t messages, Seconds now);
    static Snapshot snapshot(const Play& play, std::span<const Message> queued, std::uint64_t messages, Seconds now);
    std::optional<Skip> skip(Play& play, const Cycle& cycle, std::span<const Message> queued, Seconds now);

    Repetition repetition_;
    std::uint32_t reference_ = none;  ///< the thread whose loop cuts time into laps; none if no loop is long enough
    std::uint32_t reference_loop_ = 0;
    Progress reference_at_{};
    Seconds last_event_{};
    Seconds longest_latency_{};
    std::uint64_t choose_again_ = 0;  ///< once there have been so many messages
};

}  // namespace lockstep::replay
