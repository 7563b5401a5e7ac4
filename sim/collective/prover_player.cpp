#include "sim/collective/prover_player.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::collective {

namespace {

constexpr std::size_t most_memory = std::size_t{4} << 30U;

/// `from rank 3`
std::string text_of(const Origin& origin) {
    switch (origin.kind) {
        case Origin::Kind::own:
            return "of its own";
        case Origin::Kind::message:
            return fmt::format("from rank {}", origin.rank);
        case Origin::Kind::switches:
            return fmt::format("from rank {} in the switches", origin.rank);
    }
    throw std::invalid_argument("text_of: no such origin");
}

/// `chunk 3 of scratch`; of data, in which results mostly are, only `chunk 3`
std::string text_of(Buffer buffer, std::uint64_t chunk) {
    const char* const where = buffer == Buffer::scratch    ? " of scratch"
                              : buffer == Buffer::received ? " of received"
                                                           : "";
    return fmt::format("chunk {}{}", chunk, where);
}

std::string counted(std::size_t chunks) { return fmt::format("{} {}", chunks, chunks == 1 ? "chunk" : "chunks"); }

}  // namespace

Message Lane::pop() {
    Message message = std::move(messages_[taken_]);
    if (++taken_ == messages_.size()) {
        messages_.clear();
        taken_ = 0;
    }
    return message;
}

SymbolicPlayer::SymbolicPlayer(const Schedule& schedule, Bytes bytes, Record record, const LinkedPrograms& programs,
                               Findings& findings)
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
      last_sent_(programs.lanes.size()) {
    proof_.bytes_out.assign(schedule.ranks, 0);
    proof_.bytes_in.assign(schedule.ranks, 0);
    proof_.steps.assign(schedule.ranks, 0);
    if (programs.threads.size() > schedule.ranks) {
        shared_.emplace(memory_.place_count());
    }
}

SymbolicPlayer::SymbolicPlayer(const Schedule& schedule, Bytes bytes, const LinkedPrograms& programs,
                               Findings& findings)
    : SymbolicPlayer(schedule, bytes, Record::nothing, programs, findings) {
    shared_.reset();
    races_.emplace(memory_.place_count(), programs);
}

bool SymbolicPlayer::play(Turns turns) {
    for (bool progress = true; progress && !stopped_ && !findings_.full();) {
        progress = false;
        for (std::size_t i = 0; i < states_.size() && !stopped_; ++i) {
            const std::size_t thread = turns == Turns::forward ? i : states_.size() - 1 - i;
            progress = advance(thread) || progress;
        }
    }
    return !stopped_ && !findings_.full();
}

Proof SymbolicPlayer::take_proof() {
    std::stable_sort(proof_.transfers.begin(), proof_.transfers.end(), [](const Transfer& a, const Transfer& b) {
        return std::pair(a.step, a.to) < std::pair(b.step, b.to);
    });
    return std::move(proof_);
}

const LinkedInstruction& SymbolicPlayer::current(std::size_t at) const {
    const LinkedBlock& block = programs_.blocks[programs_.threads[at].first_block + states_[at].block];
    return programs_.instructions[block.first_instruction + states_[at].at];
}

/// Runs a thread until it waits or ends. Returns: whether it did anything.
bool SymbolicPlayer::advance(std::size_t at) {
    ThreadState& state = states_[at];
    bool moved = false;
    while (!state.ended && !stopped_ && carry_out(at, current(at))) {
        moved = true;
        ++state.step;
        ++proof_.steps[rank_of(at)];
        if (races_) {
            races_->advance(at);
        }
        to_next(programs_, programs_.threads[at], state);
    }
    return moved;
}

void SymbolicPlayer::to_next(const LinkedPrograms& programs, const LinkedThread& thread, ThreadState& state) {
    const LinkedBlock& block = programs.blocks[thread.first_block + state.block];
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
    state.ended = ++state.round == thread.rounds;
}

/// Returns: false where the thread has to wait.
bool SymbolicPlayer::carry_out(std::size_t at, const LinkedInstruction& linked) {
    const Instruction& instruction = linked.instruction;
    const std::uint32_t lane = linked.first_lane;
    ThreadState& state = states_[at];
    switch (instruction.verb) {
        case Verb::send:
            ++proof_.messages;
            lanes_[lane].push(sent(at, instruction, last_sent_[lane]));
            return true;
        case Verb::receive:
        case Verb::receive_reduce:
            return take(at, linked, lane);
        case Verb::contribute:
            lanes_[lane + linked.place].push(sent(at, instruction, last_sent_[lane + linked.place]));
            return true;
        case Verb::reduce_in_switch:
            return reduce_in_switch(at, linked);
        case Verb::multicast:
            multicast(at, linked);
            return true;
        case Verb::receive_multicast:
            return take(at, linked, lane + linked.place);
        case Verb::contribute_to_all:
            lanes_[lane + linked.place].push(sent(at, instruction, last_sent_[lane + linked.place]));
            sum_for_all(at, linked);
            return true;
        case Verb::receive_sum:
            return take(at, linked, lane + members(instruction) + linked.place);
        case Verb::copy:
        case Verb::reduce:
            copy(at, instruction);
            return true;
        case Verb::signal:
            lanes_[lane].push({.depth = state.depth,
                               .turn = state.turn,
                               .thread = at,
                               .step = state.step,
                               .clock = races_ ? races_->leave(at) : nullptr});
            return true;
        case Verb::wait:
            return wait(at, lane);
        case Verb::drain:
            state.depth = std::max(state.depth, last_sent_[lane].depth);
            state.turn = std::max(state.turn, last_sent_[lane].turn);
            return true;
    }
    throw std::invalid_argument("prove: no such verb");
}

bool SymbolicPlayer::wait(std::size_t at, std::uint32_t lane) {
    if (lanes_[lane].empty()) {
        return false;
    }
    ThreadState& state = states_[at];
    const Message signal = lanes_[lane].pop();
    state.depth = std::max(state.depth, signal.depth);
    state.turn = std::max(state.turn, signal.turn);
    if (races_) {
        races_->join_signal(at, lane, signal.clock);
    }
    return true;
}

/// Notes who reads and writes where.
void SymbolicPlayer::touch(std::size_t at, Buffer buffer, std::uint32_t chunk, Access access) {
    if (shared_) {
        shared_->touch(memory_.place_of(rank_of(at), buffer, chunk), at, access);
    }
    if (!races_) {
        return;
    }
    const auto rival = races_->touch(memory_.place_of(rank_of(at), buffer, chunk),
                                     {.thread = at, .step = states_[at].step, .access = access});
    if (rival) {
        const auto does = [](Access what) { return what == Access::read ? "reads" : "writes"; };
        report(at, Fault::race, chunk,
               fmt::format("{} {}, which thread {} {} in step {}: nothing says which comes first", does(access),
                           text_of(buffer, chunk), programs_.threads[rival->thread].number, does(rival->access),
                           rival->step));
    }
}

Message SymbolicPlayer::sent(std::size_t at, const Instruction& instruction, LastSent& last) {
    const ThreadState& state = states_[at];
    Message message{.depth = state.depth + 1,
                    .turn = std::max(state.turn, last.turn) + 1,
                    .thread = at,
                    .step = state.step,
                    .clock = races_ ? races_->leave(at) : nullptr};
    last = {std::max(last.depth, message.depth), message.turn};
    for (const std::uint32_t chunk : chunks_of(at, instruction)) {
        touch(at, instruction.buffer, chunk, Access::read);
        const ContentId content = memory_.at(rank_of(at), instruction.buffer, chunk);
        if (content == nothing) {
            report(at, Fault::absent, chunk,
                   fmt::format("sends {}, which it does not have", text_of(instruction.buffer, chunk)));
        }
        message.contents.push_back(content);
        message.bytes += bytes_of(content, chunk);
    }
    proof_.bytes_out[rank_of(at)] += message.bytes;
    return message;
}

bool SymbolicPlayer::take(std::size_t at, const LinkedInstruction& linked, std::uint32_t lane) {
    if (lanes_[lane].empty()) {
        return false;
    }
    arrive(at, linked, lanes_[lane].pop(), programs_.lanes[lane].from);
    return true;
}

/// The sum, or what was there if it makes no sense.
ContentId SymbolicPlayer::added(std::size_t at, ContentId there, ContentId more, Origin origin) {
    if (there == nothing || more == nothing) {
        return there == nothing ? more : there;  // reported by who sends or who adds
    }
    if (contents_.chunk_of(there) != contents_.chunk_of(more)) {
        report(at, Fault::misplaced, contents_.chunk_of(there),
               fmt::format("adds data of chunk {} {} to data of chunk {}", contents_.chunk_of(more), text_of(origin),
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

void SymbolicPlayer::arrive(std::size_t at, const LinkedInstruction& linked, const Message& message,
                            std::uint32_t from) {
    const Instruction& instruction = linked.instruction;
    const std::vector<std::uint32_t> chunks = chunks_of(at, instruction);
    if (chunks.empty()) {
        return;
    }
    if (races_) {
        races_->join(at, *message.clock);
    }
    ThreadState& state = states_[at];
    state.depth = std::max(state.depth, message.depth);
    state.turn = std::max(state.turn, message.turn);
    proof_.depth = std::max(proof_.depth, message.depth);
    proof_.bytes_in[rank_of(at)] += message.bytes;
    if (chunks.size() != message.contents.size()) {
        report(
            at, Fault::misplaced, chunks.front(),
            fmt::format("takes {} of rank {} into {}", counted(message.contents.size()), from, counted(chunks.size())));
        return;
    }
    if (record_ == Record::transfers) {
        keep_transfer(at, instruction, message, from, chunks);
    }
    const Taking taking = instruction.verb == Verb::receive_reduce ? Taking::added : Taking::stored;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        put(at, instruction.buffer, chunks[i], message.contents[i], taking, {Origin::Kind::message, from});
    }
}

/// Stores or adds one chunk.
void SymbolicPlayer::put(std::size_t at, Buffer buffer, std::uint32_t chunk, ContentId content, Taking taking,
                         Origin origin) {
    const std::uint32_t rank = rank_of(at);
    touch(at, buffer, chunk, Access::write);
    if (taking == Taking::stored) {
        memory_.store(rank, buffer, chunk, content, [&] { return place(at); });
        return;
    }
    const ContentId there = memory_.at(rank, buffer, chunk);
    if (there == nothing) {
        report(at, Fault::absent, chunk, fmt::format("adds to {}, which it does not have", text_of(buffer, chunk)));
    }
    memory_.add(rank, buffer, chunk, added(at, there, content, origin));
}

void SymbolicPlayer::copy(std::size_t at, const Instruction& instruction) {
    const auto from = first_chunk(at, instruction.from, instruction.count, instruction.from_buffer);
    const auto to = from ? first_chunk(at, instruction.chunk, instruction.count, instruction.buffer) : std::nullopt;
    if (!to) {
        return;
    }
    std::vector<ContentId> contents(instruction.count);
    for (std::uint32_t i = 0; i < instruction.count; ++i) {
        touch(at, instruction.from_buffer, *from + i, Access::read);
        contents[i] = memory_.at(rank_of(at), instruction.from_buffer, *from + i);
        if (contents[i] == nothing) {
            report(at, Fault::absent, *from + i,
                   fmt::format("copies {}, which it does not have", text_of(instruction.from_buffer, *from + i)));
        }
    }
    if (record_ == Record::transfers) {
        const ThreadState& state = states_[at];
        std::vector<std::uint32_t> chunks(instruction.count);
        std::iota(chunks.begin(), chunks.end(), *to);
        keep_transfer(at, instruction, {.contents = contents, .depth = state.depth, .turn = state.turn}, rank_of(at),
                      chunks);
    }
    const Taking taking = instruction.verb == Verb::reduce ? Taking::added : Taking::stored;
    for (std::uint32_t i = 0; i < instruction.count; ++i) {
        put(at, instruction.buffer, *to + i, contents[i], taking, {Origin::Kind::own, rank_of(at)});
    }
}

void SymbolicPlayer::keep_transfer(std::size_t at, const Instruction& instruction, const Message& message,
                                   std::uint32_t from, const std::vector<std::uint32_t>& chunks) {
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

/// The chunk that an index names now. None, and the playing stops, where the buffer ends before the `count` that start
/// there.
std::optional<std::uint32_t> SymbolicPlayer::first_chunk(std::size_t at, const ChunkIndex& chunk, std::uint32_t count,
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

/// The chunks of a message. Empty, and the playing stops, where one does not exist.
std::vector<std::uint32_t> SymbolicPlayer::chunks_of(std::size_t at, const Instruction& instruction) {
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
        std::iota(chunks.begin(), chunks.end(), *first);
    }
    return chunks;
}

void SymbolicPlayer::refuse_chunk(std::size_t at, std::uint64_t chunk, Buffer buffer) {
    report(at, Fault::malformed, 0,
           fmt::format("names {}, where there are {}", text_of(buffer, chunk), memory_.size_of(buffer)));
    stopped_ = true;
}

std::int64_t SymbolicPlayer::bytes_of(ContentId content, std::uint32_t chunk) const {
    const std::uint32_t number = content == nothing ? chunk : contents_.chunk_of(content);
    if (schedule_.operation != Operation::all_to_all_v) {
        return chunk_bytes(bytes_, schedule_.chunks, number, 1).value;
    }
    return content == nothing
               ? 0
               : schedule_.sizes->at(id_at<RankId>(contents_.first_rank(content)), id_at<RankId>(number)).value;
}

std::string SymbolicPlayer::place(std::size_t at) const {
    return place_text(programs_, programs_.threads[at], states_[at].step);
}

/// text: what follows the rank and its step.
void SymbolicPlayer::report(std::size_t at, Fault fault, std::uint32_t chunk, const std::string& text) {
    findings_.add({.fault = fault,
                   .rank = id_at<RankId>(rank_of(at)),
                   .step = states_[at].step,
                   .chunk = chunk,
                   .text = fmt::format("{} {}", place(at), text)});
}

}  // namespace lockstep::collective
