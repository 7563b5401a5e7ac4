#include "sim/interop/ordered_steps.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace lockstep::interop {

Done OrderedSteps::write(std::uint32_t block, OutStep step, const std::set<Done>& before) {
    // Latest first: whoever follows one step follows what that followed.
    std::vector<Done> latest_first(before.begin(), before.end());
    std::ranges::sort(latest_first, std::ranges::greater{},
                      [&](const Done& done) { return clocks_[done.block].written_at[done.step]; });
    std::vector<Done> needed;
    for (const Done& earlier : latest_first) {
        if (earlier.block != block && known_steps(block, earlier.block) <= earlier.step) {
            needed.push_back(earlier);
            learn(block, earlier);
        }
    }
    for (std::size_t at = 0; at < needed.size(); ++at) {
        (*blocks_)[needed[at].block].steps[needed[at].step].is_waited_for = true;
        OutStep nop;
        OutStep& waiting = at + 1 < needed.size() ? nop : step;
        waiting.after_block = needed[at].block;
        waiting.after_step = needed[at].step;
        if (at + 1 < needed.size()) {
            append(block, std::move(nop));
        }
    }
    return append(block, std::move(step));
}

std::uint32_t OrderedSteps::known_steps(std::uint32_t block, std::uint32_t other) const {
    const auto& now = clocks_[block].now;
    return other < now.size() ? now[other] : 0;
}

void OrderedSteps::learn(std::uint32_t block, const Done& earlier) {
    std::vector<std::uint32_t>& now = clocks_[block].now;
    now.resize(blocks_->size());
    const std::vector<std::uint32_t>& then = clocks_[earlier.block].by_step[earlier.step];
    for (std::size_t at = 0; at < then.size(); ++at) {
        now[at] = std::max(now[at], then[at]);
    }
    now[earlier.block] = std::max(now[earlier.block], earlier.step + 1);
}

Done OrderedSteps::append(std::uint32_t block, OutStep step) {
    std::vector<OutStep>& steps = (*blocks_)[block].steps;
    steps.push_back(std::move(step));
    Clock& clock = clocks_[block];
    clock.by_step.push_back(clock.now);
    clock.written_at.push_back(written_++);
    clock_entries_ += clock.now.size() + 1;
    return {block, static_cast<std::uint32_t>(steps.size()) - 1};
}

}  // namespace lockstep::interop
