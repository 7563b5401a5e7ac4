#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/replay/connection_table.h"
#include "sim/replay/fold.h"

namespace lockstep::replay {

/// Reads what ranks do into the colours of their units, and what goes between units into a table of connections.
class ScriptReader {
  public:
    /// colours: by unit. All must outlive it.
    ScriptReader(const FoldInput& input, const Units& units, std::vector<Digest>& colours, ConnectionTable& table)
        : input_(&input), units_(&units), colours_(&colours), table_(&table) {}

    /// Returns: what keeps the script from being folded, null if nothing does. Cost: O(instructions).
    const char* read(std::uint32_t script);

  private:
    const char* read_program(RankId place);
    const char* read_instruction(RankId place, std::uint32_t channel, const Digest& where,
                                 const collective::Instruction& instruction);
    const char* read_group(const collective::Instruction& instruction, std::uint32_t unit, Digest& what) const;
    void number_groups();
    RankId rank_at(RankId place) const { return group_->members[index(place)]; }

    const FoldInput* input_;
    const Units* units_;
    std::vector<Digest>* colours_;
    ConnectionTable* table_;
    std::uint32_t at_ = 0;
    const FoldScript* script_ = nullptr;
    const FoldGroup* group_ = nullptr;
    Digest kind_{};                               ///< of the script
    std::vector<std::uint32_t> group_numbers_{};  ///< by group of the schedule: its number among those of its members
};

}  // namespace lockstep::replay
