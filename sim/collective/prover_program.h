#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/collective/prover.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// The first ten findings.
class Findings {
  public:
    void add(Finding finding) {
        if (!full()) {
            found_.push_back(std::move(finding));
        }
    }
    bool full() const { return found_.size() >= most; }
    bool empty() const { return found_.empty(); }
    std::vector<Finding> take() { return std::move(found_); }

  private:
    static constexpr std::size_t most = 10;
    std::vector<Finding> found_;
};

/// What meets in a lane.
enum class LaneKind : std::uint8_t {
    message,       ///< from a rank to a rank
    reduction,     ///< from a member of a group to the rank that reads the sum
    multicast,     ///< from a rank to a member of a group
    offer_to_all,  ///< from a member of a group to the sum that all get
    sum,           ///< from that sum to a member
    event,         ///< from a rank to itself
};

/// A first-in-first-out queue between two places of the programs.
struct LaneEnds {
    LaneKind kind = LaneKind::message;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t channel = 0;
    std::uint32_t group = 0;
    std::uint32_t event = 0;
};

/// An instruction with its lanes looked up. In-switch verbs have one for each member of the group, one after the other;
/// sums to all first those of what the members offer and then those of what they get.
struct LinkedInstruction {
    Instruction instruction = {};
    std::uint32_t first_lane = 0;
    std::uint32_t place = 0;  ///< of the rank in the group
};

struct LinkedBlock {
    std::uint32_t iterations = 1;
    std::size_t first_instruction = 0;
    std::size_t instruction_count = 0;
};

struct LinkedThread {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;  ///< among the rank's threads
    std::uint32_t channel = 0;
    std::uint32_t rounds = 1;
    std::uint32_t round_stride = 0;
    std::size_t first_block = 0;
    std::size_t block_count = 0;
};

/// The programs of all ranks, checked and laid out flat. Threads, blocks and rounds without instructions are left out.
struct LinkedPrograms {
    std::vector<LinkedThread> threads = {};  ///< by rank
    std::vector<LinkedBlock> blocks = {};
    std::vector<LinkedInstruction> instructions = {};
    std::vector<LaneEnds> lanes = {};
    std::vector<std::uint32_t> threads_of = {};  ///< by rank: how many its program has, empty ones too
    bool uses_received = false;
};

/// Looks up who meets whom. What is not a program (see Fault::malformed) is added to `findings`, and then the result
/// must not be played. Chunk numbers that only a loop reaches are left for the player to check. Also refused are
/// schedules too large to play: over 2^28 instructions and chunks moved, or over 2^27 chunks of all ranks together.
LinkedPrograms link_programs(const Schedule& schedule, Findings& findings);

/// Where a thread is: `rank 3 in step 7`, with the thread where the rank has several.
std::string place_text(const LinkedPrograms& programs, const LinkedThread& thread, std::uint64_t step);

}  // namespace lockstep::collective
