#include "sim/replay/prepared_schedule.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

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
        case Verb::send:
        case Verb::receive:
        case Verb::receive_reduce:
            break;
    }
    return Carrier::message;
}

/// Of the chunk numbers that an index takes in a loop, the largest.
std::uint64_t largest_chunk(const collective::ChunkIndex& chunk) {
    return chunk.offset + static_cast<std::uint64_t>(chunk.scale) * (chunk.modulus - 1);
}

}  // namespace

struct ConnectionTable {
    std::unordered_map<ConnectionKey, std::uint32_t, ConnectionKeyHash> known;
    // The one thread that sends on each connection and the one that takes from each inbox; empty until first mentioned.
    std::vector<std::optional<std::size_t>> sender;
    std::vector<std::optional<std::size_t>> taker;
};

PreparedSchedule::PreparedSchedule(const collective::Communicator& communicator, const collective::Schedule& schedule,
                                   Bytes bytes)
    : bytes_(bytes),
      chunks_(schedule.chunks),
      gpus_(communicator.gpus().begin(), communicator.gpus().end()),
      groups_(schedule.groups) {
    if (schedule.ranks != communicator.size()) {
        throw SimulationError(fmt::format("schedule `{}` is for {} ranks, not {}", schedule.algorithm, schedule.ranks,
                                          communicator.size()));
    }
    ConnectionTable table;
    thread_begin_.push_back(0);
    for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
        add_program(id_at<RankId>(rank), schedule.program(id_at<RankId>(rank)), table);
        thread_begin_.push_back(static_cast<std::uint32_t>(threads_.size()));
    }
}

void PreparedSchedule::add_program(RankId rank, const collective::RankProgram& program, ConnectionTable& table) {
    const auto refuse = [&](const std::string& what) {
        throw SimulationError(fmt::format("schedule of rank {}: {}", index(rank), what));
    };
    const auto place_in_group = [&](RankId member, std::uint32_t group) {
        if (group >= groups_.size()) {
            refuse(fmt::format("group {} does not exist", group));
        }
        const auto& members = groups_[group];
        const auto found = std::find(members.begin(), members.end(), member);
        if (found == members.end()) {
            refuse(fmt::format("rank {} is not in group {}", index(member), group));
        }
        return static_cast<std::uint32_t>(found - members.begin());
    };
    for (const collective::Thread& thread : program) {
        StepThread flat{.rank = rank,
                        .rounds = thread.rounds,
                        .round_stride = thread.round_stride,
                        .first_loop = static_cast<std::uint32_t>(loops_.size())};
        for (const collective::Block& block : thread.blocks) {
            if (block.iterations == 0 || block.body.empty()) {
                continue;
            }
            loops_.push_back({block.iterations, static_cast<std::uint32_t>(steps_.size()),
                              static_cast<std::uint32_t>(block.body.size())});
            for (const collective::Instruction& instruction : block.body) {
                const Carrier carrier = carrier_of(instruction.verb);
                const bool receives = instruction.verb == Verb::receive || instruction.verb == Verb::receive_reduce;
                if (index(instruction.peer) >= gpus_.size()) {
                    refuse(fmt::format("peer {} does not exist", index(instruction.peer)));
                }
                if (carrier == Carrier::message && instruction.peer == rank) {
                    refuse("sends to or receives from itself");
                }
                const std::uint64_t rounds_end =
                    static_cast<std::uint64_t>(thread.round_stride) * (thread.rounds == 0 ? 0 : thread.rounds - 1);
                if (instruction.chunk.modulus == 0 ||
                    largest_chunk(instruction.chunk) + rounds_end + instruction.count > chunks_) {
                    refuse(fmt::format("chunk {} of {}",
                                       largest_chunk(instruction.chunk) + rounds_end + instruction.count - 1, chunks_));
                }
                const RankId from = receives ? instruction.peer : rank;
                const RankId to = receives ? rank : instruction.peer;
                // In-switch traffic is known by the rank that reads or multicasts.
                const bool in_switch = carrier != Carrier::message;
                const ConnectionKey key{in_switch ? index(instruction.peer) : (index(from) << 32U | index(to)),
                                        (static_cast<std::uint64_t>(thread.channel) << 34U) |
                                            (static_cast<std::uint64_t>(in_switch ? instruction.group : 0) << 2U) |
                                            static_cast<std::uint64_t>(carrier)};
                const auto [entry, fresh] =
                    table.known.try_emplace(key, static_cast<std::uint32_t>(connections_.size()));
                if (fresh) {
                    connections_.push_back({.carrier = carrier,
                                            .from = in_switch ? instruction.peer : from,
                                            .to = in_switch ? instruction.peer : to,
                                            .channel = thread.channel,
                                            .group = instruction.group,
                                            .first_inbox = static_cast<std::uint32_t>(inbox_count_)});
                    if (in_switch) {
                        place_in_group(instruction.peer, instruction.group);
                    }
                    inbox_count_ += carrier == Carrier::multicast ? groups_[instruction.group].size() : 1;
                }
                Step step{.verb = instruction.verb,
                          .connection = entry->second,
                          .slot = connections_[entry->second].first_inbox,
                          .count = instruction.count,
                          .chunk = instruction.chunk};
                if (instruction.verb == Verb::contribute) {
                    step.slot = place_in_group(rank, instruction.group);
                } else if (instruction.verb == Verb::receive_multicast) {
                    step.slot += place_in_group(rank, instruction.group);
                }
                const bool takes = receives || instruction.verb == Verb::reduce_in_switch ||
                                   instruction.verb == Verb::receive_multicast;
                if (instruction.verb != Verb::contribute) {
                    table.sender.resize(connections_.size());
                    table.taker.resize(inbox_count_);
                    auto& thread_there = takes ? table.taker[step.slot] : table.sender[step.connection];
                    if (thread_there.value_or(threads_.size()) != threads_.size()) {
                        refuse(fmt::format("two threads of channel {} {} rank {}", thread.channel,
                                           takes ? "receive from" : "send to", index(instruction.peer)));
                    }
                    thread_there = threads_.size();
                }
                steps_.push_back(step);
            }
        }
        flat.loop_count = static_cast<std::uint32_t>(loops_.size()) - flat.first_loop;
        if (flat.loop_count > 0 && flat.rounds > 0) {
            threads_.push_back(flat);
        }
    }
}

}  // namespace lockstep::replay
