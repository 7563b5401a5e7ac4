#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/prover.h"
#include "sim/collective/prover_contents.h"
#include "sim/collective/prover_memory.h"
#include "sim/collective/prover_program.h"
#include "sim/collective/prover_races.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What is under way in a lane.
struct Message {
    std::vector<ContentId> contents = {};
    std::int64_t bytes = 0;
    std::uint32_t depth = 0;                  ///< messages in the longest chain that ends with this one
    std::uint32_t turn = 0;                   ///< the same, where messages of a connection follow each other
    std::size_t thread = 0;                   ///< that sent it
    std::uint64_t step = 0;                   ///< of that thread
    std::shared_ptr<const Clock> clock = {};  ///< where races are looked for
};

/// Messages in the order in which they were sent.
class Lane {
  public:
    bool empty() const { return taken_ == messages_.size(); }
    std::size_t size() const { return messages_.size() - taken_; }
    const Message& front() const { return messages_[taken_]; }
    void push(Message message) { messages_.push_back(std::move(message)); }
    Message pop();

  private:
    std::vector<Message> messages_;
    std::size_t taken_ = 0;
};

/// Where a thread is.
struct ThreadState {
    std::uint32_t round = 0;
    std::size_t block = 0;
    std::uint32_t iteration = 0;
    std::size_t at = 0;       ///< in the body
    std::uint64_t step = 0;   ///< instructions carried out
    std::uint32_t depth = 0;  ///< of the deepest message taken
    std::uint32_t turn = 0;
    bool ended = false;
};

/// Where data comes from.
struct Origin {
    enum class Kind : std::uint8_t { own, message, switches };
    Kind kind = Kind::own;
    std::uint32_t rank = 0;
};

/// What becomes of it.
enum class Taking : std::uint8_t { stored, added };

/// Plays linked programs on symbolic data: threads take turns, each running until it has to wait.
class SymbolicPlayer {
  public:
    /// What it refers to must outlive it.
    SymbolicPlayer(const Schedule& schedule, Bytes bytes, Record record, const LinkedPrograms& programs,
                   Findings& findings);
    /// One that looks for races, among which findings it makes no others if there is nothing else to find.
    SymbolicPlayer(const Schedule& schedule, Bytes bytes, const LinkedPrograms& programs, Findings& findings);

    /// Plays until all threads have ended or wait, and adds what is wrong on the way to the findings. Returns: whether
    /// it got that far; it does not where there are too many findings, or one after which nothing makes sense.
    bool play(Turns turns);

    const std::vector<ThreadState>& states() const { return states_; }  ///< by thread
    const std::vector<Lane>& lanes() const { return lanes_; }
    const RankMemory& memory() const { return memory_; }
    const ContentStore& contents() const { return contents_; }
    /// Whether there can be races.
    bool threads_meet() const { return shared_ && shared_->any(); }
    /// The instruction that the thread waits at. Requires: it has not ended.
    const LinkedInstruction& current(std::size_t at) const;
    /// All but the findings.
    Proof take_proof();

  private:
    /// Of the messages sent on a lane.
    struct LastSent {
        std::uint32_t depth = 0;
        std::uint32_t turn = 0;
    };

    bool advance(std::size_t at);
    static void to_next(const LinkedPrograms& programs, const LinkedThread& thread, ThreadState& state);
    bool carry_out(std::size_t at, const LinkedInstruction& linked);
    bool wait(std::size_t at, std::uint32_t lane);
    void touch(std::size_t at, Buffer buffer, std::uint32_t chunk, Access access);
    Message sent(std::size_t at, const Instruction& instruction, LastSent& last);
    void multicast(std::size_t at, const LinkedInstruction& linked);
    bool take(std::size_t at, const LinkedInstruction& linked, std::uint32_t lane);
    std::optional<Message> summed(std::size_t at, const Instruction& instruction, std::uint32_t lane);
    bool reduce_in_switch(std::size_t at, const LinkedInstruction& linked);
    void sum_for_all(std::size_t at, const LinkedInstruction& linked);
    void arrive(std::size_t at, const LinkedInstruction& linked, const Message& message, std::uint32_t from);
    void copy(std::size_t at, const Instruction& instruction);
    void put(std::size_t at, Buffer buffer, std::uint32_t chunk, ContentId content, Taking taking, Origin origin);
    ContentId added(std::size_t at, ContentId there, ContentId more, Origin origin);
    void keep_transfer(std::size_t at, const Instruction& instruction, const Message& message, std::uint32_t from,
                       const std::vector<std::uint32_t>& chunks);

    std::optional<std::uint32_t> first_chunk(std::size_t at, const ChunkIndex& chunk, std::uint32_t count,
                                             Buffer buffer);
    std::vector<std::uint32_t> chunks_of(std::size_t at, const Instruction& instruction);
    void refuse_chunk(std::size_t at, std::uint64_t chunk, Buffer buffer);
    std::int64_t bytes_of(ContentId content, std::uint32_t chunk) const;
    std::uint32_t members(const Instruction& instruction) const;
    std::uint32_t rank_of(std::size_t at) const { return programs_.threads[at].rank; }
    std::string place(std::size_t at) const;
    void report(std::size_t at, Fault fault, std::uint32_t chunk, const std::string& text);

    const Schedule& schedule_;
    Bytes bytes_;
    Record record_;
    const LinkedPrograms& programs_;
    Findings& findings_;
    Proof proof_;
    ContentStore contents_;
    RankMemory memory_;
    std::optional<SharedPlaces> shared_ = {};  ///< where ranks have several threads
    std::optional<RaceDetector> races_ = {};
    std::vector<ThreadState> states_;
    std::vector<Lane> lanes_;
    std::vector<LastSent> last_sent_;  ///< by lane
    bool stopped_ = false;             ///< by what is not a program
};

}  // namespace lockstep::collective
