#include "sim/replay/time_fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lockstep::replay {

namespace {

/// Of the time so far: events closer than this are at one instant, told apart by rounding.
constexpr double same_instant = 0x1p-43;
/// Loops with fewer iterations left are not worth looking for repetitions in.
constexpr std::uint32_t fewest_iterations = 64;
/// How many messages to wait before looking for a reference again when all loops are short.
constexpr std::uint64_t messages_between_choices = 1ULL << 16U;

const StepLoop& loop_of(const Play& play, std::size_t thread) {
    return play.schedule->loop(play.schedule->threads()[thread].first_loop + play.threads[thread].loop);
}

Progress progress_of(const Play& play, std::size_t thread) {
    const ThreadState& state = play.threads[thread];
    return {state.round, loop_of(play, thread).iterations - 1 - state.iterations_left};
}

/// Messages that queue and may move at once.
std::uint32_t ready_messages(const Lane& lane, std::span<const Message> queued, Seconds now) {
    std::uint32_t ready = 0;
    for (std::uint32_t at = lane.first_queued; at != none && queued[at].ready_at <= now; at = queued[at].next) {
        ++ready;
    }
    return ready;
}

/// How often a cycle can happen again before the lane's queue is shorter than what leaves it in one cycle: until then
/// there is always a message to move. bytes: that begin to move in a cycle.
std::uint32_t times_until_dry(const Lane& lane, std::uint32_t ready, std::int64_t fewer, double bytes) {
    if (fewer == 0) {
        return std::numeric_limits<std::uint32_t>::max();
    }
    const auto leave = static_cast<std::int64_t>(std::ceil(bytes / lane.bytes)) + 1;  // one more, for rounding
    if (ready < leave) {
        return 0;
    }
    return fewer < 0 ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>((ready - leave) / fewer);
}

}  // namespace

std::optional<TimeFold::Skip> TimeFold::before_event(engine::Token token, Play& play, std::span<const Message> queued,
                                                     std::uint64_t messages, Seconds now) {
    const Seconds last_event = std::exchange(last_event_, now);
    if (reference_ == none || play.threads[reference_].loop != reference_loop_ || play.threads[reference_].has_ended) {
        if (messages >= choose_again_) {
            choose_reference(play, messages, now);
        }
        return std::nullopt;
    }
    std::optional<Skip> skipped;
    const Progress at = progress_of(play, reference_);
    if (at != reference_at_ && now - last_event > now * same_instant) {
        const std::uint32_t moved = at.rounds == reference_at_.rounds ? at.iterations - reference_at_.iterations
                                                                      : at.rounds - reference_at_.rounds;
        reference_at_ = at;
        if (repetition_.note_lap(moved, longest_latency_, last_event)) {
            const auto cycle = repetition_.note_snapshot(snapshot(play, queued, messages, last_event), last_event);
            skipped = cycle ? skip(play, *cycle, queued, last_event) : std::nullopt;
        }
    }
    if (repetition_.is_recording()) {
        repetition_.note_event(token, now);
    }
    return skipped;
}

/// The thread with the most left of its loop.
void TimeFold::choose_reference(const Play& play, std::uint64_t messages, Seconds now) {
    reference_ = none;
    std::uint32_t most = fewest_iterations;
    for (std::uint32_t at = 0; at < play.threads.size(); ++at) {
        const ThreadState& state = play.threads[at];
        if (!state.has_ended && state.iterations_left >= most) {
            most = state.iterations_left + 1;
            reference_ = at;
        }
    }
    if (reference_ == none) {
        choose_again_ = messages + messages_between_choices;
        return;
    }
    reference_loop_ = play.threads[reference_].loop;
    reference_at_ = progress_of(play, reference_);
    longest_latency_ = {};
    for (const Lane& lane : play.lanes) {
        longest_latency_ = std::max(longest_latency_, lane.latency);
    }
    repetition_.restart(now);
}

Snapshot TimeFold::snapshot(const Play& play, std::span<const Message> queued, std::uint64_t messages, Seconds now) {
    Snapshot shot;
    shot.messages = messages;
    for (std::size_t at = 0; at < play.threads.size(); ++at) {
        const ThreadState& state = play.threads[at];
        shot.progress.push_back(progress_of(play, at));
        shot.counts.insert(shot.counts.end(), {state.loop, state.step, state.has_ended ? 1U : 0U});
    }
    for (const Lane& lane : play.lanes) {
        std::uint32_t ready = 0;
        bool is_of_one_size = true;
        for (std::uint32_t at = lane.first_queued; at != none; at = queued[at].next) {
            is_of_one_size = is_of_one_size && queued[at].bytes == lane.bytes;
            if (queued[at].ready_at > now) {
                shot.waits.push_back(queued[at].ready_at - now);
            } else {
                ++ready;
            }
        }
        shot.ready.push_back(is_of_one_size ? ready : 0);
        shot.counts.insert(shot.counts.end(), {is_of_one_size ? 0 : ready, lane.inbox.arrived});
        shot.busy.push_back(lane.is_busy);
        shot.bytes.push_back(lane.counted_bytes);
    }
    for (const Inbox& inbox : play.inboxes) {
        shot.counts.push_back(inbox.arrived);
    }
    for (const Reduction& reduction : play.reductions) {
        for (const std::uint64_t given : reduction.given) {
            shot.counts.push_back(static_cast<std::uint32_t>(given - reduction.complete));
        }
        shot.counts.push_back(static_cast<std::uint32_t>(reduction.incomplete.size()));
        shot.counts.insert(shot.counts.end(), reduction.incomplete.begin(), reduction.incomplete.end());
    }
    return shot;
}

std::optional<TimeFold::Skip> TimeFold::skip(Play& play, const Cycle& cycle, std::span<const Message> queued,
                                             Seconds now) {
    std::uint32_t times = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t at = 0; at < play.threads.size(); ++at) {
        const Progress& moved = cycle.progress[at];
        if (moved.rounds > 0) {
            times = std::min(times, (play.schedule->threads()[at].rounds - 1 - play.threads[at].round) / moved.rounds);
        }
        if (moved.iterations > 0) {
            times = std::min(times, play.threads[at].iterations_left / moved.iterations);
        }
    }
    for (std::size_t at = 0; at < play.lanes.size(); ++at) {
        times = std::min(times, times_until_dry(play.lanes[at], ready_messages(play.lanes[at], queued, now),
                                                cycle.fewer_queued[at], cycle.bytes[at]));
    }
    if (times == 0) {
        return std::nullopt;
    }
    for (std::size_t at = 0; at < play.threads.size(); ++at) {
        play.threads[at].round += times * cycle.progress[at].rounds;
        play.threads[at].iterations_left -= times * cycle.progress[at].iterations;
    }
    for (std::size_t at = 0; at < play.lanes.size(); ++at) {
        play.lanes[at].counted_bytes += times * cycle.bytes[at];
    }
    reference_ = none;
    return Skip{.time = cycle.length * times,
                .messages = times * cycle.messages,
                .times = times,
                .fewer_queued = cycle.fewer_queued};
}

}  // namespace lockstep::replay
