#include "sim/replay/prepared_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

/// Finds connections by who meets on them, in constant time.
class ConnectionNumbers {
  public:
    /// connections: those that have numbers so far; the caller adds this one to them if it is told so.
    /// Returns: its number, and whether it is new.
    std::pair<std::uint32_t, bool> number(const std::vector<Connection>& connections, const Connection& connection) {
        if (2 * (connections.size() + 1) > slots_.size()) {
            grow(connections);
        }
        const std::uint64_t hash = hash_of(connection);
        for (std::size_t at = hash >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.number == none) {
                slot = {tag_of(hash), static_cast<std::uint32_t>(connections.size())};
                return {slot.number, true};
            }
            if (slot.tag == tag_of(hash) && is_same(connections[slot.number], connection)) {
                return {slot.number, false};
            }
        }
    }

  private:
    static constexpr std::uint32_t none = UINT32_MAX;
    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t number = none;
    };

    static std::uint64_t hash_of(const Connection& connection) {
        std::uint64_t mix = (static_cast<std::uint64_t>(index(connection.from)) << 32U) | index(connection.to);
        mix *= 0x9E3779B97F4A7C15ULL;
        mix ^= mix >> 32U;
        mix += (static_cast<std::uint64_t>(connection.channel) << 34U) |
               (static_cast<std::uint64_t>(connection.group) << 2U) | static_cast<std::uint64_t>(connection.carrier);
        return mix * 0xD1B54A32D192ED03ULL;
    }
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
    static bool is_same(const Connection& a, const Connection& b) {
        return a.from == b.from && a.to == b.to && a.channel == b.channel && a.group == b.group &&
               a.carrier == b.carrier;
    }

    void grow(const std::vector<Connection>& connections) {
        shift_ = slots_.empty() ? 54 : shift_ - 1;
        slots_.assign(std::size_t{1} << (64U - shift_), {});
        for (std::uint32_t number = 0; number < connections.size(); ++number) {
            const std::uint64_t hash = hash_of(connections[number]);
            std::size_t at = hash >> shift_;
            while (slots_[at].number != none) {
                at = (at + 1) & (slots_.size() - 1);
            }
            slots_[at] = {tag_of(hash), number};
        }
    }

    std::vector<Slot> slots_;
    unsigned shift_ = 64;
};

Carrier carrier_of(Verb verb) {
    switch (verb) {
        case Verb::contribute:
        case Verb::reduce_in_switch:
            return Carrier::reduction;
        case Verb::multicast:
        case Verb::receive_multicast:
            return Carrier::multicast;
        case Verb::contribute_to_all:
        case Verb::receive_sum:
            return Carrier::sum;
        default:
            break;
    }
    return Carrier::message;
}

/// What instructions have that move nothing between ranks.
constexpr std::uint32_t no_connection = UINT32_MAX;

/// Of the chunk numbers that an index takes in a loop, the largest.
std::uint64_t largest_chunk(const collective::ChunkIndex& chunk) {
    return chunk.offset + static_cast<std::uint64_t>(chunk.scale) * (chunk.modulus - 1);
}

/// Whether the instruction takes what arrives in an inbox.
bool takes(Verb verb) {
    return verb == Verb::receive || verb == Verb::receive_reduce || verb == Verb::reduce_in_switch ||
           verb == Verb::receive_multicast || verb == Verb::receive_sum || verb == Verb::wait;
}

/// Whether every member of a group is at the near end: each has a place of its own there.
bool contributes(Verb verb) { return verb == Verb::contribute || verb == Verb::contribute_to_all; }

bool is_local_copy(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }

}  // namespace

/// Reads programs, rank by rank, into the flat arrays of a schedule.
class PreparedSchedule::Reader {
  public:
    Reader(PreparedSchedule& schedule, SelfSends self_sends) : into_(&schedule), self_sends_(self_sends) {}

    void read(RankId rank, const collective::RankProgram& program) {
        rank_ = rank;
        events_.clear();
        for (const collective::Thread& thread : program) {
            const auto first_loop = static_cast<std::uint32_t>(into_->loops_.size());
            for (const collective::Block& block : thread.blocks) {
                if (block.iterations == 0 || block.body.empty()) {
                    continue;
                }
                into_->loops_.push_back({block.iterations, static_cast<std::uint32_t>(into_->steps_.size()),
                                         static_cast<std::uint32_t>(block.body.size())});
                for (const collective::Instruction& instruction : block.body) {
                    if (instruction.chunks && (block.iterations > 1 || thread.rounds > 1)) {
                        refuse("a list of chunks in a loop");
                    }
                    into_->steps_.push_back(step_for(thread, instruction));
                    if (into_->sizes_) {
                        into_->sized_steps_.push_back({instruction.chunk, instruction.chunks ? 0 : instruction.count,
                                                       instruction.chunks ? listed_bytes(instruction) : Bytes{}});
                    }
                }
            }
            const std::uint32_t loops = static_cast<std::uint32_t>(into_->loops_.size()) - first_loop;
            if (loops > 0 && thread.rounds > 0) {
                into_->threads_.push_back({rank, thread.rounds, thread.round_stride, first_loop, loops});
            }
        }
    }

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw SimulationError(fmt::format("schedule of rank {}: {}", index(rank_), what));
    }

    std::uint32_t place_in_group(RankId member, std::uint32_t group) const {
        if (group >= into_->groups_.size()) {
            refuse(fmt::format("group {} does not exist", group));
        }
        const auto& members = into_->groups_[group];
        const auto found = std::find(members.begin(), members.end(), member);
        if (found == members.end()) {
            refuse(fmt::format("rank {} is not in group {}", index(member), group));
        }
        return static_cast<std::uint32_t>(found - members.begin());
    }

    void require_chunks(const collective::Thread& thread, collective::Buffer buffer,
                        const collective::ChunkIndex& chunk, std::uint32_t count) const {
        const std::uint64_t moved_on =
            static_cast<std::uint64_t>(thread.round_stride) * (thread.rounds == 0 ? 0 : thread.rounds - 1);
        if (chunk.modulus == 0) {
            refuse("chunks modulo 0");
        }
        require_end(buffer, largest_chunk(chunk) + moved_on + count);
    }

    void require_end(collective::Buffer buffer, std::uint64_t end) const {
        const std::uint64_t chunks =
            buffer == collective::Buffer::scratch ? into_->scratch_chunks_ : std::uint64_t{into_->chunks_};
        if (end > chunks) {
            refuse(fmt::format("chunk {} of {}", end - 1, chunks));
        }
    }

    void require_chunks(const collective::Thread& thread, const collective::Instruction& instruction) const {
        if (instruction.chunks) {
            for (const std::uint32_t chunk : *instruction.chunks) {
                require_end(instruction.buffer, std::uint64_t{chunk} + 1);
            }
        } else {
            require_chunks(thread, instruction.buffer, instruction.chunk, instruction.count);
        }
        if (is_local_copy(instruction.verb)) {
            require_chunks(thread, instruction.from_buffer, instruction.from, instruction.count);
        }
    }

    Bytes listed_bytes(const collective::Instruction& instruction) const {
        Bytes sum;
        for (const std::uint32_t chunk : *instruction.chunks) {
            sum += collective::message_bytes(*into_->sizes_, rank_, chunk, 1);
        }
        return sum;
    }

    /// Signals are messages of a rank to itself, without bytes.
    Step step_for_event(const collective::Instruction& instruction) {
        const auto [entry, fresh] =
            events_.try_emplace(instruction.event, static_cast<std::uint32_t>(into_->inbox_count_));
        if (fresh) {
            add_inboxes(1);
        }
        if (instruction.verb == Verb::wait && !is_only_owner(inbox_taker_[entry->second])) {
            refuse(fmt::format("two threads wait for event {}", instruction.event));
        }
        return {.connection = no_connection, .slot = entry->second, .verb = instruction.verb};
    }

    Step step_for(const collective::Thread& thread, const collective::Instruction& instruction) {
        if (instruction.verb == Verb::signal || instruction.verb == Verb::wait) {
            return step_for_event(instruction);
        }
        if (is_local_copy(instruction.verb)) {
            require_chunks(thread, instruction);
            return {.connection = no_connection, .verb = instruction.verb};
        }
        const Carrier carrier = carrier_of(instruction.verb);
        if (index(instruction.peer) >= into_->gpus_.size()) {
            refuse(fmt::format("peer {} does not exist", index(instruction.peer)));
        }
        if (carrier == Carrier::message && instruction.peer == rank_ && self_sends_ == SelfSends::refused) {
            refuse("sends to or receives from itself");
        }
        require_chunks(thread, instruction);
        const std::size_t count = instruction.chunks ? instruction.chunks->size() : instruction.count;
        Step step{.bytes = into_->chunk_bytes_ * static_cast<double>(count),
                  .connection = connection_for(channel_of(thread, instruction), carrier, instruction),
                  .count = static_cast<std::uint32_t>(count),
                  .verb = instruction.verb};
        if (contributes(instruction.verb)) {
            step.slot = place_in_group(rank_, instruction.group);
            return step;
        }
        if (takes(instruction.verb) && has_inbox_per_member(carrier)) {
            step.slot = into_->connections_[step.connection].first_inbox + place_in_group(rank_, instruction.group);
        }
        claim(step, channel_of(thread, instruction), instruction.peer);
        return step;
    }

    std::uint32_t channel_of(const collective::Thread& thread, const collective::Instruction& instruction) const {
        const bool names_its_own = self_sends_ == SelfSends::allowed && instruction.event != 0;
        return names_its_own ? instruction.event : thread.channel;
    }

    /// The connection that the instruction uses, made when first mentioned by either side.
    std::uint32_t connection_for(std::uint32_t channel, Carrier carrier, const collective::Instruction& instruction) {
        const bool in_switch = carrier != Carrier::message;
        const bool incoming = instruction.verb == Verb::receive || instruction.verb == Verb::receive_reduce;
        // In-switch traffic is known by the rank that reads or multicasts, whoever speaks of it.
        const RankId from = in_switch || incoming ? instruction.peer : rank_;
        const RankId to = in_switch || !incoming ? instruction.peer : rank_;
        const Connection wanted{.carrier = carrier,
                                .from = from,
                                .to = to,
                                .channel = channel,
                                .group = in_switch ? instruction.group : 0,
                                .first_inbox = static_cast<std::uint32_t>(into_->inbox_count_)};
        const auto [number, is_new] = known_.number(into_->connections_, wanted);
        if (is_new) {
            if (in_switch) {
                place_in_group(instruction.peer, instruction.group);
            }
            into_->connections_.push_back(wanted);
            senders_.push_back(nobody);
            takers_.push_back(nobody);
            if (has_inbox_per_member(carrier)) {
                add_inboxes(into_->groups_[instruction.group].size());
            }
        }
        return number;
    }

    void add_inboxes(std::size_t count) {
        into_->inbox_count_ += count;
        inbox_taker_.resize(into_->inbox_count_, nobody);
    }

    /// Whether an end of a connection belongs to the present thread and no other; it does from now on.
    bool is_only_owner(std::uint32_t& owner) const {
        const auto thread = static_cast<std::uint32_t>(into_->threads_.size());
        const bool is_only = owner == nobody || owner == thread;
        owner = thread;
        return is_only;
    }

    /// Each end of a connection belongs to one thread: two would take turns by chance.
    void claim(const Step& step, std::uint32_t channel, RankId peer) {
        const bool is_far_end = takes(step.verb);
        const bool is_member = is_far_end && has_inbox_per_member(carrier_of(step.verb));
        std::uint32_t& owner = is_member    ? inbox_taker_[step.slot]
                               : is_far_end ? takers_[step.connection]
                                            : senders_[step.connection];
        if (!is_only_owner(owner)) {
            refuse(fmt::format("two threads of channel {} {} rank {}", channel, is_far_end ? "receive from" : "send to",
                               index(peer)));
        }
    }

    static constexpr std::uint32_t nobody = UINT32_MAX;

    PreparedSchedule* into_;
    SelfSends self_sends_;
    RankId rank_{};
    ConnectionNumbers known_;
    std::map<std::uint32_t, std::uint32_t> events_;  ///< of the rank: event -> inbox
    std::vector<std::uint32_t> senders_;             ///< by connection: the thread that sends on it
    std::vector<std::uint32_t> takers_;              ///< by connection with one far end: the thread that takes from it
    std::vector<std::uint32_t> inbox_taker_;         ///< by inbox: the same
};

PreparedSchedule::PreparedSchedule(const collective::Communicator& communicator, const collective::Schedule& schedule,
                                   Bytes bytes)
    : PreparedSchedule(communicator.gpus(), schedule, bytes, SelfSends::refused) {}

PreparedSchedule PreparedSchedule::of_representatives(std::span<const VertexId> gpus,
                                                      const collective::Schedule& schedule, Bytes bytes) {
    return {gpus, schedule, bytes, SelfSends::allowed};
}

PreparedSchedule::PreparedSchedule(std::span<const VertexId> gpus, const collective::Schedule& schedule, Bytes bytes,
                                   SelfSends self_sends)
    : chunk_bytes_(static_cast<double>(bytes.value) / schedule.chunks),
      chunks_(schedule.chunks),
      scratch_chunks_(schedule.scratch_chunks),
      sizes_(schedule.sizes),
      gpus_(gpus.begin(), gpus.end()),
      groups_(schedule.groups) {
    if (schedule.ranks != gpus.size()) {
        throw SimulationError(
            fmt::format("schedule `{}` is for {} ranks, not {}", schedule.algorithm, schedule.ranks, gpus.size()));
    }
    Reader reader(*this, self_sends);
    thread_begin_.push_back(0);
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
        reader.read(id_at<RankId>(rank), schedule.program(id_at<RankId>(rank)));
        thread_begin_.push_back(static_cast<std::uint32_t>(threads_.size()));
    }
}

PreparedSchedule PreparedSchedule::of_parts(Parts parts, const PreparedSchedule& like) {
    PreparedSchedule schedule;
    schedule.chunk_bytes_ = like.chunk_bytes_;
    schedule.chunks_ = like.chunks_;
    schedule.scratch_chunks_ = like.scratch_chunks_;
    schedule.sizes_ = like.sizes_;
    schedule.gpus_ = std::move(parts.gpus);
    schedule.groups_ = std::move(parts.groups);
    schedule.threads_ = std::move(parts.threads);
    schedule.loops_ = std::move(parts.loops);
    schedule.steps_ = std::move(parts.steps);
    schedule.connections_ = std::move(parts.connections);
    schedule.inbox_count_ = parts.inboxes;
    schedule.thread_begin_.assign(schedule.gpus_.size() + 1, 0);
    for (const StepThread& thread : schedule.threads_) {
        ++schedule.thread_begin_[index(thread.rank) + 1];
    }
    std::partial_sum(schedule.thread_begin_.begin(), schedule.thread_begin_.end(), schedule.thread_begin_.begin());
    return schedule;
}

}  // namespace lockstep::replay
