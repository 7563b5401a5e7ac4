#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/collective/prover_player.h"

// What switches do, for the player of symbolic data.

namespace lockstep::collective {

void SymbolicPlayer::multicast(std::size_t at, const LinkedInstruction& linked) {
    ++proof_.messages;
    const Message message = sent(at, linked.instruction, last_sent_[linked.first_lane]);
    for (std::uint32_t m = 0; m < members(linked.instruction); ++m) {
        lanes_[linked.first_lane + m].push(message);
    }
}

/// The sum of what each member offered first, once all have. lane: of the first member.
std::optional<Message> SymbolicPlayer::summed(std::size_t at, const Instruction& instruction, std::uint32_t lane) {
    for (std::uint32_t m = 0; m < members(instruction); ++m) {
        if (lanes_[lane + m].empty()) {
            return std::nullopt;
        }
    }
    ++proof_.messages;
    Message total = lanes_[lane].pop();
    for (std::uint32_t m = 1; m < members(instruction); ++m) {
        const Message message = lanes_[lane + m].pop();
        const std::uint32_t member = programs_.lanes[lane + m].from;
        total.depth = std::max(total.depth, message.depth);
        total.turn = std::max(total.turn, message.turn);
        total.clock = races_ ? RaceDetector::joined(total.clock, message.clock) : nullptr;
        if (message.contents.size() != total.contents.size()) {
            report(at, Fault::misplaced, 0,
                   fmt::format("has the switches add {} chunks of rank {} to {} of rank {}", message.contents.size(),
                               member, total.contents.size(), programs_.lanes[lane].from));
            continue;
        }
        for (std::size_t c = 0; c < total.contents.size(); ++c) {
            total.contents[c] = added(at, total.contents[c], message.contents[c], {Origin::Kind::switches, member});
        }
    }
    return total;
}

bool SymbolicPlayer::reduce_in_switch(std::size_t at, const LinkedInstruction& linked) {
    const auto total = summed(at, linked.instruction, linked.first_lane);
    if (!total) {
        return false;
    }
    arrive(at, linked, *total, programs_.lanes[linked.first_lane].from);
    return true;
}

void SymbolicPlayer::sum_for_all(std::size_t at, const LinkedInstruction& linked) {
    const std::uint32_t size = members(linked.instruction);
    if (const auto total = summed(at, linked.instruction, linked.first_lane)) {
        for (std::uint32_t m = 0; m < size; ++m) {
            lanes_[linked.first_lane + size + m].push(*total);
        }
    }
}

std::uint32_t SymbolicPlayer::members(const Instruction& instruction) const {
    return static_cast<std::uint32_t>(schedule_.groups[instruction.group].size());
}

}  // namespace lockstep::collective
