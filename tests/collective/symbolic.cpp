#include "tests/collective/symbolic.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace lockstep::collective {

namespace {

constexpr std::size_t most_problems = 10;

/// A contribution: which rank's which chunk.
using Origin = std::pair<std::uint32_t, std::uint32_t>;
/// How often each contribution is in a chunk, in order; empty: nothing is known to be there.
using Content = std::vector<std::pair<Origin, int>>;

Content sum(const Content& a, const Content& b) {
    Content both;
    auto x = a.begin();
    auto y = b.begin();
    while (x != a.end() || y != b.end()) {
        if (y == b.end() || (x != a.end() && x->first < y->first)) {
            both.push_back(*x++);
        } else if (x == a.end() || y->first < x->first) {
            both.push_back(*y++);
        } else {
            both.emplace_back(x->first, x->second + y->second);
            ++x;
            ++y;
        }
    }
    return both;
}

std::string to_text(const Content& content) {
    std::string text = "{";
    for (const auto& [origin, times] : content) {
        text += fmt::format(" {}.{}x{}", origin.first, origin.second, times);
    }
    return text + " }";
}

struct Message {
    std::vector<Content> chunks = {};
    std::int64_t bytes = 0;
    std::uint32_t depth = 1;  ///< messages in the longest chain that ends with this one
};

enum class Lane : std::uint8_t { peer, reduction, multicast };
/// Kind, one end, other end (the member, for switches), channel, group.
using LaneKey = std::tuple<Lane, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

struct ThreadState {
    std::uint32_t rank = 0;
    Thread thread;
    std::uint32_t round = 0;
    std::size_t block = 0;
    std::uint32_t iteration = 0;
    std::size_t step = 0;
    std::uint32_t depth = 0;  ///< of the deepest message taken
};

class Interpreter {
  public:
    Interpreter(const Schedule& schedule, Bytes bytes) : schedule_(schedule), bytes_(bytes) {
        verdict_.bytes_out.assign(schedule.ranks, 0);
        verdict_.bytes_in.assign(schedule.ranks, 0);
        verdict_.steps.assign(schedule.ranks, 0);
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            data_.push_back(initial_data(rank));
            received_.push_back(initial_received(rank));
            for (Thread& thread : schedule.program(id_at<RankId>(rank))) {
                threads_.push_back({.rank = rank, .thread = std::move(thread)});
            }
        }
    }

    Verdict run(Turns turns) {
        for (bool progress = true; progress && verdict_.problems.size() < most_problems;) {
            progress = false;
            for (std::size_t i = 0; i < threads_.size(); ++i) {
                const std::size_t at = turns == Turns::forward ? i : threads_.size() - 1 - i;
                progress = advance(at) || progress;
            }
        }
        check_ended();
        check_results();
        return std::move(verdict_);
    }

  private:
    void problem(std::string text) {
        if (verdict_.problems.size() < most_problems) {
            verdict_.problems.push_back(std::move(text));
        }
    }

    std::uint32_t chunks_per_rank() const { return schedule_.chunks / schedule_.ranks; }

    std::vector<Content> initial_data(std::uint32_t rank) const {
        std::vector<Content> data(schedule_.chunks);
        for (std::uint32_t c = 0; c < schedule_.chunks; ++c) {
            const bool has = schedule_.operation == Operation::all_gather ? c / chunks_per_rank() == rank
                             : schedule_.operation == Operation::broadcast
                                 ? rank == static_cast<std::uint32_t>(schedule_.root)
                                 : true;
            if (has) {
                data[c] = {{{rank, c}, 1}};
            }
        }
        return data;
    }

    std::vector<Content> initial_received(std::uint32_t rank) const {
        std::vector<Content> received(schedule_.chunks);
        if (schedule_.operation == Operation::all_to_all) {
            for (std::uint32_t i = 0; i < chunks_per_rank(); ++i) {
                const std::uint32_t own = rank * chunks_per_rank() + i;
                received[own] = {{{rank, own}, 1}};
            }
        }
        return received;
    }

    std::optional<Content> expected(std::uint32_t rank, std::uint32_t chunk) const {
        const auto everybody = [&] {
            Content all;
            for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
                all.push_back({{r, chunk}, 1});
            }
            return all;
        };
        switch (schedule_.operation) {
            case Operation::all_reduce:
                return everybody();
            case Operation::reduce_scatter:
                return chunk / chunks_per_rank() == rank ? std::optional(everybody()) : std::nullopt;
            case Operation::all_gather:
                return Content{{{chunk / chunks_per_rank(), chunk}, 1}};
            case Operation::broadcast:
                return Content{{{static_cast<std::uint32_t>(schedule_.root), chunk}, 1}};
            case Operation::all_to_all:
                return Content{{{chunk / chunks_per_rank(), rank * chunks_per_rank() + chunk % chunks_per_rank()}, 1}};
            default:
                break;
        }
        return std::nullopt;
    }

    /// Runs a thread until it waits or ends. Returns: whether it did anything.
    bool advance(std::size_t at) {
        ThreadState& state = threads_[at];
        bool moved = false;
        while (state.round < state.thread.rounds && !state.thread.blocks.empty()) {
            const Block& block = state.thread.blocks[state.block];
            if (state.iteration >= block.iterations || block.body.empty()) {
                next_block(state);
                continue;
            }
            if (!carry_out(state, at, block.body[state.step])) {
                return moved;
            }
            moved = true;
            ++verdict_.steps[state.rank];
            if (++state.step == block.body.size()) {
                state.step = 0;
                ++state.iteration;
            }
        }
        return moved;
    }

    static void next_block(ThreadState& state) {
        state.iteration = 0;
        if (++state.block == state.thread.blocks.size()) {
            state.block = 0;
            ++state.round;
        }
    }

    bool carry_out(ThreadState& state, std::size_t at, const Instruction& instruction) {
        const std::uint32_t first = instruction.chunk.at(state.iteration) + state.round * state.thread.round_stride;
        const auto peer = static_cast<std::uint32_t>(instruction.peer);
        if (first + instruction.count > schedule_.chunks || instruction.count == 0 || peer >= schedule_.ranks) {
            problem(fmt::format("rank {}: chunks {}+{} of {}, peer {}", state.rank, first, instruction.count,
                                schedule_.chunks, peer));
            return true;
        }
        const std::uint32_t channel = state.thread.channel;
        const std::uint32_t group = instruction.group;
        switch (instruction.verb) {
            case Verb::send:
                claim(senders_, {Lane::peer, state.rank, peer, channel, 0}, at);
                ++verdict_.messages;
                put({Lane::peer, state.rank, peer, channel, 0}, message(state, first, instruction));
                return true;
            case Verb::receive:
            case Verb::receive_reduce:
                claim(takers_, {Lane::peer, peer, state.rank, channel, 0}, at);
                return take({Lane::peer, peer, state.rank, channel, 0}, state, first, instruction);
            case Verb::contribute:
                put({Lane::reduction, peer, state.rank, channel, group}, message(state, first, instruction));
                return true;
            case Verb::reduce_in_switch:
                return reduce_in_switch(state, first, instruction);
            case Verb::multicast: {
                const Message copy = message(state, first, instruction);
                ++verdict_.messages;
                for (const RankId member : schedule_.groups[group]) {
                    put({Lane::multicast, peer, static_cast<std::uint32_t>(member), channel, group}, copy);
                }
                return true;
            }
            case Verb::receive_multicast:
                return take({Lane::multicast, peer, state.rank, channel, group}, state, first, instruction);
            default:
                break;
        }
        return true;
    }

    void claim(std::map<LaneKey, std::size_t>& owners, const LaneKey& key, std::size_t thread) {
        const auto owner = owners.try_emplace(key, thread).first->second;
        if (owner != thread) {
            problem(fmt::format("two threads of one rank share the connection {} -> {} of channel {}", std::get<1>(key),
                                std::get<2>(key), std::get<3>(key)));
        }
    }

    Message message(const ThreadState& state, std::uint32_t first, const Instruction& instruction) {
        Message made{.bytes = chunk_bytes(bytes_, schedule_.chunks, first, instruction.count).value};
        made.depth = state.depth + 1;
        for (std::uint32_t c = first; c < first + instruction.count; ++c) {
            const auto& from = instruction.buffer == Buffer::data ? data_ : received_;
            if (from[state.rank][c].empty()) {
                problem(fmt::format("rank {} sends chunk {}, which it does not have", state.rank, c));
            }
            made.chunks.push_back(from[state.rank][c]);
        }
        verdict_.bytes_out[state.rank] += made.bytes;
        return made;
    }

    void put(const LaneKey& key, Message message) { lanes_[key].push_back(std::move(message)); }

    bool take(const LaneKey& key, ThreadState& state, std::uint32_t first, const Instruction& instruction) {
        auto& lane = lanes_[key];
        if (lane.empty()) {
            return false;
        }
        store(state, first, instruction, lane.front());
        lane.pop_front();
        return true;
    }

    bool reduce_in_switch(ThreadState& state, std::uint32_t first, const Instruction& instruction) {
        std::vector<std::deque<Message>*> inputs;
        for (const RankId member : schedule_.groups[instruction.group]) {
            inputs.push_back(&lanes_[{Lane::reduction, state.rank, static_cast<std::uint32_t>(member),
                                      state.thread.channel, instruction.group}]);
        }
        if (std::any_of(inputs.begin(), inputs.end(), [](const auto* lane) { return lane->empty(); })) {
            return false;
        }
        ++verdict_.messages;
        Message total = inputs.front()->front();
        inputs.front()->pop_front();
        for (std::size_t m = 1; m < inputs.size(); ++m) {
            total.depth = std::max(total.depth, inputs[m]->front().depth);
            for (std::size_t c = 0; c < total.chunks.size(); ++c) {
                total.chunks[c] = sum(total.chunks[c], inputs[m]->front().chunks[c]);
            }
            inputs[m]->pop_front();
        }
        store(state, first, instruction, total);
        return true;
    }

    void store(ThreadState& state, std::uint32_t first, const Instruction& instruction, const Message& message) {
        const std::uint32_t rank = state.rank;
        state.depth = std::max(state.depth, message.depth);
        verdict_.depth = std::max(verdict_.depth, message.depth);
        const bool same_chunks = schedule_.operation != Operation::all_to_all;
        if (message.chunks.size() != instruction.count ||
            (same_chunks && message.bytes != chunk_bytes(bytes_, schedule_.chunks, first, instruction.count).value)) {
            problem(
                fmt::format("rank {} takes {} chunks of another size as chunk {}", rank, message.chunks.size(), first));
            return;
        }
        verdict_.bytes_in[rank] += message.bytes;
        for (std::uint32_t i = 0; i < instruction.count; ++i) {
            Content& there = (instruction.buffer == Buffer::data ? data_ : received_)[rank][first + i];
            there = instruction.verb == Verb::receive_reduce ? sum(there, message.chunks[i]) : message.chunks[i];
        }
    }

    void check_ended() {
        for (const ThreadState& state : threads_) {
            if (state.round < state.thread.rounds && !state.thread.blocks.empty()) {
                const auto& block = state.thread.blocks[state.block];
                problem(fmt::format("deadlock: rank {} waits for rank {} on channel {} in step {} of block {}",
                                    state.rank, static_cast<std::uint32_t>(block.body[state.step].peer),
                                    state.thread.channel, state.iteration, state.block));
            }
        }
        for (const auto& [key, lane] : lanes_) {
            if (!lane.empty()) {
                problem(fmt::format("{} messages from {} to {} on channel {} are never taken", lane.size(),
                                    std::get<1>(key), std::get<2>(key), std::get<3>(key)));
            }
        }
    }

    void check_results() {
        const auto& results = schedule_.operation == Operation::all_to_all ? received_ : data_;
        for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
            for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
                const auto wanted = expected(rank, chunk);
                if (wanted && *wanted != results[rank][chunk]) {
                    problem(
                        fmt::format("rank {} ends with {} in chunk {}", rank, to_text(results[rank][chunk]), chunk));
                }
            }
        }
    }

    const Schedule& schedule_;
    Bytes bytes_;
    Verdict verdict_;
    std::vector<std::vector<Content>> data_;
    std::vector<std::vector<Content>> received_;
    std::vector<ThreadState> threads_;
    std::map<LaneKey, std::deque<Message>> lanes_;
    std::map<LaneKey, std::size_t> senders_;
    std::map<LaneKey, std::size_t> takers_;
};

}  // namespace

Verdict play(const Schedule& schedule, Bytes bytes, Turns turns) { return Interpreter(schedule, bytes).run(turns); }

}  // namespace lockstep::collective
