#include "sim/replay/script_reader.h"

#include <algorithm>

#include "sim/replay/instruction_kinds.h"

namespace lockstep::replay {

using collective::Instruction;
using collective::Verb;

namespace {

constexpr const char* unsound = "a schedule is not sound";

}  // namespace

const char* ScriptReader::read(std::uint32_t script) {
    at_ = script;
    script_ = &input_->scripts[script];
    group_ = &input_->groups[script_->group];
    const collective::Schedule& schedule = *script_->schedule;
    if (schedule.sizes || (schedule.permutation && schedule.permutation->traffic().messages > 1)) {
        return "pairs of ranks have sizes of their own";
    }
    if (schedule.channels > ConnectionTable::most_channels || units_->rank_count() > ConnectionTable::most_ranks) {
        return "there are too many ranks or channels";
    }
    kind_ = mix(mix(Digest{}, script_->number), static_cast<std::uint64_t>(script_->bytes.value));
    kind_ = mix(mix(kind_, schedule.chunks), group_->members.size());
    number_groups();
    for (std::size_t place = 0; place < group_->members.size(); ++place) {
        if (const char* const problem = read_program(id_at<RankId>(place))) {
            return problem;
        }
    }
    table_->settle();
    return nullptr;
}

/// Groups of the same members count as different: which of them an instruction names matters.
void ScriptReader::number_groups() {
    const auto& groups = script_->schedule->groups;
    group_numbers_.assign(groups.size(), 0);
    std::map<std::vector<RankId>, std::uint32_t> seen;
    for (std::size_t at = 0; at < groups.size(); ++at) {
        group_numbers_[at] = seen[groups[at]]++;
    }
}

const char* ScriptReader::read_program(RankId place) {
    const RankId rank = rank_at(place);
    Digest base = mix(kind_, units_->place(rank));
    if (!group_->uses.empty()) {
        base = mix(base, group_->uses[index(place)]);
    }
    const collective::RankProgram program = script_->schedule->program(place);
    Digest& colour = (*colours_)[units_->of(rank)];
    for (std::size_t t = 0; t < program.size(); ++t) {
        const collective::Thread& thread = program[t];
        const Digest in_thread = mix(mix(mix(base, t), thread.channel), thread.rounds);
        for (std::size_t b = 0; b < thread.blocks.size(); ++b) {
            const collective::Block& block = thread.blocks[b];
            const Digest in_block = mix(mix(in_thread, b), block.iterations);
            InstructionRun run = InstructionRun::alone;
            std::uint64_t runs = 0;
            for (const Instruction& instruction : block.body) {
                if (instruction.verb == Verb::copy || instruction.verb == Verb::reduce) {
                    continue;  // take no time
                }
                if (run_of(instruction.verb) != run || run == InstructionRun::alone) {
                    run = run_of(instruction.verb);
                    ++runs;
                }
                if (const char* const problem =
                        read_instruction(place, thread.channel, mix(in_block, runs), instruction)) {
                    return problem;
                }
            }
        }
        colour += in_thread;
    }
    return nullptr;
}

/// Adds it to the unit's colour, and to the connections to other units.
const char* ScriptReader::read_instruction(RankId place, std::uint32_t channel, const Digest& where,
                                           const Instruction& instruction) {
    const RankId rank = rank_at(place);
    const std::uint32_t unit = units_->of(rank);
    const std::uint64_t count = instruction.chunks ? instruction.chunks->size() : instruction.count;
    Digest what = mix(mix(where, static_cast<std::uint64_t>(instruction.verb)), count);
    if (uses_group(instruction.verb)) {
        if (const char* const problem = read_group(instruction, unit, what)) {
            return problem;
        }
    } else if (is_message(instruction.verb)) {
        if (index(instruction.peer) >= group_->members.size() || channel >= ConnectionTable::most_channels) {
            return unsound;
        }
        const RankId peer = rank_at(instruction.peer);
        const Digest at_peer = group_->uses.empty() ? what : mix(what, group_->uses[index(instruction.peer)]);
        if (units_->of(peer) == unit) {
            what = mix(at_peer, units_->place(peer));
        } else {
            const bool outgoing = is_outgoing(instruction.verb);
            table_->note_use(outgoing ? rank : peer, outgoing ? peer : rank, channel,
                             outgoing ? ConnectionEnd::sender : ConnectionEnd::receiver, at_, at_peer);
            what = mix(what, UINT64_MAX);
        }
    } else {
        what = mix(what, instruction.event);
    }
    (*colours_)[unit] += what;
    return nullptr;
}

const char* ScriptReader::read_group(const Instruction& instruction, std::uint32_t unit, Digest& what) const {
    const auto& groups = script_->schedule->groups;
    if (instruction.group >= groups.size() || index(instruction.peer) >= group_->members.size()) {
        return unsound;
    }
    what = mix(what, group_numbers_[instruction.group]);
    for (const RankId member : groups[instruction.group]) {
        if (index(member) >= group_->members.size()) {
            return unsound;
        }
        if (units_->of(rank_at(member)) != unit) {
            return "switches add up or copy across nodes";
        }
        what = mix(what, units_->place(rank_at(member)));
        if (!group_->uses.empty()) {
            what = mix(what, group_->uses[index(member)]);
        }
    }
    what = mix(what, units_->place(rank_at(instruction.peer)));
    return nullptr;
}

}  // namespace lockstep::replay
