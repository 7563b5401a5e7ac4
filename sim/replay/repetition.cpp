#include "sim/replay/repetition.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::replay {

namespace {

constexpr double same_time = 0x1p-43;
/// Fewer alike laps than this can be chance.
constexpr std::size_t fewest_alike = 8;
constexpr std::size_t first_look = 2 * fewest_alike;
/// Each look at the laps is this much later than the one before, so that all looks together cost a few passes over
/// them.
constexpr double later = 1.25;
/// Longer windows are not worth their memory: 64 MiB.
constexpr std::size_t most_events = std::size_t{1} << 22U;

bool is_same(Seconds a, Seconds b, Seconds tolerance) { return std::abs((a - b).value) <= tolerance.value; }

/// Whether the state is the same but for how far loops are and how much queues.
bool is_same_state(const Snapshot& a, const Snapshot& b, Seconds tolerance) {
    return a.counts == b.counts && a.busy == b.busy &&
           std::equal(a.waits.begin(), a.waits.end(), b.waits.begin(), b.waits.end(),
                      [&](Seconds x, Seconds y) { return is_same(x, y, tolerance); });
}

/// Whether on all connections that are busy at the end a message has begun to move since the beginning: no other can
/// move at the end.
bool all_began_since(const Snapshot& begin, const Snapshot& end) {
    for (std::size_t at = 0; at < end.busy.size(); ++at) {
        if (end.busy[at] && end.bytes[at] == begin.bytes[at]) {
            return false;
        }
    }
    return true;
}

/// How far every thread moves from one to the other. None if one of them changes round and iteration: it is in another
/// loop, or another turn of it.
std::optional<std::vector<Progress>> progress_between(const Snapshot& begin, const Snapshot& end) {
    std::vector<Progress> moved;
    moved.reserve(begin.progress.size());
    for (std::size_t at = 0; at < begin.progress.size(); ++at) {
        const Progress& from = begin.progress[at];
        const Progress& to = end.progress[at];
        if (to.iterations < from.iterations || (to.rounds != from.rounds && to.iterations != from.iterations)) {
            return std::nullopt;
        }
        moved.push_back({to.rounds - from.rounds, to.iterations - from.iterations});
    }
    return moved;
}

/// By how much queues shrink.
std::vector<std::int64_t> fewer(const Snapshot& begin, const Snapshot& end) {
    std::vector<std::int64_t> less;
    less.reserve(begin.ready.size());
    for (std::size_t at = 0; at < begin.ready.size(); ++at) {
        less.push_back(std::int64_t{begin.ready[at]} - std::int64_t{end.ready[at]});
    }
    return less;
}

}  // namespace

void Repetition::restart(Seconds now) {
    give_up();
    laps_.clear();
    lap_began_ = now;
    next_look_ = first_look;
}

void Repetition::give_up() {
    recording_ = false;
    first_events_.clear();
    events_.clear();
    snapshots_.clear();
}

bool Repetition::alike(const Lap& a, const Lap& b) const {
    return a.moved == b.moved && is_same(a.length, b.length, tolerance_);
}

/// How many of the last laps take so long together; all of them if they do not.
std::size_t Repetition::laps_as_long_as(Seconds length) const {
    std::size_t laps = 0;
    for (Seconds sum{}; laps < laps_.size() && sum < length; ++laps) {
        sum += laps_[laps_.size() - 1 - laps].length;
    }
    return laps;
}

/// The least number of laps after which they are the same again, as far back as twice that; 0 if there is none.
std::size_t Repetition::period() const {
    const std::size_t count = laps_.size();
    for (std::size_t period = 1; 2 * period <= count; ++period) {
        const std::size_t alike_laps = std::min(std::max(period, fewest_alike), count - period);
        bool repeats = true;
        for (std::size_t back = 1; repeats && back <= alike_laps; ++back) {
            repeats = alike(laps_[count - back], laps_[count - back - period]);
        }
        if (repeats) {
            return period;
        }
    }
    return 0;
}

void Repetition::note_event(engine::Token token, Seconds now) {
    events_.push_back({token, now - window_began_});
    if (events_.size() > most_events) {
        give_up();
    }
}

/// Brings what happens at one instant into one order.
void Repetition::sort_instants(std::vector<Event>& events) const {
    for (auto begin = events.begin(); begin != events.end();) {
        const auto end =
            std::find_if(begin, events.end(), [&](const Event& event) { return event.at - begin->at > tolerance_; });
        std::sort(begin, end, [](const Event& a, const Event& b) { return a.token < b.token; });
        begin = end;
    }
}

/// Whether the same happened in both windows.
bool Repetition::same_happened() const {
    return std::equal(
        first_events_.begin(), first_events_.end(), events_.begin(), events_.end(),
        [&](const Event& a, const Event& b) { return a.token == b.token && is_same(a.at, b.at, tolerance_); });
}

bool Repetition::note_lap(std::uint32_t moved, Seconds longest_latency, Seconds now) {
    laps_.push_back({now - lap_began_, moved});
    lap_began_ = now;
    tolerance_ = now * same_time;
    if (recording_) {
        return --laps_left_ == 0;
    }
    if (laps_.size() < next_look_) {
        return false;
    }
    next_look_ = static_cast<std::size_t>(static_cast<double>(laps_.size()) * later);
    const std::size_t alike_laps = period();
    if (alike_laps == 0) {
        return false;
    }
    const std::size_t longest = laps_as_long_as(longest_latency);
    window_laps_ = (std::max(longest, alike_laps) + alike_laps - 1) / alike_laps * alike_laps;
    return true;
}

std::optional<Cycle> Repetition::note_snapshot(Snapshot snapshot, Seconds now) {
    const Seconds length = now - window_began_;
    window_began_ = now;
    laps_left_ = window_laps_;
    if (snapshots_.empty()) {
        recording_ = true;
        snapshots_.push_back(std::move(snapshot));
        return std::nullopt;
    }
    if (!is_same_state(snapshots_.back(), snapshot, tolerance_)) {
        give_up();
        return std::nullopt;
    }
    sort_instants(events_);
    if (snapshots_.size() == 1) {
        first_events_ = std::exchange(events_, {});
        first_length_ = length;
        snapshots_.push_back(std::move(snapshot));
        return std::nullopt;
    }
    const Snapshot& begin = snapshots_.front();
    const Snapshot& middle = snapshots_.back();
    auto moved = progress_between(middle, snapshot);
    if (!same_happened() || !is_same(first_length_, length, tolerance_) || !moved ||
        progress_between(begin, middle) != moved || fewer(begin, middle) != fewer(middle, snapshot) ||
        !all_began_since(middle, snapshot)) {
        give_up();
        return std::nullopt;
    }
    Cycle cycle{.length = (first_length_ + length) / 2.0,
                .progress = std::move(*moved),
                .fewer_queued = fewer(middle, snapshot),
                .bytes = {}};
    cycle.bytes.reserve(snapshot.bytes.size());
    for (std::size_t at = 0; at < snapshot.bytes.size(); ++at) {
        cycle.bytes.push_back(snapshot.bytes[at] - middle.bytes[at]);
    }
    cycle.messages = snapshot.messages - middle.messages;
    give_up();
    return cycle;
}

}  // namespace lockstep::replay
