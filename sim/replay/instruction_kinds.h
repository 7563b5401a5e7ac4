#pragma once

#include <cstdint>

#include "sim/collective/schedule.h"

namespace lockstep::replay {

/// Instructions next to each other that cannot hold each other up count as a set: sends that are posted at one instant,
/// receives that all have to be there before anything else happens.
enum class InstructionRun : std::uint8_t { posts, takes, alone };

inline InstructionRun run_of(collective::Verb verb) {
    using collective::Verb;
    switch (verb) {
        case Verb::send:
        case Verb::multicast:
        case Verb::contribute:
        case Verb::contribute_to_all:
            return InstructionRun::posts;
        case Verb::receive:
        case Verb::receive_reduce:
        case Verb::reduce_in_switch:
        case Verb::receive_multicast:
        case Verb::receive_sum:
            return InstructionRun::takes;
        default:
            return InstructionRun::alone;
    }
}

/// Whether it is about messages to or from one other rank.
inline bool is_message(collective::Verb verb) {
    using collective::Verb;
    return verb == Verb::send || verb == Verb::receive || verb == Verb::receive_reduce || verb == Verb::drain;
}

/// Of those: whether it is about messages to it.
inline bool is_outgoing(collective::Verb verb) {
    return verb == collective::Verb::send || verb == collective::Verb::drain;
}

/// Whether switches do the work, for a group of ranks.
inline bool uses_group(collective::Verb verb) { return !is_message(verb) && run_of(verb) != InstructionRun::alone; }

}  // namespace lockstep::replay
