#include "sim/collective/prover.h"

#include <stdexcept>

#include "sim/collective/prover_endings.h"
#include "sim/collective/prover_player.h"
#include "sim/collective/prover_program.h"

namespace lockstep::collective {

std::string_view name_of(Fault fault) {
    switch (fault) {
        case Fault::missing:
            return "missing";
        case Fault::doubled:
            return "doubled";
        case Fault::misplaced:
            return "misplaced";
        case Fault::absent:
            return "absent";
        case Fault::untaken:
            return "untaken";
        case Fault::deadlock:
            return "deadlock";
        case Fault::malformed:
            return "malformed";
        case Fault::race:
            return "race";
    }
    throw std::invalid_argument("name_of: no such fault");
}

Proof prove(const Schedule& schedule, Bytes bytes, Turns turns, Record record) {
    Findings findings;
    const LinkedPrograms programs = link_programs(schedule, findings);
    Proof proof;
    if (findings.empty()) {
        SymbolicPlayer player(schedule, bytes, record, programs, findings);
        if (player.play(turns)) {
            report_waiting(programs, player, findings);
            report_untaken(programs, player, findings);
            player.memory().check_results(findings);
        }
        const bool may_race = findings.empty() && player.threads_meet();
        proof = player.take_proof();
        proof.races_checked = !may_race || can_detect_races(programs);
        if (may_race && proof.races_checked) {
            SymbolicPlayer(schedule, bytes, programs, findings).play(turns);
        }
    }
    proof.findings = findings.take();
    return proof;
}

}  // namespace lockstep::collective
