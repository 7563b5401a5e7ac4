#pragma once

#include "sim/collective/schedule.h"

namespace lockstep::replay {

/// Moves nothing between ranks or threads, and takes no time.
inline bool is_local(collective::Verb verb) {
    return verb == collective::Verb::copy || verb == collective::Verb::reduce;
}

/// Is between threads of a rank.
inline bool is_event(collective::Verb verb) {
    return verb == collective::Verb::signal || verb == collective::Verb::wait;
}

/// Sends a message, or a signal, by itself.
inline bool posts(collective::Verb verb) {
    using collective::Verb;
    return verb == Verb::send || verb == Verb::multicast || verb == Verb::signal;
}

/// Sends a part of what a switch adds up.
inline bool contributes(collective::Verb verb) {
    using collective::Verb;
    return verb == Verb::contribute || verb == Verb::contribute_to_all;
}

/// Holds a thread up until something is there. Of steps next to each other, those that do not wait are done at one
/// instant, and those that do have all to be met before anything else happens: either kind counts as a set.
inline bool waits(collective::Verb verb) { return !posts(verb) && !contributes(verb) && !is_local(verb); }

}  // namespace lockstep::replay
