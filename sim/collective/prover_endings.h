#pragma once

#include "sim/collective/prover_player.h"

namespace lockstep::collective {

/// Adds the threads that wait for ever and what each waits for: first those that wait for a rank that has ended, since
/// the others often wait only for them.
void report_waiting(const LinkedPrograms& programs, const SymbolicPlayer& player, Findings& findings);

/// Adds what was sent, offered or signalled and never taken.
void report_untaken(const LinkedPrograms& programs, const SymbolicPlayer& player, Findings& findings);

}  // namespace lockstep::collective
