#include "sim/collective/prover.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/prover_contents.h"
#include "sim/collective/prover_memory.h"
#include "sim/collective/prover_program.h"

// Plays schedules on symbolic data: threads take turns, each running until it has to wait.

namespace lockstep::collective {

namespace {

constexpr std::size_t most_memory = std::size_t{4} << 30U;

struct Message {
    std::vector<ContentId> contents = {};
    std::int64_t bytes = 0;
    std::uint32_t depth = 0;  ///< messages in the longest chain that ends with this one
    std::uint32_t turn = 0;   ///< the same, where messages of a connection follow each other
    std::uint64_t step = 0;   ///< of the sender
};

/// Messages on their way, in order.
class Lane {
  public:
    bool empty() const { return taken_ == messages_.size(); }
    std::size_t size() const { return messages_.size() - taken_; }
    const Message& front() const { return messages_[taken_]; }
    void push(Message message) { messages_.push_back(std::move(message)); }
    Message pop() {
        Message message = std::move(messages_[taken_]);
        if (++taken_ == messages_.size()) {
            messages_.clear();
            taken_ = 0;
        }
        return message;
    }

  private:
    std::vector<Message> messages_;
    std::size_t taken_ = 0;
};

/// When the last message was sent on a lane.
struct LaneClock {
    std::uint32_t depth = 0;
    std::uint32_t turn = 0;
};

struct ThreadState {
    std::uint32_t round = 0;
    std::size_t block = 0;
    std::uint32_t iteration = 0;
    std::size_t at = 0;      ///< in the body
    std::uint64_t step = 0;  ///< instructions carried out
    std::uint32_t depth = 0;
    std::uint32_t turn = 0;
    bool ended = false;
};

class Player {
  public:
    Player(const Schedule& schedule, Bytes bytes, Record record, const LinkedPrograms& programs, Findings& findings)
        : schedule_(schedule),
          bytes_(bytes),
          record_(record),
          programs_(programs),
          findings_(findings),
          contents_(schedule.ranks,
                    schedule.operation == Operation::barrier ? Multiplicity::ignored : Multiplicity::counted),
          memory_(schedule, programs.uses_received, contents_),
          states_(programs.threads.size()),
          lanes_(programs.lanes.size()),
          clocks_(programs.lanes.size()),
          unfinished_(schedule.ranks, 0) {
        proof_.bytes_out.assign(schedule.ranks, 0);
        proof_.bytes_in.assign(schedule.ranks, 0);
        proof_.steps.assign(schedule.ranks, 0);
        for (const LinkedThread& thread : programs.threads) {
            ++unfinished_[thread.rank];
        }
    }

    Proof play(Turns turns) {
        bool progress = true;
        while (progress && !stopped_ && !findings_.full()) {
            progress = false;
            for (std::size_t i = 0; i < states_.size() && !stopped_; ++i) {
                const std::size_t thread = turns == Turns::forward ? i : states_.size() - 1 - i;
                progress = advance(thread) || progress;
            }
        }
        if (!stopped_) {
            report_waiting();
            report_untaken();
            memory_.check_results(findings_);
        }
        std::stable_sort(proof_.transfers.begin(), proof_.transfers.end(), [](const Transfer& a, const Transfer& b) {
            return std::pair(a.step, a.to) < std::pair(b.step, b.to);
        });
        return std::move(proof_);
    }

  private:
    const LinkedInstruction& current(std::size_t at) const {
        const LinkedBlock& block = programs_.blocks[programs_.threads[at].first_block + states_[at].block];
        return programs_.instructions[block.first_instruction + states_[at].at];
    }

    /// Runs a thread until it waits or ends. Returns: whether it did anything.
    bool advance(std::size_t at) {
        ThreadState& state = states_[at];
        bool moved = false;
        while (!state.ended && !stopped_ && carry_out(at, current(at))) {
            moved = true;
            ++state.step;
            ++proof_.steps[programs_.threads[at].rank];
            to_next(programs_.threads[at], state);
        }
        return moved;
    }

    void to_next(const LinkedThread& thread, ThreadState& state) {
        const LinkedBlock& block = programs_.blocks[thread.first_block + state.block];
        if (++state.at < block.instruction_count) {
            return;
        }
        state.at = 0;
        if (++state.iteration < block.iterations) {
            return;
        }
        state.iteration = 0;
        if (++state.block < thread.block_count) {
            return;
        }
        state.block = 0;
        if (++state.round == thread.rounds) {
            state.ended = true;
            --unfinished_[thread.rank];
        }
    }

    std::uint32_t rank_of(std::size_t at) const { return programs_.threads[at].rank; }

    std::string place(std::size_t at) const { return place_text(programs_, programs_.threads[at], states_[at].step); }

    /// text: what follows the rank and its step.
    void report(std::size_t at, Fault fault, std::uint32_t chunk, const std::string& text) {
        findings_.add({.fault = fault,
                       .rank = id_at<RankId>(rank_of(at)),
                       .step = states_[at].step,
                       .chunk = chunk,
                       .text = fmt::format("{} {}", place(at), text)});
    }

    /// The chunk that an index names now. None, and the playing stops, where the buffer ends before it and the `count`
    /// that start there.
    std::optional<std::uint32_t> first_chunk(std::size_t at, const ChunkIndex& chunk, std::uint32_t count,
                                             Buffer buffer) {
        const ThreadState& state = states_[at];
        const std::int64_t moved = chunk.first + std::int64_t{chunk.stride} * state.iteration;
        const std::int64_t remainder = moved % std::int64_t{chunk.modulus};
        const auto spot = static_cast<std::size_t>(remainder < 0 ? remainder + chunk.modulus : remainder);
        const std::uint64_t in_order = chunk.order ? (*chunk.order)[spot] : spot;
        const std::uint64_t first =
            chunk.offset + chunk.scale * in_order + std::uint64_t{state.round} * programs_.threads[at].round_stride;
        if (first + count > memory_.size_of(buffer)) {
            refuse_chunk(at, first + count - 1, buffer);
            return std::nullopt;
        }
        return static_cast<std::uint32_t>(first);
    }

    void refuse_chunk(std::size_t at, std::uint64_t chunk, Buffer buffer) {
        report(at, Fault::malformed, 0, fmt::format("names chunk {} of {}", chunk, memory_.size_of(buffer)));
        stopped_ = true;
    }

    /// The chunks of a message. Empty where one does not exist.
    std::vector<std::uint32_t> chunks_of(std::size_t at, const Instruction& instruction) {
        if (instruction.chunks) {
            for (const std::uint32_t chunk : *instruction.chunks) {
                if (chunk >= memory_.size_of(instruction.buffer)) {
                    refuse_chunk(at, chunk, instruction.buffer);
                    return {};
                }
            }
            return *instruction.chunks;
        }
        std::vector<std::uint32_t> chunks;
        if (const auto first = first_chunk(at, instruction.chunk, instruction.count, instruction.buffer)) {
            chunks.resize(instruction.count);
            for (std::uint32_t i = 0; i < instruction.count; ++i) {
                chunks[i] = *first + i;
            }
        }
        return chunks;
    }

    std::int64_t bytes_of(ContentId content, std::uint32_t chunk) const {
        if (schedule_.sizes) {
            return content == nothing ? 0
                                      : schedule_.sizes
                                            ->at(id_at<RankId>(contents_.first_rank(content)),
                                                 id_at<RankId>(contents_.chunk_of(content)))
                                            .value;
        }
        return chunk_bytes(bytes_, schedule_.chunks, content == nothing ? chunk : contents_.chunk_of(content), 1).value;
    }

    /// Returns: false where the thread has to wait.
    bool carry_out(std::size_t at, const LinkedInstruction& linked) {
        const Instruction& instruction = linked.instruction;
        const std::uint32_t lane = linked.first_lane;
        ThreadState& state = states_[at];
        switch (instruction.verb) {
            case Verb::send:
                ++proof_.messages;
                lanes_[lane].push(sent(at, instruction, clocks_[lane]));
                return true;
            case Verb::receive:
            case Verb::receive_reduce:
                return take(at, linked, lane);
            case Verb::contribute:
                lanes_[lane + linked.place].push(sent(at, instruction, clocks_[lane + linked.place]));
                return true;
            case Verb::reduce_in_switch:
                return reduce_in_switch(at, linked);
            case Verb::multicast: {
                ++proof_.messages;
                const Message message = sent(at, instruction, clocks_[lane]);
                for (std::uint32_t m = 0; m < members(instruction); ++m) {
                    lanes_[lane + m].push(message);
                }
                return true;
            }
            case Verb::receive_multicast:
                return take(at, linked, lane + linked.place);
            case Verb::contribute_to_all:
                lanes_[lane + linked.place].push(sent(at, instruction, clocks_[lane + linked.place]));
                sum_for_all(at, linked);
                return true;
            case Verb::receive_sum:
                return take(at, linked, lane + members(instruction) + linked.place);
            case Verb::copy:
            case Verb::reduce:
                copy(at, instruction);
                return true;
            case Verb::signal:
                lanes_[lane].push({.depth = state.depth, .turn = state.turn, .step = state.step});
                return true;
            case Verb::wait: {
                if (lanes_[lane].empty()) {
                    return false;
                }
                const Message signal = lanes_[lane].pop();
                state.depth = std::max(state.depth, signal.depth);
                state.turn = std::max(state.turn, signal.turn);
                return true;
            }
            case Verb::drain:
                state.depth = std::max(state.depth, clocks_[lane].depth);
                state.turn = std::max(state.turn, clocks_[lane].turn);
                return true;
        }
        throw std::invalid_argument("prove: no such verb");
    }

    std::uint32_t members(const Instruction& instruction) const {
        return static_cast<std::uint32_t>(schedule_.groups[instruction.group].size());
    }

    Message sent(std::size_t at, const Instruction& instruction, LaneClock& clock) {
        const ThreadState& state = states_[at];
        Message message{.depth = state.depth + 1, .turn = std::max(state.turn, clock.turn) + 1, .step = state.step};
        clock = {std::max(clock.depth, message.depth), message.turn};
        for (const std::uint32_t chunk : chunks_of(at, instruction)) {
            const ContentId content = memory_.at(rank_of(at), instruction.buffer, chunk);
            if (content == nothing) {
                report(at, Fault::absent, chunk, fmt::format("sends chunk {}, which it does not have", chunk));
            }
            message.contents.push_back(content);
            message.bytes += bytes_of(content, chunk);
        }
        proof_.bytes_out[rank_of(at)] += message.bytes;
        return message;
    }

    bool take(std::size_t at, const LinkedInstruction& linked, std::uint32_t lane) {
        if (lanes_[lane].empty()) {
            return false;
        }
        arrive(at, linked, lanes_[lane].pop(), programs_.lanes[lane].from);
        return true;
    }

    /// The sum of what each member offered first, once all have. lane: of the first member.
    std::optional<Message> summed(std::size_t at, const Instruction& instruction, std::uint32_t lane) {
        for (std::uint32_t m = 0; m < members(instruction); ++m) {
            if (lanes_[lane + m].empty()) {
                return std::nullopt;
            }
        }
        ++proof_.messages;
        Message total = lanes_[lane].pop();
        for (std::uint32_t m = 1; m < members(instruction); ++m) {
            const Message message = lanes_[lane + m].pop();
            total.depth = std::max(total.depth, message.depth);
            total.turn = std::max(total.turn, message.turn);
            if (message.contents.size() != total.contents.size()) {
                report(at, Fault::misplaced, 0,
                       fmt::format("has the switch add {} chunks of rank {} to {} of rank {}", message.contents.size(),
                                   programs_.lanes[lane + m].from, total.contents.size(), programs_.lanes[lane].from));
                continue;
            }
            for (std::size_t c = 0; c < total.contents.size(); ++c) {
                total.contents[c] = added(at, total.contents[c], message.contents[c],
                                          fmt::format("from rank {} in the switch", programs_.lanes[lane + m].from));
            }
        }
        return total;
    }

    bool reduce_in_switch(std::size_t at, const LinkedInstruction& linked) {
        const auto total = summed(at, linked.instruction, linked.first_lane);
        if (!total) {
            return false;
        }
        arrive(at, linked, *total, programs_.lanes[linked.first_lane].from);
        return true;
    }

    void sum_for_all(std::size_t at, const LinkedInstruction& linked) {
        const std::uint32_t size = members(linked.instruction);
        if (const auto total = summed(at, linked.instruction, linked.first_lane)) {
            for (std::uint32_t m = 0; m < size; ++m) {
                lanes_[linked.first_lane + size + m].push(*total);
            }
        }
    }

    /// The sum, or what was there if it makes no sense.
    ContentId added(std::size_t at, ContentId there, ContentId more, const std::string& whence) {
        if (there == nothing || more == nothing) {
            return there == nothing ? more : there;  // told when it was sent, or by who adds
        }
        if (contents_.chunk_of(there) != contents_.chunk_of(more)) {
            report(at, Fault::misplaced, contents_.chunk_of(there),
                   fmt::format("adds data of chunk {} {} to data of chunk {}", contents_.chunk_of(more), whence,
                               contents_.chunk_of(there)));
            return there;
        }
        if (contents_.bytes() > most_memory) {
            report(at, Fault::malformed, 0, "is beyond what can be played in 4 GiB");
            stopped_ = true;
            return there;
        }
        return contents_.sum(there, more);
    }

    void arrive(std::size_t at, const LinkedInstruction& linked, const Message& message, std::uint32_t from) {
        const Instruction& instruction = linked.instruction;
        const std::vector<std::uint32_t> chunks = chunks_of(at, instruction);
        if (chunks.empty()) {
            return;
        }
        ThreadState& state = states_[at];
        state.depth = std::max(state.depth, message.depth);
        state.turn = std::max(state.turn, message.turn);
        proof_.depth = std::max(proof_.depth, message.depth);
        proof_.bytes_in[rank_of(at)] += message.bytes;
        if (chunks.size() != message.contents.size()) {
            report(at, Fault::misplaced, chunks.front(),
                   fmt::format("takes {} chunks from rank {}, which sent {} in step {}", chunks.size(), from,
                               message.contents.size(), message.step));
            return;
        }
        if (record_ == Record::transfers) {
            keep_transfer(at, instruction, message, from, chunks);
        }
        const bool adds = instruction.verb == Verb::receive_reduce;
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            put(at, instruction.buffer, chunks[i], message.contents[i], adds,
                [&] { return fmt::format("from rank {}", from); });
        }
    }

    /// Stores or adds one chunk. whence: the origin, as text.
    template <class Whence>
    void put(std::size_t at, Buffer buffer, std::uint32_t chunk, ContentId content, bool adds, Whence whence) {
        const std::uint32_t rank = rank_of(at);
        if (!adds) {
            memory_.store(rank, buffer, chunk, content, [&] { return place(at); });
            return;
        }
        const ContentId there = memory_.at(rank, buffer, chunk);
        if (there == nothing) {
            report(at, Fault::absent, chunk, fmt::format("adds to chunk {}, which it does not have", chunk));
        }
        memory_.add(rank, buffer, chunk, added(at, there, content, whence()));
    }

    void copy(std::size_t at, const Instruction& instruction) {
        const auto from = first_chunk(at, instruction.from, instruction.count, instruction.from_buffer);
        const auto to = from ? first_chunk(at, instruction.chunk, instruction.count, instruction.buffer) : std::nullopt;
        if (!to) {
            return;
        }
        std::vector<ContentId> contents(instruction.count);
        for (std::uint32_t i = 0; i < instruction.count; ++i) {
            contents[i] = memory_.at(rank_of(at), instruction.from_buffer, *from + i);
            if (contents[i] == nothing) {
                report(at, Fault::absent, *from + i, fmt::format("copies chunk {}, which it does not have", *from + i));
            }
        }
        if (record_ == Record::transfers) {
            const ThreadState& state = states_[at];
            std::vector<std::uint32_t> chunks(instruction.count);
            std::iota(chunks.begin(), chunks.end(), *to);
            keep_transfer(at, instruction, {.contents = contents, .depth = state.depth, .turn = state.turn},
                          rank_of(at), chunks);
        }
        for (std::uint32_t i = 0; i < instruction.count; ++i) {
            put(at, instruction.buffer, *to + i, contents[i], instruction.verb == Verb::reduce,
                [] { return std::string("of its own"); });
        }
    }

    void keep_transfer(std::size_t at, const Instruction& instruction, const Message& message, std::uint32_t from,
                       const std::vector<std::uint32_t>& chunks) {
        Transfer transfer{.step = message.depth,
                          .turn = message.turn,
                          .verb = instruction.verb,
                          .from = id_at<RankId>(from),
                          .to = id_at<RankId>(rank_of(at)),
                          .channel = programs_.threads[at].channel,
                          .group = instruction.group,
                          .buffer = instruction.buffer,
                          .chunks = chunks,
                          .bytes = {message.bytes}};
        if (instruction.verb == Verb::receive_sum) {
            transfer.from = schedule_.groups[instruction.group].front();
        }
        for (const ContentId content : message.contents) {
            transfer.contents.push_back(contents_.content(content));
        }
        proof_.transfers.push_back(std::move(transfer));
    }

    void report_waiting() {
        // Those that wait for a rank that has ended first: the others often wait only for them.
        for (const bool for_ended : {true, false}) {
            for (std::size_t at = 0; at < states_.size(); ++at) {
                if (!states_[at].ended) {
                    const auto [text, awaited] = wait_text(at);
                    const bool has_ended = awaited && unfinished_[*awaited] == 0;
                    if (has_ended == for_ended) {
                        report(at, Fault::deadlock, 0,
                               fmt::format("waits for ever {}{}", text, has_ended ? ", which has ended" : ""));
                    }
                }
            }
        }
    }

    /// What a thread waits for, and for which rank.
    std::pair<std::string, std::optional<std::uint32_t>> wait_text(std::size_t at) const {
        const LinkedInstruction& linked = current(at);
        const Instruction& instruction = linked.instruction;
        const auto peer = static_cast<std::uint32_t>(instruction.peer);
        const std::uint32_t channel = programs_.threads[at].channel;
        if (instruction.verb == Verb::wait) {
            return {fmt::format("for a signal of event {}", instruction.event), std::nullopt};
        }
        if (instruction.verb == Verb::receive_multicast) {
            return {fmt::format("on channel {} for a multicast of rank {}", channel, peer), peer};
        }
        if (instruction.verb == Verb::reduce_in_switch || instruction.verb == Verb::receive_sum) {
            for (std::uint32_t m = 0; m < members(instruction); ++m) {
                if (lanes_[linked.first_lane + m].empty()) {
                    const std::uint32_t member = programs_.lanes[linked.first_lane + m].from;
                    return {fmt::format("on channel {} for a contribution to a sum in the switches from rank {}",
                                        channel, member),
                            member};
                }
            }
        }
        return {fmt::format("on channel {} for a message from rank {}", channel, peer), peer};
    }

    void report_untaken() {
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            if (lanes_[l].empty()) {
                continue;
            }
            const LaneEnds& ends = programs_.lanes[l];
            const Message& first = lanes_[l].front();
            const std::uint32_t chunk = first.contents.empty() || first.contents.front() == nothing
                                            ? 0
                                            : contents_.chunk_of(first.contents.front());
            findings_.add({.fault = Fault::untaken,
                           .rank = id_at<RankId>(ends.from),
                           .step = first.step,
                           .chunk = chunk,
                           .text = untaken_text(ends, lanes_[l].size(), first.step, chunk)});
        }
    }

    static std::string untaken_text(const LaneEnds& ends, std::size_t count, std::uint64_t step, std::uint32_t chunk) {
        const auto counted = [&](const char* one, const char* many) {
            return count == 1 ? fmt::format("{} is never taken", one)
                              : fmt::format("{} {} are never taken", count, many);
        };
        const std::string what = fmt::format("of chunk {} that rank {} sent in step {}", chunk, ends.from, step);
        switch (ends.kind) {
            case LaneKind::message:
                return fmt::format("a message {} to rank {} on channel {} is never taken{}", what, ends.to,
                                   ends.channel, count == 1 ? "" : fmt::format(", and {} more after it", count - 1));
            case LaneKind::reduction:
            case LaneKind::offer_to_all:
                return fmt::format("a contribution {} to a sum in the switches on channel {} is never taken{}", what,
                                   ends.channel, count == 1 ? "" : fmt::format(", and {} more after it", count - 1));
            case LaneKind::multicast:
                return fmt::format("a multicast {} on channel {} is never taken by rank {}", what, ends.channel,
                                   ends.to);
            case LaneKind::sum:
                return fmt::format("a sum of chunk {} in the switches on channel {} is never taken by rank {}", chunk,
                                   ends.channel, ends.to);
            case LaneKind::event:
                break;
        }
        return fmt::format("rank {}: {} of event {}", ends.from, counted("a signal", "signals"), ends.event);
    }

    const Schedule& schedule_;
    Bytes bytes_;
    Record record_;
    const LinkedPrograms& programs_;
    Findings& findings_;
    Proof proof_;
    ContentStore contents_;
    RankMemory memory_;
    std::vector<ThreadState> states_;
    std::vector<Lane> lanes_;
    std::vector<LaneClock> clocks_;
    std::vector<std::size_t> unfinished_;  ///< by rank: threads
    bool stopped_ = false;                 ///< by what is not a program
};

}  // namespace

std::string_view name_of(Fault fault) {
    switch (fault) {
        case Fault::missing:
            return "missing";
        case Fault::doubled:
            return "doubled";
        case Fault::misplaced:
            return "misplaced";
        case Fault::absent:
            return "absent";
        case Fault::untaken:
            return "untaken";
        case Fault::deadlock:
            return "deadlock";
        case Fault::malformed:
            return "malformed";
    }
    throw std::invalid_argument("name_of: no such fault");
}

Proof prove(const Schedule& schedule, Bytes bytes, Turns turns, Record record) {
    Findings findings;
    const LinkedPrograms programs = link_programs(schedule, findings);
    Proof proof;
    if (findings.empty()) {
        proof = Player(schedule, bytes, record, programs, findings).play(turns);
    }
    proof.findings = findings.take();
    return proof;
}

}  // namespace lockstep::collective
