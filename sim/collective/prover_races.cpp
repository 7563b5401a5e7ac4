#include "sim/collective/prover_races.h"

#include <algorithm>

namespace lockstep::collective {

namespace {

void raise(Clock& clock, const Clock& other) {
    for (std::size_t thread = 0; thread < clock.size(); ++thread) {
        clock[thread] = std::max(clock[thread], other[thread]);
    }
}

/// body: (thread, instruction, how often it is carried out).
template <class Body>
void for_each_instruction(const LinkedPrograms& programs, Body body) {
    for (std::size_t t = 0; t < programs.threads.size(); ++t) {
        const LinkedThread& thread = programs.threads[t];
        for (std::size_t b = 0; b < thread.block_count; ++b) {
            const LinkedBlock& block = programs.blocks[thread.first_block + b];
            for (std::size_t i = 0; i < block.instruction_count; ++i) {
                body(t, programs.instructions[block.first_instruction + i],
                     std::uint64_t{thread.rounds} * block.iterations);
            }
        }
    }
}

}  // namespace

void SharedPlaces::touch(std::size_t place, std::size_t thread, Access access) {
    Seen& seen = seen_[place];
    const auto number = static_cast<std::uint32_t>(thread) + 1;
    seen.first_thread = seen.first_thread == 0 ? number : seen.first_thread;
    seen.by_several = seen.by_several || seen.first_thread != number;
    seen.written = seen.written || access == Access::write;
    any_ = any_ || (seen.by_several && seen.written);
}

RaceDetector::RaceDetector(std::size_t places, const LinkedPrograms& programs)
    : clocks_(programs.threads.size(), Clock(programs.threads.size(), 0)), places_(places) {
    std::map<std::uint32_t, std::size_t> signaller;  // lane -> the first thread that signals
    std::map<std::uint32_t, std::uint64_t> signals;
    for_each_instruction(programs, [&](std::size_t thread, const LinkedInstruction& linked, std::uint64_t times) {
        if (linked.instruction.verb == Verb::signal) {
            signals[linked.first_lane] += times;
            if (signaller.try_emplace(linked.first_lane, thread).first->second != thread) {
                common_events_[linked.first_lane] = {};
            }
        }
    });
    for (auto& [lane, event] : common_events_) {
        event.signals = signals[lane];
    }
}

std::shared_ptr<const Clock> RaceDetector::leave(std::size_t thread) const {
    // What the thread does in this very instruction is over when the message is there.
    auto clock = std::make_shared<Clock>(clocks_[thread]);
    ++(*clock)[thread];
    return clock;
}

void RaceDetector::join(std::size_t thread, const Clock& clock) { raise(clocks_[thread], clock); }

void RaceDetector::join_signal(std::size_t thread, std::uint32_t lane, const std::shared_ptr<const Clock>& clock) {
    const auto common = common_events_.find(lane);
    if (common == common_events_.end()) {
        join(thread, *clock);
        return;
    }
    CommonEvent& event = common->second;
    event.heard = event.heard ? joined(event.heard, clock) : clock;
    if (++event.waits == event.signals) {
        join(thread, *event.heard);
    }
}

std::shared_ptr<const Clock> RaceDetector::joined(const std::shared_ptr<const Clock>& a,
                                                  const std::shared_ptr<const Clock>& b) {
    auto both = std::make_shared<Clock>(*a);
    raise(*both, *b);
    return both;
}

std::optional<RaceDetector::Touch> RaceDetector::touch(std::size_t place, const Touch& touch) {
    History& history = places_[place];
    std::optional<Touch> rival;
    const auto compare = [&](const Stamp& stamp, Access access) {
        if (!rival && !is_before(stamp, touch.thread)) {
            rival = {.thread = stamp.thread, .step = stamp.step, .access = access};
        }
    };
    if (history.write) {
        compare(*history.write, Access::write);
    }
    const Stamp now{.step = touch.step,
                    .thread = static_cast<std::uint32_t>(touch.thread),
                    .time = clocks_[touch.thread][touch.thread]};
    if (touch.access == Access::write) {
        for (const Stamp& read : history.reads) {
            compare(read, Access::read);
        }
        history.write = now;
        history.reads.clear();
        return rival;
    }
    const auto earlier = std::ranges::find(history.reads, now.thread, &Stamp::thread);
    if (earlier == history.reads.end()) {
        history.reads.push_back(now);
    } else {
        *earlier = now;
    }
    return rival;
}

bool can_detect_races(const LinkedPrograms& programs) {
    constexpr double most_entries = 1U << 28U;
    double carried = static_cast<double>(programs.threads.size());  // clocks: one of each thread, one of each message
    for_each_instruction(programs, [&](std::size_t, const LinkedInstruction&, std::uint64_t times) {
        carried += static_cast<double>(times);
    });
    return carried * static_cast<double>(programs.threads.size()) <= most_entries;
}

}  // namespace lockstep::collective
