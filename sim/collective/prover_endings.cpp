#include "sim/collective/prover_endings.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lockstep::collective {

namespace {

struct Awaited {
    std::string text;                        ///< what is waited for
    std::optional<std::uint32_t> rank = {};  ///< from whom; none for a signal of the rank's own
};

Awaited awaited_by(const LinkedPrograms& programs, const SymbolicPlayer& player, std::size_t thread) {
    const LinkedInstruction& linked = player.current(thread);
    const Instruction& instruction = linked.instruction;
    const auto peer = static_cast<std::uint32_t>(instruction.peer);
    const std::uint32_t channel = programs.threads[thread].channel;
    switch (instruction.verb) {
        case Verb::wait:
            return {fmt::format("for a signal of event {}", instruction.event)};
        case Verb::receive_multicast:
            return {fmt::format("on channel {} for a multicast of rank {}", channel, peer), peer};
        case Verb::reduce_in_switch:
        case Verb::receive_sum: {
            // The lanes of what members offer come first, one for each, so one of them is empty.
            std::uint32_t lane = linked.first_lane;
            while (!player.lanes()[lane].empty()) {
                ++lane;
            }
            const std::uint32_t member = programs.lanes[lane].from;
            return {fmt::format("on channel {} for what rank {} is to add in the switches", channel, member), member};
        }
        default:
            break;
    }
    return {fmt::format("on channel {} for a message from rank {}", channel, peer), peer};
}

/// `, nor are the 3 after it`
std::string and_more(std::size_t count) {
    return count == 1 ? "" : count == 2 ? ", nor is the next one" : fmt::format(", nor are the {} after it", count - 1);
}

std::string untaken_text(const LaneEnds& ends, const std::string& place, std::uint32_t chunk, std::size_t count) {
    switch (ends.kind) {
        case LaneKind::message:
            return fmt::format("{} sends chunk {} to rank {} on channel {}; the message is never taken{}", place, chunk,
                               ends.to, ends.channel, and_more(count));
        case LaneKind::reduction:
            return fmt::format("{} offers chunk {} on channel {} to a sum in the switches that rank {} never takes{}",
                               place, chunk, ends.channel, ends.to, and_more(count));
        case LaneKind::multicast:
            return fmt::format("{} multicasts chunk {} on channel {}; rank {} never takes it{}", place, chunk,
                               ends.channel, ends.to, and_more(count));
        case LaneKind::offer_to_all:
            return fmt::format(
                "{} offers chunk {} on channel {} to a sum in the switches to which others of group {} never add{}",
                place, chunk, ends.channel, ends.group, and_more(count));
        case LaneKind::sum:
            return fmt::format("rank {} never takes a sum of chunk {} in the switches on channel {}{}", ends.to, chunk,
                               ends.channel, and_more(count));
        case LaneKind::event:
            break;
    }
    return fmt::format("{} signals event {}, for which it never waits{}", place, ends.event, and_more(count));
}

}  // namespace

void report_waiting(const LinkedPrograms& programs, const SymbolicPlayer& player, Findings& findings) {
    const auto& states = player.states();
    std::vector<bool> has_ended(programs.threads_of.size(), true);
    for (std::size_t thread = 0; thread < states.size(); ++thread) {
        has_ended[programs.threads[thread].rank] = has_ended[programs.threads[thread].rank] && states[thread].ended;
    }
    for (const bool for_ended : {true, false}) {
        for (std::size_t thread = 0; thread < states.size() && !findings.full(); ++thread) {
            if (states[thread].ended) {
                continue;
            }
            const Awaited awaited = awaited_by(programs, player, thread);
            const bool is_hopeless = awaited.rank && has_ended[*awaited.rank];
            if (is_hopeless == for_ended) {
                findings.add({.fault = Fault::deadlock,
                              .rank = id_at<RankId>(programs.threads[thread].rank),
                              .step = states[thread].step,
                              .text = fmt::format("{} waits for ever {}{}",
                                                  place_text(programs, programs.threads[thread], states[thread].step),
                                                  awaited.text, is_hopeless ? ", which has ended" : "")});
            }
        }
    }
}

void report_untaken(const LinkedPrograms& programs, const SymbolicPlayer& player, Findings& findings) {
    for (std::size_t lane = 0; lane < programs.lanes.size() && !findings.full(); ++lane) {
        const Lane& left = player.lanes()[lane];
        if (left.empty()) {
            continue;
        }
        const Message& first = left.front();
        const LaneEnds& ends = programs.lanes[lane];
        const LinkedThread& sender = programs.threads[first.thread];
        const bool is_known = !first.contents.empty() && first.contents.front() != nothing;
        const std::uint32_t chunk = is_known ? player.contents().chunk_of(first.contents.front()) : 0;
        const std::uint32_t rank = ends.kind == LaneKind::sum ? ends.to : sender.rank;
        findings.add({.fault = Fault::untaken,
                      .rank = id_at<RankId>(rank),
                      .step = first.step,
                      .chunk = chunk,
                      .text = untaken_text(ends, place_text(programs, sender, first.step), chunk, left.size())});
    }
}

}  // namespace lockstep::collective
