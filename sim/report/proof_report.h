#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/prover.h"
#include "sim/collective/schedule.h"

namespace lockstep::report {

/// What was tried of one operation, and how it went. Figures are those of the root that has most, and none where the
/// proof failed.
struct ProvedOperation {
    collective::Operation operation = collective::Operation::all_reduce;
    std::vector<RankId> roots = {};  ///< tried, where it has one
    Bytes bytes{};                   ///< of the vector, as nccl-tests counts it
    std::uint32_t channels = 0;
    std::uint32_t chunks = 0;
    std::uint64_t messages = 0;
    std::uint32_t steps = 0;  ///< messages one after the other
    Bytes most_sent{};        ///< by one rank
    Bytes most_received{};
    bool races_checked = true;               ///< see collective::Proof
    std::optional<RankId> failed_root = {};  ///< where it has one and the proof failed
    std::vector<collective::Finding> findings = {};

    bool holds() const { return findings.empty(); }
};

/// What `lockstep verify` says.
struct ProofReport {
    std::string schedule;                      ///< name of an algorithm, or the file
    std::optional<std::string> topology = {};  ///< on which the algorithm was laid out; none for a file by itself
    std::uint32_t ranks = 0;
    std::vector<ProvedOperation> operations = {};
    std::vector<std::string> notes = {};  ///< one line each

    bool holds() const;
};

/// A table of what was proved, then the findings.
void write_text(std::ostream& out, const ProofReport& report);

/// `lockstep.verify/1`, as docs/json.md describes it.
void write_json(std::ostream& out, const ProofReport& report);

}  // namespace lockstep::report
