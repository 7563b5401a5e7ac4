#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/interop/thread_blocks.h"

namespace lockstep::interop {

/// A step that has been written: a thread block of the rank, and its number there.
struct Done {
    std::uint32_t block = 0;
    std::uint32_t step = 0;

    auto operator<=>(const Done&) const = default;
};

/// The steps of a rank's thread blocks while they are written, and which of them each is known to follow, so that
/// nothing is waited for twice.
class OrderedSteps {
  public:
    /// blocks: those to write to, which stay where they are.
    explicit OrderedSteps(std::vector<OutThreadBlock>& blocks) : blocks_(&blocks), clocks_(blocks.size()) {}

    /// Writes a step behind the steps `before` of other thread blocks: it depends on one of those that it does not
    /// follow anyway, and for each further one a `nop` that does stands in front of it. Returns where it stands.
    Done write(std::uint32_t block, OutStep step, const std::set<Done>& before);
    /// How many steps there are.
    std::uint64_t size() const { return written_; }
    /// What is kept to know what follows what, in numbers.
    std::size_t memory() const { return clock_entries_; }

  private:
    /// What a thread block knows to be done, by thread block: how many steps.
    struct Clock {
        std::vector<std::uint32_t> now = {};
        std::vector<std::vector<std::uint32_t>> by_step = {};  ///< when that step was written
        std::vector<std::uint64_t> written_at = {};            ///< by step: its place among all of the rank
    };

    std::uint32_t known_steps(std::uint32_t block, std::uint32_t other) const;
    void learn(std::uint32_t block, const Done& earlier);
    Done append(std::uint32_t block, OutStep step);

    std::vector<OutThreadBlock>* blocks_;
    std::vector<Clock> clocks_;
    std::size_t clock_entries_ = 0;
    std::uint64_t written_ = 0;
};

}  // namespace lockstep::interop
