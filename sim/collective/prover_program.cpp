#include "sim/collective/prover_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace lockstep::collective {

namespace {

// What is played in about a minute, and in about a gigabyte.
constexpr double most_work = 1U << 28U;
constexpr double most_places = 1U << 27U;

bool has_blocks_of_ranks(Operation operation) {
    return operation == Operation::reduce_scatter || operation == Operation::all_gather ||
           operation == Operation::all_to_all || operation == Operation::gather || operation == Operation::scatter;
}

bool is_in_switch(Verb verb) {
    switch (verb) {
        case Verb::contribute:
        case Verb::reduce_in_switch:
        case Verb::multicast:
        case Verb::receive_multicast:
        case Verb::contribute_to_all:
        case Verb::receive_sum:
            return true;
        default:
            return false;
    }
}

bool is_local_copy(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }
bool is_event(Verb verb) { return verb == Verb::signal || verb == Verb::wait; }

bool takes(Verb verb) {
    return verb == Verb::receive || verb == Verb::receive_reduce || verb == Verb::reduce_in_switch ||
           verb == Verb::receive_multicast || verb == Verb::receive_sum || verb == Verb::wait;
}

/// What is wrong with the schedule as a whole, if anything is.
std::optional<std::string> complaint_about(const Schedule& schedule) {
    if (schedule.ranks == 0 || schedule.chunks == 0) {
        return fmt::format("a schedule for {} ranks and {} chunks", schedule.ranks, schedule.chunks);
    }
    if (!schedule.program) {
        return "a schedule without programs";
    }
    if (has_root(schedule.operation) && index(schedule.root) >= schedule.ranks) {
        return fmt::format("root {} of {} ranks", index(schedule.root), schedule.ranks);
    }
    if (has_blocks_of_ranks(schedule.operation) && schedule.chunks % schedule.ranks != 0) {
        return fmt::format("{} chunks do not make {} equal blocks, one for each rank", schedule.chunks, schedule.ranks);
    }
    if (schedule.operation == Operation::all_to_all_v) {
        if (schedule.chunks != schedule.ranks) {
            return fmt::format("{} chunks for {} ranks, where all_to_all_v has one for each", schedule.chunks,
                               schedule.ranks);
        }
        if (!schedule.sizes || schedule.sizes->ranks != schedule.ranks ||
            schedule.sizes->bytes.size() != std::size_t{schedule.ranks} * schedule.ranks) {
            return fmt::format("all_to_all_v without the sizes of {} ranks", schedule.ranks);
        }
    }
    if (schedule.operation == Operation::permutation && !schedule.permutation) {
        return "a permutation without partners";
    }
    if (schedule.result == Buffer::scratch && schedule.scratch_chunks < schedule.chunks) {
        return fmt::format("a result of {} chunks due in a scratch buffer of {}", schedule.chunks,
                           schedule.scratch_chunks);
    }
    for (std::size_t g = 0; g < schedule.groups.size(); ++g) {
        std::set<RankId> members;
        for (const RankId member : schedule.groups[g]) {
            if (index(member) >= schedule.ranks) {
                return fmt::format("group {} has rank {} of {}", g, index(member), schedule.ranks);
            }
            if (!members.insert(member).second) {
                return fmt::format("group {} has rank {} twice", g, index(member));
            }
        }
    }
    const double places = static_cast<double>(schedule.ranks) *
                          (2 * static_cast<double>(schedule.chunks) + static_cast<double>(schedule.scratch_chunks));
    if (places > most_places) {
        return fmt::format("{} ranks with {} chunks and {} of scratch are more than can be played", schedule.ranks,
                           schedule.chunks, schedule.scratch_chunks);
    }
    return std::nullopt;
}

/// Kind, one end, other end, channel, group: the reader, multicaster or namesake at both ends of in-switch ones.
struct MeetingKey {
    LaneKind kind = LaneKind::message;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t channel = 0;
    std::uint32_t group = 0;

    bool operator==(const MeetingKey&) const = default;
};

struct MeetingKeyHash {
    std::size_t operator()(const MeetingKey& key) const {
        std::uint64_t mix = (std::uint64_t{key.from} << 32U) | key.to;
        mix = (mix ^ (mix >> 29U)) * 0x9E3779B97F4A7C15ULL;
        mix ^= (std::uint64_t{key.channel} << 35U) ^ (std::uint64_t{key.group} << 3U) ^
               static_cast<std::uint64_t>(key.kind);
        mix = (mix ^ (mix >> 32U)) * 0xBF58476D1CE4E5B9ULL;
        return static_cast<std::size_t>(mix ^ (mix >> 31U));
    }
};

class Linker {
  public:
    Linker(const Schedule& schedule, Findings& findings) : schedule_(schedule), findings_(findings) {
        for (const auto& group : schedule.groups) {
            std::map<std::uint32_t, std::uint32_t> places;
            for (const RankId member : group) {
                places.emplace(static_cast<std::uint32_t>(member), static_cast<std::uint32_t>(places.size()));
            }
            places_.push_back(std::move(places));
        }
    }

    LinkedPrograms link() {
        linked_.uses_received = schedule_.result == Buffer::received;
        for (rank_ = 0; rank_ < schedule_.ranks && !findings_.full(); ++rank_) {
            const RankProgram program = schedule_.program(id_at<RankId>(rank_));
            linked_.threads_of.push_back(static_cast<std::uint32_t>(program.size()));
            for (std::size_t number = 0; number < program.size(); ++number) {
                add(program[number], static_cast<std::uint32_t>(number));
            }
        }
        return std::move(linked_);
    }

  private:
    void add(const Thread& thread, std::uint32_t number) {
        LinkedThread added{.rank = rank_,
                           .number = number,
                           .channel = thread.channel,
                           .rounds = thread.rounds,
                           .round_stride = thread.round_stride,
                           .first_block = linked_.blocks.size()};
        number_ = number;
        step_ = 0;
        for (const Block& block : thread.blocks) {
            if (thread.rounds == 0 || block.iterations == 0 || block.body.empty()) {
                continue;
            }
            linked_.blocks.push_back({block.iterations, linked_.instructions.size(), block.body.size()});
            const double times = static_cast<double>(thread.rounds) * block.iterations;
            const std::uint64_t step_of_block = step_;
            for (const Instruction& instruction : block.body) {
                if (findings_.full()) {
                    return;
                }
                work_ += times *
                         (1 + static_cast<double>(instruction.chunks ? instruction.chunks->size() : instruction.count) *
                                  (is_in_switch(instruction.verb) && instruction.group < places_.size()
                                       ? static_cast<double>(places_[instruction.group].size())
                                       : 1));
                if (work_ > most_work) {
                    work_ = 0;
                    refuse("more instructions than can be played");
                    return;
                }
                if (instruction.chunks && times > 1) {
                    refuse("a list of chunks in a loop");
                }
                link(thread, instruction);
                ++step_;
            }
            step_ = step_of_block + std::uint64_t{block.iterations} * block.body.size();
        }
        added.block_count = linked_.blocks.size() - added.first_block;
        if (added.block_count > 0) {
            linked_.threads.push_back(added);
        }
    }

    void refuse(const std::string& what) {
        const LinkedThread here{.rank = rank_, .number = number_};
        findings_.add({.fault = Fault::malformed,
                       .rank = id_at<RankId>(rank_),
                       .step = step_,
                       .text = fmt::format("{}: {}", place_text(linked_, here, step_), what)});
    }

    void link(const Thread& thread, const Instruction& instruction) {
        LinkedInstruction linked{.instruction = instruction};
        if (is_event(instruction.verb)) {
            linked.first_lane = event_lane(instruction.event);
            if (instruction.verb == Verb::wait) {
                claim(takers_, linked.first_lane, "wait for event", instruction, thread.channel);
            }
            linked_.instructions.push_back(std::move(linked));
            return;
        }
        const bool is_drain = instruction.verb == Verb::drain;
        if (!is_drain && !has_chunks(instruction)) {
            return;
        }
        if (!is_local_copy(instruction.verb) && !meets(thread, instruction, linked)) {
            return;
        }
        linked_.instructions.push_back(std::move(linked));
    }

    /// Whether the instruction's chunks can be looked up; where they lie is checked when they are.
    bool has_chunks(const Instruction& instruction) {
        linked_.uses_received = linked_.uses_received || instruction.buffer == Buffer::received ||
                                (is_local_copy(instruction.verb) && instruction.from_buffer == Buffer::received);
        if (instruction.chunks && is_local_copy(instruction.verb)) {
            refuse("a list of chunks in a local copy");
            return false;
        }
        if (instruction.chunks ? instruction.chunks->empty() : instruction.count == 0) {
            refuse("no chunks");
            return false;
        }
        const auto is_sound = [&](const ChunkIndex& chunk) {
            if (chunk.modulus == 0) {
                refuse("chunks modulo 0");
                return false;
            }
            if (chunk.order && chunk.order->size() < chunk.modulus) {
                refuse(fmt::format("an order of {} blocks for {}", chunk.order->size(), chunk.modulus));
                return false;
            }
            return true;
        };
        return (instruction.chunks || is_sound(instruction.chunk)) &&
               (!is_local_copy(instruction.verb) || is_sound(instruction.from));
    }

    /// Looks up the lanes. Returns: whether it found no fault.
    bool meets(const Thread& thread, const Instruction& instruction, LinkedInstruction& linked) {
        const auto peer = static_cast<std::uint32_t>(instruction.peer);
        const std::uint32_t channel = thread.channel;
        if (peer >= schedule_.ranks) {
            refuse(fmt::format("peer {} of {} ranks", peer, schedule_.ranks));
            return false;
        }
        if (!is_in_switch(instruction.verb)) {
            if (peer == rank_) {
                refuse("a message to or from itself");
                return false;
            }
            const bool incoming = takes(instruction.verb);
            linked.first_lane = incoming ? lanes_for({LaneKind::message, peer, rank_, channel, 0})
                                         : lanes_for({LaneKind::message, rank_, peer, channel, 0});
            claim(incoming ? takers_ : senders_, linked.first_lane, incoming ? "receive from rank" : "send to rank",
                  instruction, channel);
            return true;
        }
        const std::uint32_t group = instruction.group;
        if (group >= places_.size()) {
            refuse(fmt::format("group {} of {}", group, places_.size()));
            return false;
        }
        for (const std::uint32_t member : {rank_, peer}) {
            if (!places_[group].contains(member)) {
                refuse(fmt::format("rank {} is not in group {}", member, group));
                return false;
            }
        }
        const bool in_own_name = instruction.verb == Verb::reduce_in_switch || instruction.verb == Verb::multicast;
        if (in_own_name && peer != rank_) {
            refuse(fmt::format("{} in the name of rank {}",
                               instruction.verb == Verb::multicast ? "a multicast" : "a reduction", peer));
            return false;
        }
        linked.place = places_[group].at(rank_);
        const LaneKind kind = instruction.verb == Verb::contribute || instruction.verb == Verb::reduce_in_switch
                                  ? LaneKind::reduction
                              : instruction.verb == Verb::multicast || instruction.verb == Verb::receive_multicast
                                  ? LaneKind::multicast
                                  : LaneKind::offer_to_all;
        linked.first_lane = lanes_for({kind, peer, peer, channel, group});
        claim_in_switch(instruction, linked, channel);
        return true;
    }

    void claim_in_switch(const Instruction& instruction, const LinkedInstruction& linked, std::uint32_t channel) {
        const std::uint32_t own = linked.first_lane + linked.place;
        const auto members = static_cast<std::uint32_t>(places_[instruction.group].size());
        switch (instruction.verb) {
            case Verb::contribute:
                claim(senders_, own, "contribute to sums of rank", instruction, channel);
                break;
            case Verb::reduce_in_switch:
                claim(takers_, linked.first_lane, "take the sums of rank", instruction, channel);
                break;
            case Verb::multicast:
                claim(senders_, linked.first_lane, "multicast for rank", instruction, channel);
                break;
            case Verb::receive_multicast:
                claim(takers_, own, "receive the multicasts of rank", instruction, channel);
                break;
            case Verb::contribute_to_all:
                claim(senders_, own, "contribute to sums for all, of rank", instruction, channel);
                break;
            default:
                claim(takers_, own + members, "receive sums for all, of rank", instruction, channel);
                break;
        }
    }

    /// Each end of a lane belongs to one thread: two would take turns by chance. Of the lanes of a meeting that one
    /// instruction serves together, the first stands for all.
    void claim(std::vector<std::optional<std::uint32_t>>& owners, std::uint32_t lane, const char* what,
               const Instruction& instruction, std::uint32_t channel) {
        if (owners.size() <= lane) {
            owners.resize(linked_.lanes.size());
        }
        const std::uint32_t owner = owners[lane].value_or(number_);
        if (owner != number_) {
            const bool is_wait = instruction.verb == Verb::wait;
            refuse(fmt::format("two threads, {} and {}, {} {}{}", owner, number_, what,
                               is_wait ? instruction.event : index(instruction.peer),
                               is_wait ? "" : fmt::format(" on channel {}", channel)));
        }
        owners[lane] = owner;
    }

    std::uint32_t event_lane(std::uint32_t event) {
        const auto [entry, fresh] = meetings_.try_emplace({LaneKind::event, rank_, event, 0, 0},
                                                          static_cast<std::uint32_t>(linked_.lanes.size()));
        if (fresh) {
            linked_.lanes.push_back({.kind = LaneKind::event, .from = rank_, .to = rank_, .event = event});
        }
        return entry->second;
    }

    /// The first lane of a meeting, made when either side first mentions it.
    std::uint32_t lanes_for(const MeetingKey& key) {
        const auto [entry, fresh] = meetings_.try_emplace(key, static_cast<std::uint32_t>(linked_.lanes.size()));
        if (!fresh) {
            return entry->second;
        }
        LaneEnds ends{.kind = key.kind, .from = key.from, .to = key.to, .channel = key.channel, .group = key.group};
        if (key.kind == LaneKind::message) {
            linked_.lanes.push_back(ends);
            return entry->second;
        }
        for (const RankId member : schedule_.groups[key.group]) {
            (key.kind == LaneKind::multicast ? ends.to : ends.from) = static_cast<std::uint32_t>(member);
            linked_.lanes.push_back(ends);
        }
        if (key.kind == LaneKind::offer_to_all) {
            for (const RankId member : schedule_.groups[key.group]) {
                linked_.lanes.push_back({.kind = LaneKind::sum,
                                         .from = key.from,
                                         .to = static_cast<std::uint32_t>(member),
                                         .channel = key.channel,
                                         .group = key.group});
            }
        }
        return entry->second;
    }

    const Schedule& schedule_;
    Findings& findings_;
    LinkedPrograms linked_;
    std::vector<std::map<std::uint32_t, std::uint32_t>> places_;              ///< by group: member -> place
    std::unordered_map<MeetingKey, std::uint32_t, MeetingKeyHash> meetings_;  ///< their first lanes; only looked up
    std::vector<std::optional<std::uint32_t>> senders_;  ///< by lane: the thread of the rank at that end
    std::vector<std::optional<std::uint32_t>> takers_;
    std::uint32_t rank_ = 0;
    std::uint32_t number_ = 0;
    std::uint64_t step_ = 0;
    double work_ = 0;
};

}  // namespace

std::string place_text(const LinkedPrograms& programs, const LinkedThread& thread, std::uint64_t step) {
    if (thread.rank < programs.threads_of.size() && programs.threads_of[thread.rank] > 1) {
        return fmt::format("rank {} in step {} of thread {}", thread.rank, step, thread.number);
    }
    return fmt::format("rank {} in step {}", thread.rank, step);
}

LinkedPrograms link_programs(const Schedule& schedule, Findings& findings) {
    if (const auto complaint = complaint_about(schedule)) {
        findings.add({.fault = Fault::malformed, .text = *complaint});
        return {};
    }
    return Linker(schedule, findings).link();
}

}  // namespace lockstep::collective
