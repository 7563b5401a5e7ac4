#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/route.h"

namespace lockstep::replay {

/// What a connection carries: a message between two ranks, or the traffic of an in-switch reduction, multicast, or
/// reduction whose sum goes to all.
enum class Carrier : std::uint8_t { message, reduction, multicast, sum };

/// Whether every member of a group is at the far end, with an inbox of its own.
constexpr bool has_inbox_per_member(Carrier carrier) {
    return carrier == Carrier::multicast || carrier == Carrier::sum;
}

/// A first-in-first-out lane of one channel. It has one far end, or for a multicast or sum an inbox for each member.
struct Connection {
    Carrier carrier = Carrier::message;
    RankId from{};  ///< the sender; of a reduction, the rank that reads; of a sum, the one it is told apart by
    RankId to{};    ///< of a message, the receiver; else as `from`
    std::uint32_t channel = 0;
    std::uint32_t group = 0;               ///< of in-switch traffic
    std::uint32_t first_inbox = 0;         ///< of those of members
    const fabric::Route* route = nullptr;  ///< found when first used, unless routing is adaptive
    std::uint32_t stands_for = 1;          ///< connections that do the same, itself included
};

/// An instruction with its connection looked up: what playing it needs, and no more.
struct Step {
    double bytes = 0;  ///< of the message that it sends, where all chunks are of one size
    std::uint32_t connection = 0;
    std::uint32_t slot = 0;   ///< signal, wait, receives of members: the inbox; contributions: the member's place
    std::uint32_t count = 1;  ///< of chunks
    collective::Verb verb = collective::Verb::send;
};

struct StepLoop {
    std::uint32_t iterations = 1;
    std::uint32_t first_step = 0;
    std::uint32_t step_count = 0;
};

struct StepThread {
    RankId rank{};
    std::uint32_t rounds = 1;
    std::uint32_t round_stride = 0;
    std::uint32_t first_loop = 0;
    std::uint32_t loop_count = 0;
};

/// A schedule laid out flat for playing, for vectors of one size over one communicator. Empty threads and loops are
/// left out.
/// Memory: 24 bytes for each instruction of each rank, loops counted once, and 48 for each connection.
class PreparedSchedule {
  public:
    /// Throws: SimulationError when a program is not one (a peer that does not exist, itself as peer, chunks beyond the
    /// vector, a member that is not in its group), naming the rank.
    PreparedSchedule(const collective::Communicator& communicator, const collective::Schedule& schedule, Bytes bytes);
    /// The part of a schedule that stands for all of it: its ranks are on `gpus`, and one that stands for several may
    /// send to itself. An instruction that sends or receives can name its channel as its `event`, where it is not the
    /// thread's. Throws: as above.
    static PreparedSchedule of_representatives(std::span<const VertexId> gpus, const collective::Schedule& schedule,
                                               Bytes bytes);
    /// The arrays as they are, with chunks of the sizes that `like` has. Every index in them must be valid, and threads
    /// in the order of their ranks.
    struct Parts {
        std::vector<VertexId> gpus = {};  ///< by rank
        std::vector<std::vector<RankId>> groups = {};
        std::vector<StepThread> threads = {};
        std::vector<StepLoop> loops = {};
        std::vector<Step> steps = {};
        std::vector<Connection> connections = {};
        std::size_t inboxes = 0;
    };
    static PreparedSchedule of_parts(Parts parts, const PreparedSchedule& like);

    std::size_t rank_count() const { return thread_begin_.size() - 1; }
    std::span<const StepThread> threads() const { return threads_; }
    /// Threads of a rank are consecutive: [first_thread(r), first_thread(r + 1)).
    std::uint32_t first_thread(RankId rank) const { return thread_begin_[index(rank)]; }
    std::uint32_t thread_count(RankId rank) const {
        return thread_begin_[index(rank) + 1] - thread_begin_[index(rank)];
    }
    const StepLoop& loop(std::uint32_t at) const { return loops_[at]; }
    std::span<const Step> steps() const { return steps_; }
    const Step& step(std::uint32_t at) const { return steps_[at]; }
    /// Whether a message's bytes follow from the number of its chunks alone; else they are those of a SizeMatrix.
    bool has_equal_chunks() const { return sizes_ == nullptr; }
    std::span<Connection> connections() { return connections_; }
    std::span<const Connection> connections() const { return connections_; }
    /// Of events and of members of groups.
    std::size_t inbox_count() const { return inbox_count_; }
    std::span<const RankId> group(std::uint32_t at) const { return groups_[at]; }
    VertexId gpu(RankId rank) const { return gpus_[index(rank)]; }
    /// Of the message that `sender` sends by a step. Requires: not has_equal_chunks(). moved_on: what the thread's
    /// rounds so far add to chunk numbers.
    double own_bytes_of(std::uint32_t step, RankId sender, std::uint32_t iteration, std::uint32_t moved_on) const {
        const SizedStep& sized = sized_steps_[step];
        const Bytes bytes = sized.count == 0 ? sized.listed
                                             : collective::message_bytes(
                                                   *sizes_, sender, sized.chunk.at(iteration) + moved_on, sized.count);
        return static_cast<double>(bytes.value);
    }

  private:
    class Reader;
    PreparedSchedule() = default;
    enum class SelfSends : std::uint8_t { refused, allowed };
    PreparedSchedule(std::span<const VertexId> gpus, const collective::Schedule& schedule, Bytes bytes,
                     SelfSends self_sends);

    /// What of a step is needed to know its bytes where chunks are of different sizes.
    struct SizedStep {
        collective::ChunkIndex chunk;
        std::uint32_t count = 1;
        Bytes listed = {};  ///< of a message of scattered chunks (then count is 0)
    };

    /// Chunks of a vector are of equal size here, fractions of bytes included: where the real ones differ by a byte,
    /// which of them does depends on an implementation's rounding, and all ranks would do unlike things because of it.
    double chunk_bytes_ = 0;
    std::uint32_t chunks_ = 1;
    std::uint32_t scratch_chunks_ = 0;
    std::shared_ptr<const collective::SizeMatrix> sizes_{};
    std::vector<VertexId> gpus_{};
    std::vector<std::vector<RankId>> groups_{};
    std::vector<StepThread> threads_{};
    std::vector<std::uint32_t> thread_begin_{};
    std::vector<StepLoop> loops_{};
    std::vector<Step> steps_{};
    std::vector<SizedStep> sized_steps_{};  ///< by step, where messages have sizes of their own
    std::vector<Connection> connections_{};
    std::size_t inbox_count_ = 0;
};

}  // namespace lockstep::replay
