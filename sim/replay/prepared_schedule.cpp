#include "sim/replay/prepared_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

/// Who meets on a connection; looked up while programs are read, in the order of first mention.
struct ConnectionKey {
    std::uint64_t ends = 0;
    std::uint64_t lane = 0;
    bool operator==(const ConnectionKey&) const = default;
};

struct ConnectionKeyHash {
    std::size_t operator()(const ConnectionKey& key) const {
        std::uint64_t mix = key.ends * 0x9E3779B97F4A7C15ULL ^ (key.lane + 0xD1B54A32D192ED03ULL);
        mix ^= mix >> 32;
        return static_cast<std::size_t>(mix * 0x9E3779B97F4A7C15ULL);
    }
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

/// Whether every member of a group is at the far end, with an inbox of its own.
bool has_inbox_per_member(Carrier carrier) { return carrier == Carrier::multicast || carrier == Carrier::sum; }

bool is_local_copy(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }

}  // namespace

/// Reads programs, rank by rank, into the flat arrays of a schedule.
class PreparedSchedule::Reader {
  public:
    Reader(PreparedSchedule& schedule, SelfSends self_sends) : into_(&schedule), self_sends_(self_sends) {}

    void read(RankId rank, const collective::RankProgram& program) {
        rank_ = rank;
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
            events_.try_emplace({index(rank_), instruction.event}, static_cast<std::uint32_t>(into_->inbox_count_));
        into_->inbox_count_ += fresh ? 1 : 0;
        taker_.resize(into_->inbox_count_);
        if (instruction.verb == Verb::wait) {
            const std::size_t thread = into_->threads_.size();
            if (taker_[entry->second].value_or(thread) != thread) {
                refuse(fmt::format("two threads wait for event {}", instruction.event));
            }
            taker_[entry->second] = thread;
        }
        return {.verb = instruction.verb, .connection = no_connection, .slot = entry->second, .chunk = {}};
    }

    Step step_for(const collective::Thread& thread, const collective::Instruction& instruction) {
        if (instruction.verb == Verb::signal || instruction.verb == Verb::wait) {
            return step_for_event(instruction);
        }
        if (is_local_copy(instruction.verb)) {
            require_chunks(thread, instruction);
            return {.verb = instruction.verb, .connection = no_connection, .chunk = {}};
        }
        const Carrier carrier = carrier_of(instruction.verb);
        if (index(instruction.peer) >= into_->gpus_.size()) {
            refuse(fmt::format("peer {} does not exist", index(instruction.peer)));
        }
        if (carrier == Carrier::message && instruction.peer == rank_ && self_sends_ == SelfSends::refused) {
            refuse("sends to or receives from itself");
        }
        require_chunks(thread, instruction);
        const bool is_list = instruction.chunks != nullptr;
        const bool has_own_sizes = into_->sizes_ != nullptr;
        Step step{.verb = instruction.verb,
                  .connection = connection_for(channel_of(thread, instruction), carrier, instruction),
                  .slot = 0,
                  .count = !is_list        ? instruction.count
                           : has_own_sizes ? 0
                                           : static_cast<std::uint32_t>(instruction.chunks->size()),
                  .chunk = instruction.chunk};
        if (is_list && has_own_sizes) {
            step.listed = listed_bytes(instruction);
        }
        step.slot = into_->connections_[step.connection].first_inbox;
        if (contributes(instruction.verb)) {
            step.slot = place_in_group(rank_, instruction.group);
        } else if (takes(instruction.verb) && has_inbox_per_member(carrier)) {
            step.slot += place_in_group(rank_, instruction.group);
        }
        if (!contributes(instruction.verb)) {
            claim(step, channel_of(thread, instruction), instruction.peer);
        }
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
        const ConnectionKey key{static_cast<std::uint64_t>(index(from)) << 32U | index(to),
                                (static_cast<std::uint64_t>(channel) << 34U) |
                                    (static_cast<std::uint64_t>(in_switch ? instruction.group : 0) << 2U) |
                                    static_cast<std::uint64_t>(carrier)};
        const auto [entry, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(into_->connections_.size()));
        if (fresh) {
            if (in_switch) {
                place_in_group(instruction.peer, instruction.group);
            }
            into_->connections_.push_back({.carrier = carrier,
                                           .from = from,
                                           .to = to,
                                           .channel = channel,
                                           .group = instruction.group,
                                           .first_inbox = static_cast<std::uint32_t>(into_->inbox_count_)});
            into_->inbox_count_ += has_inbox_per_member(carrier) ? into_->groups_[instruction.group].size() : 1;
        }
        return entry->second;
    }

    /// Each end of a connection belongs to one thread: two would take turns by chance.
    void claim(const Step& step, std::uint32_t channel, RankId peer) {
        sender_.resize(into_->connections_.size());
        taker_.resize(into_->inbox_count_);
        const std::size_t thread = into_->threads_.size();
        auto& owner = takes(step.verb) ? taker_[step.slot] : sender_[step.connection];
        if (owner.value_or(thread) != thread) {
            refuse(fmt::format("two threads of channel {} {} rank {}", channel,
                               takes(step.verb) ? "receive from" : "send to", index(peer)));
        }
        owner = thread;
    }

    PreparedSchedule* into_;
    SelfSends self_sends_;
    RankId rank_{};
    std::unordered_map<ConnectionKey, std::uint32_t, ConnectionKeyHash> known_;
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> events_;  ///< rank and event -> inbox
    std::vector<std::optional<std::size_t>> sender_;  ///< by connection: the thread that sends on it
    std::vector<std::optional<std::size_t>> taker_;   ///< by inbox: the thread that takes from it
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
