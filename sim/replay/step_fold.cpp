#include "sim/replay/step_fold.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::replay {

namespace {

constexpr double same_time = 0x1p-43;

bool is_one_step_on(const StepFold::Place& before, const StepFold::Place& after, Seconds tolerance) {
    return after.tasks_ended == before.tasks_ended + before.tasks && after.is_running == before.is_running &&
           std::abs((after.left - before.left).value) <= tolerance.value;
}

}  // namespace

std::optional<Seconds> StepFold::Moment::until_settled() const {
    std::optional<Seconds> longest;
    for (const Place& place : places) {
        if (place.is_running && place.left <= now * same_time) {
            longest = std::max(longest.value_or(Seconds{0}), place.left);
        }
    }
    return longest;
}

std::optional<StepFold::Period> StepFold::look_at(Moment moment) {
    const std::optional<Moment> before = std::exchange(last_, std::move(moment));
    if (!before || last_->step != before->step + 1) {
        return std::nullopt;
    }
    const bool repeats =
        std::equal(before->places.begin(), before->places.end(), last_->places.begin(), last_->places.end(),
                   [&](const Place& x, const Place& y) { return is_one_step_on(x, y, last_->now * same_time); });
    const Seconds length = last_->now - before->now;
    const std::optional<Seconds> length_before = std::exchange(last_length_, length);
    if (!repeats || !length_before || std::abs((length - *length_before).value) > (last_->now * same_time).value) {
        return std::nullopt;
    }
    return Period{length, last_->messages - before->messages};
}

}  // namespace lockstep::replay
