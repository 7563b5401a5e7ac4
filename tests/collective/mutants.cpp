#include "tests/collective/mutants.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace lockstep::collective {

namespace {

bool gives(Verb verb) {
    return verb == Verb::send || verb == Verb::contribute || verb == Verb::multicast ||
           verb == Verb::contribute_to_all || verb == Verb::signal;
}

bool takes(Verb verb) {
    return verb == Verb::receive || verb == Verb::receive_reduce || verb == Verb::reduce_in_switch ||
           verb == Verb::receive_multicast || verb == Verb::receive_sum || verb == Verb::wait;
}

bool is_local(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }
bool is_event(Verb verb) { return verb == Verb::signal || verb == Verb::wait; }
bool has_chunks(Verb verb) { return !is_event(verb) && verb != Verb::drain; }

std::vector<std::uint32_t> numbers_of(const Instruction& instruction) {
    if (instruction.chunks) {
        return *instruction.chunks;
    }
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < instruction.count; ++i) {
        numbers.push_back(instruction.chunk.at(0) + i);
    }
    return numbers;
}

bool same_places(const Instruction& a, const Instruction& b) {
    return a.buffer == b.buffer && numbers_of(a) == numbers_of(b);
}

std::vector<Instruction>& body_at(std::vector<RankProgram>& programs, const Site& site) {
    return programs[site.rank][site.thread].blocks.front().body;
}

/// Swaps places with the next instruction of the same direction that has others. Returns: whether there is one.
bool swap_chunks(std::vector<Instruction>& body, std::size_t at) {
    Instruction& here = body[at];
    const auto other =
        std::find_if(body.begin() + static_cast<std::ptrdiff_t>(at) + 1, body.end(), [&](const auto& there) {
            return has_chunks(there.verb) && gives(there.verb) == gives(here.verb) &&
                   takes(there.verb) == takes(here.verb) && !same_places(there, here) &&
                   numbers_of(there).size() == numbers_of(here).size();
        });
    if (other == body.end() || !has_chunks(here.verb)) {
        return false;
    }
    std::swap(here.chunk, other->chunk);
    std::swap(here.chunks, other->chunks);
    std::swap(here.buffer, other->buffer);
    return true;
}

/// The first of its chunks becomes the next one. Returns: whether there is another.
bool change_chunk(const Schedule& schedule, Instruction& instruction) {
    const std::uint32_t size = instruction.buffer == Buffer::scratch ? schedule.scratch_chunks : schedule.chunks;
    if (!has_chunks(instruction.verb) || size < 2) {
        return false;
    }
    if (instruction.chunks) {
        auto numbers = *instruction.chunks;
        numbers.front() = (numbers.front() + 1) % size;
        instruction.chunks = std::make_shared<const std::vector<std::uint32_t>>(std::move(numbers));
        return true;
    }
    const std::uint32_t first = instruction.chunk.at(0);
    if (first + instruction.count < size) {
        instruction.chunk = {.offset = first + 1};
        return true;
    }
    instruction.chunk = {.offset = first - 1};
    return first > 0;
}

bool change_verb(Instruction& instruction, Verb from, Verb to) {
    const bool applies = instruction.verb == from;
    instruction.verb = applies ? to : instruction.verb;
    return applies;
}

bool wrong_peer(const Schedule& schedule, std::size_t rank, Instruction& instruction) {
    if (is_local(instruction.verb) || is_event(instruction.verb) || instruction.verb == Verb::drain) {
        return false;
    }
    do {
        instruction.peer = id_at<RankId>((index(instruction.peer) + 1) % schedule.ranks);
    } while (index(instruction.peer) == rank && schedule.ranks > 1);
    return schedule.ranks > 2;
}

/// Returns: whether every thread waits for something and not first.
bool wait_first(std::vector<RankProgram>& programs) {
    bool changed = false;
    for (RankProgram& program : programs) {
        for (Thread& thread : program) {
            auto& body = thread.blocks.front().body;
            const auto first = std::find_if(body.begin(), body.end(), [](const auto& i) { return takes(i.verb); });
            if (first == body.end()) {
                return false;
            }
            changed = changed || first != body.begin();
            std::rotate(body.begin(), first, first + 1);
        }
    }
    return changed;
}

}  // namespace

std::string_view name_of(Mutation mutation) {
    switch (mutation) {
        case Mutation::drop_take:
            return "drop_take";
        case Mutation::drop_give:
            return "drop_give";
        case Mutation::drop_local:
            return "drop_local";
        case Mutation::duplicate_give:
            return "duplicate_give";
        case Mutation::swap_chunks:
            return "swap_chunks";
        case Mutation::change_chunk:
            return "change_chunk";
        case Mutation::store_for_add:
            return "store_for_add";
        case Mutation::add_for_store:
            return "add_for_store";
        case Mutation::wrong_peer:
            return "wrong_peer";
        case Mutation::wait_first:
            return "wait_first";
    }
    throw std::invalid_argument("name_of: no such mutation");
}

std::vector<RankProgram> unrolled(const Schedule& schedule) {
    std::vector<RankProgram> programs;
    for (std::size_t rank = 0; rank < schedule.ranks; ++rank) {
        RankProgram program;
        for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
            Block straight;
            for (std::uint32_t round = 0; round < thread.rounds; ++round) {
                for (const Block& block : thread.blocks) {
                    for (std::uint32_t i = 0; i < block.iterations; ++i) {
                        for (Instruction instruction : block.body) {
                            const std::uint32_t moved = round * thread.round_stride;
                            instruction.chunk = {.offset = instruction.chunk.at(i) + moved};
                            instruction.from = {.offset = instruction.from.at(i) + moved};
                            straight.body.push_back(std::move(instruction));
                        }
                    }
                }
            }
            program.push_back({.channel = thread.channel, .blocks = {std::move(straight)}});
        }
        programs.push_back(std::move(program));
    }
    return programs;
}

Schedule with_programs(const Schedule& schedule, std::vector<RankProgram> programs) {
    Schedule made = schedule;
    made.program = [all = std::make_shared<const std::vector<RankProgram>>(std::move(programs))](RankId rank) {
        return (*all)[index(rank)];
    };
    return made;
}

std::vector<Site> sites_of(const std::vector<RankProgram>& programs) {
    std::vector<Site> sites;
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        for (std::size_t thread = 0; thread < programs[rank].size(); ++thread) {
            for (std::size_t at = 0; at < programs[rank][thread].blocks.front().body.size(); ++at) {
                sites.push_back({rank, thread, at});
            }
        }
    }
    return sites;
}

std::optional<std::vector<RankProgram>> mutated(const Schedule& schedule, const std::vector<RankProgram>& programs,
                                                Mutation mutation, const Site& site) {
    std::vector<RankProgram> spoilt = programs;
    auto& body = body_at(spoilt, site);
    Instruction& instruction = body[site.at];
    const auto here = body.begin() + static_cast<std::ptrdiff_t>(site.at);
    const auto drop = [&](bool applies) {
        if (applies) {
            body.erase(here);
        }
        return applies;
    };
    const auto apply = [&] {
        switch (mutation) {
            case Mutation::drop_take:
                return drop(takes(instruction.verb));
            case Mutation::drop_give:
                return drop(gives(instruction.verb));
            case Mutation::drop_local:
                return drop(is_local(instruction.verb));
            case Mutation::duplicate_give: {
                const bool applies = gives(instruction.verb);
                if (applies) {
                    const Instruction again = instruction;
                    body.insert(here, again);
                }
                return applies;
            }
            case Mutation::swap_chunks:
                return swap_chunks(body, site.at);
            case Mutation::change_chunk:
                return change_chunk(schedule, instruction);
            case Mutation::store_for_add:
                return change_verb(instruction, Verb::receive_reduce, Verb::receive) ||
                       change_verb(instruction, Verb::reduce, Verb::copy);
            case Mutation::add_for_store:
                return change_verb(instruction, Verb::receive, Verb::receive_reduce) ||
                       change_verb(instruction, Verb::copy, Verb::reduce);
            case Mutation::wrong_peer:
                return wrong_peer(schedule, site.rank, instruction);
            case Mutation::wait_first:
                return wait_first(spoilt);
        }
        throw std::invalid_argument("mutated: no such mutation");
    };
    return apply() ? std::optional(std::move(spoilt)) : std::nullopt;
}

}  // namespace lockstep::collective
