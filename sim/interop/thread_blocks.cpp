#include "sim/interop/thread_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/schedule_steps.h"
#include "sim/interop/moment.h"
#include "sim/interop/ordered_steps.h"

namespace lockstep::interop {

using collective::Buffer;
using collective::Instruction;
using collective::is_in_switch;
using collective::Operation;
using collective::Schedule;
using collective::Thread;
using collective::Verb;

namespace {

/// How much may be kept to find out which steps are known to have been done: steps times thread blocks.
constexpr std::size_t most_clock_entries = std::size_t{1} << 26;

/// Who last wrote a chunk, and who has read it since.
struct Users {
    std::optional<Done> writer = {};
    std::vector<Done> readers = {};
};

/// Where a thread is while it is spread over thread blocks.
struct Cursor {
    const Thread* thread = nullptr;
    std::vector<Moment> moments = {};
    std::size_t next = 0;
    std::uint32_t first_block = 0;
    std::vector<RankId> receivers = {};  ///< by thread block of the thread, as far as there are
    std::vector<RankId> senders = {};
    std::uint32_t last_block = 0;  ///< that got a step
    std::set<Done> frontier = {};  ///< what all that follows in the thread has to follow
    std::vector<Done> since = {};  ///< written since then, in the thread
    std::map<std::pair<Buffer, std::uint32_t>, Users> users = {};
};

class Spreader {
  public:
    Spreader(const Schedule& schedule, RankId rank, std::int64_t& steps_left)
        : schedule_(&schedule), rank_(rank), steps_left_(&steps_left), scratch_(schedule.scratch_chunks) {
        const bool spare_received = schedule.result != Buffer::received;
        received_in_scratch_ = spare_received ? std::optional(scratch_) : std::nullopt;
    }

    OutGpu gpu() {
        const collective::RankProgram program = schedule_->program(rank_);
        std::vector<Cursor> cursors;
        for (const Thread& thread : program) {
            cursors.push_back(cursor_for(thread));
        }
        require_single_ends(program);
        if (uses_received_ && received_in_scratch_) {
            scratch_ += schedule_->chunks;
        }
        const bool copies_own = schedule_->operation == Operation::all_to_all && schedule_->result == Buffer::received;
        if (copies_own && gpu_.blocks.empty()) {
            gpu_.blocks.emplace_back();
        }
        steps_.emplace(gpu_.blocks);
        if (copies_own) {
            copy_own_block(cursors);
        }
        // A wait is for a signal of another thread: take turns until all are through.
        for (bool moved = true; moved;) {
            moved = false;
            for (Cursor& cursor : cursors) {
                moved = run(cursor) || moved;
            }
        }
        for (const Cursor& cursor : cursors) {
            if (cursor.next < cursor.moments.size()) {
                refuse(fmt::format("rank {} waits for its event {}, which nobody signals", index(rank_),
                                   cursor.moments[cursor.next].instruction->event));
            }
        }
        gpu_.scratch_chunks = scratch_;
        return std::move(gpu_);
    }

  private:
    [[noreturn]] void refuse(std::string_view what) const {
        throw InputError(fmt::format("`{}` cannot be said in MSCCL: {}", schedule_->algorithm, what));
    }

    /// The thread's instructions one by one, and a thread block for each pair of a receiver and a sender.
    Cursor cursor_for(const Thread& thread) {
        Cursor cursor{.thread = &thread, .first_block = static_cast<std::uint32_t>(gpu_.blocks.size())};
        const auto add = [](std::vector<RankId>& peers, RankId peer) {
            if (std::ranges::find(peers, peer) == peers.end()) {
                peers.push_back(peer);
            }
        };
        for (std::uint32_t round = 0; round < thread.rounds; ++round) {
            for (const collective::Block& block : thread.blocks) {
                for (std::uint32_t iteration = 0; iteration < block.iterations; ++iteration) {
                    for (const Instruction& instruction : block.body) {
                        spend();
                        if (is_in_switch(instruction.verb)) {
                            refuse("it adds up or copies in switches, for which there is no step");
                        }
                        cursor.moments.push_back(moment_of(instruction, iteration, round * thread.round_stride));
                        uses_received_ = uses_received_ || uses(cursor.moments.back(), Buffer::received);
                        if (instruction.verb == Verb::send || instruction.verb == Verb::drain) {
                            add(cursor.receivers, instruction.peer);
                        } else if (instruction.verb == Verb::receive || instruction.verb == Verb::receive_reduce) {
                            add(cursor.senders, instruction.peer);
                        }
                    }
                }
            }
        }
        const std::size_t blocks =
            std::max({cursor.receivers.size(), cursor.senders.size(), std::size_t{cursor.moments.empty() ? 0U : 1U}});
        for (std::size_t at = 0; at < blocks; ++at) {
            OutThreadBlock block{.channel = thread.channel};
            if (at < cursor.receivers.size()) {
                block.send = cursor.receivers[at];
            }
            if (at < cursor.senders.size()) {
                block.receive = cursor.senders[at];
            }
            gpu_.blocks.push_back(std::move(block));
        }
        cursor.last_block = cursor.first_block;
        return cursor;
    }

    void spend() const {
        if (--*steps_left_ < 0) {
            refuse("it has more than half a million steps when its loops are unrolled");
        }
    }

    /// Throws: InputError for an event with several threads at one end: who lets whom go on would be a matter of time.
    void require_single_ends(const collective::RankProgram& program) const {
        std::map<std::pair<std::uint32_t, Verb>, std::size_t> thread_of;
        for (std::size_t thread = 0; thread < program.size(); ++thread) {
            for (const collective::Block& block : program[thread].blocks) {
                for (const Instruction& instruction : block.body) {
                    if (instruction.verb != Verb::signal && instruction.verb != Verb::wait) {
                        continue;
                    }
                    const auto [entry, fresh] = thread_of.try_emplace({instruction.event, instruction.verb}, thread);
                    if (!fresh && entry->second != thread) {
                        refuse(fmt::format("several threads of rank {} {} event {}", index(rank_),
                                           instruction.verb == Verb::signal ? "signal" : "wait for",
                                           instruction.event));
                    }
                }
            }
        }
    }

    /// Where MSCCL has a run of ours.
    OutStep::Place place(const Run& run) const {
        if (run.buffer == Buffer::scratch) {
            return {'s', run.first};
        }
        if (run.buffer == Buffer::received && received_in_scratch_) {
            return {'s', *received_in_scratch_ + run.first};
        }
        // In place the whole vector is the output of gathers and the input of all others.
        const bool is_gather =
            schedule_->operation == Operation::all_gather || schedule_->operation == Operation::gather;
        const bool is_output = run.buffer == Buffer::received || (is_gather && schedule_->result == Buffer::data);
        const Region region = region_of(*schedule_, is_output ? MscclBuffer::output : MscclBuffer::input, rank_);
        if (run.first < region.first || run.first + run.count > region.first + region.size) {
            refuse(fmt::format("rank {} uses chunk {}, which lies outside of its {} in out-of-place {}", index(rank_),
                               run.first, is_output ? "output" : "input", collective::name_of(schedule_->operation)));
        }
        return {is_output ? 'o' : 'i', std::int64_t{run.first} - region.first};
    }

    /// What all_to_all leaves out: a rank's chunks for itself have to get from the input to the output.
    void copy_own_block(std::vector<Cursor>& cursors) {
        const std::uint32_t size = schedule_->chunks / schedule_->ranks;
        const std::uint32_t first = static_cast<std::uint32_t>(rank_) * size;
        spend();
        const Done copied = write(0,
                                  {.kind = MscclStep::copy,
                                   .source = place({Buffer::data, first, size}),
                                   .target = place({Buffer::received, first, size}),
                                   .count = size},
                                  {});
        for (Cursor& cursor : cursors) {
            const bool touches = std::ranges::any_of(cursor.moments, [&](const Moment& moment) {
                const auto overlaps = [&](const Run& run) {
                    return run.buffer == Buffer::received && run.first < first + size && run.first + run.count > first;
                };
                return std::ranges::any_of(moment.runs, overlaps) || overlaps(moment.from);
            });
            if (touches) {
                cursor.frontier.insert(copied);
            }
        }
    }

    /// Writes the thread's steps until it waits for a signal that is not there yet. Returns whether it got anywhere.
    bool run(Cursor& cursor) {
        bool moved = false;
        for (; cursor.next < cursor.moments.size(); ++cursor.next, moved = true) {
            const Moment& moment = cursor.moments[cursor.next];
            const std::uint32_t event = moment.instruction->event;
            if (moment.instruction->verb == Verb::signal) {
                std::set<Done> before = cursor.frontier;
                before.insert(cursor.since.begin(), cursor.since.end());
                signals_[event].push_back(std::move(before));
            } else if (moment.instruction->verb == Verb::wait) {
                std::size_t& waits = waits_[event];
                if (waits >= signals_[event].size()) {
                    return moved;
                }
                const std::set<Done>& before = signals_[event][waits++];
                cursor.frontier.insert(before.begin(), before.end());
            } else {
                write_moment(cursor, moment);
            }
        }
        return moved;
    }

    std::uint32_t block_for(const Cursor& cursor, const Instruction& instruction) const {
        const auto place_of = [&](const std::vector<RankId>& peers) {
            return cursor.first_block +
                   static_cast<std::uint32_t>(std::ranges::find(peers, instruction.peer) - peers.begin());
        };
        switch (instruction.verb) {
            case Verb::send:
            case Verb::drain:
                return place_of(cursor.receivers);
            case Verb::receive:
            case Verb::receive_reduce:
                return place_of(cursor.senders);
            default:
                return cursor.last_block;
        }
    }

    /// Packed chunks of one thread block, on their way in or out.
    std::uint32_t stage(std::uint32_t block, bool is_out, std::uint32_t count) {
        auto [entry, fresh] = stages_.try_emplace({block, is_out});
        auto& [first, size] = entry->second;
        if (fresh || size < count) {
            first = scratch_;
            size = count;
            scratch_ += count;
        }
        return first;
    }

    void write_moment(Cursor& cursor, const Moment& moment) {
        const Instruction& instruction = *moment.instruction;
        const std::uint32_t block = block_for(cursor, instruction);
        cursor.last_block = block;
        const bool is_scattered = moment.runs.size() > 1;
        switch (instruction.verb) {
            case Verb::send: {
                Run sent = moment.runs.front();
                if (is_scattered) {
                    sent = {Buffer::scratch, stage(block, true, chunk_count(moment)), 0};
                    for (const Run& run : moment.runs) {
                        write_local(cursor, block, MscclStep::copy, run,
                                    {Buffer::scratch, sent.first + sent.count, run.count});
                        sent.count += run.count;
                    }
                }
                write_ordered(cursor, block, {.kind = MscclStep::send, .source = place(sent), .count = sent.count},
                              {sent}, {});
                break;
            }
            case Verb::receive:
            case Verb::receive_reduce: {
                const bool adds = instruction.verb == Verb::receive_reduce;
                Run taken = moment.runs.front();
                if (is_scattered) {
                    taken = {Buffer::scratch, stage(block, false, chunk_count(moment)), chunk_count(moment)};
                }
                const bool adds_at_once = adds && !is_scattered;
                OutStep step{.kind = adds_at_once ? MscclStep::receive_reduce_copy : MscclStep::receive,
                             .target = place(taken),
                             .count = taken.count};
                if (adds_at_once) {
                    step.source = step.target;
                }
                const Done arrived = write_ordered(cursor, block, std::move(step), {}, {taken});
                follow(cursor, arrived);
                for (std::uint32_t offset = 0; const Run& run : moment.runs) {
                    if (is_scattered) {
                        write_local(cursor, block, adds ? MscclStep::reduce : MscclStep::copy,
                                    {Buffer::scratch, taken.first + offset, run.count}, run);
                        offset += run.count;
                    }
                }
                break;
            }
            case Verb::copy:
            case Verb::reduce:
                write_local(cursor, block, instruction.verb == Verb::copy ? MscclStep::copy : MscclStep::reduce,
                            moment.from, moment.runs.front());
                break;
            case Verb::drain:
                follow(cursor, write_ordered(cursor, block, {.kind = MscclStep::nop, .drains = true}, {}, {}));
                break;
            default:
                break;
        }
    }

    /// What comes later in the thread has to follow a step that waits.
    static void follow(Cursor& cursor, const Done& step) {
        cursor.frontier = {step};
        // A thread block is in order by itself: only the others' steps can still be under way, and none of them waits.
        std::erase_if(cursor.since, [&](const Done& other) { return other.block == step.block; });
    }

    void write_local(Cursor& cursor, std::uint32_t block, MscclStep kind, const Run& from, const Run& to) {
        spend();
        write_ordered(cursor, block, {.kind = kind, .source = place(from), .target = place(to), .count = to.count},
                      {from}, {to});
    }

    /// Writes a step behind all that it has to follow: what its thread waited for last, and whoever of the thread uses
    /// the same chunks. Returns where it stands.
    Done write_ordered(Cursor& cursor, std::uint32_t block, OutStep step, const std::vector<Run>& reads,
                       const std::vector<Run>& writes) {
        std::set<Done> before = cursor.frontier;
        const auto each_chunk = [&](const std::vector<Run>& runs, const auto& use) {
            for (const Run& run : runs) {
                for (std::uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
                    use(cursor.users[{run.buffer, chunk}]);
                }
            }
        };
        const bool is_spread = cursor.receivers.size() > 1 || cursor.senders.size() > 1;
        if (is_spread) {
            each_chunk(reads, [&](const Users& users) {
                if (users.writer) {
                    before.insert(*users.writer);
                }
            });
            each_chunk(writes, [&](const Users& users) {
                before.insert(users.readers.begin(), users.readers.end());
                if (users.writer) {
                    before.insert(*users.writer);
                }
            });
        }
        const Done done = write(block, std::move(step), before);
        if (is_spread) {
            each_chunk(reads, [&](Users& users) {
                std::erase_if(users.readers, [&](const Done& other) { return other.block == block; });
                users.readers.push_back(done);
            });
            each_chunk(writes, [&](Users& users) {
                users.writer = done;
                users.readers.clear();
            });
        }
        std::erase_if(cursor.since, [&](const Done& other) { return other.block == block; });
        cursor.since.push_back(done);
        return done;
    }

    /// As OrderedSteps::write, with the `nop`s of that counted, too.
    Done write(std::uint32_t block, OutStep step, const std::set<Done>& before) {
        const std::uint64_t size = steps_->size();
        const Done done = steps_->write(block, std::move(step), before);
        for (std::uint64_t nops = steps_->size() - size; nops > 1; --nops) {
            spend();
        }
        if (steps_->memory() > most_clock_entries) {
            refuse("it has too many steps in too many thread blocks to find out what has to follow what");
        }
        return done;
    }

    const Schedule* schedule_;
    RankId rank_;
    std::int64_t* steps_left_;
    OutGpu gpu_ = {};
    std::uint32_t scratch_ = 0;
    bool uses_received_ = false;
    std::optional<std::uint32_t> received_in_scratch_ = {};
    std::optional<OrderedSteps> steps_ = {};  ///< once the thread blocks are known
    std::map<std::pair<std::uint32_t, bool>, std::pair<std::uint32_t, std::uint32_t>> stages_ = {};
    std::map<std::uint32_t, std::vector<std::set<Done>>> signals_ = {};  ///< by event: what had to be done before each
    std::map<std::uint32_t, std::size_t> waits_ = {};                    ///< by event: so far
};

}  // namespace

OutGpu thread_blocks_of(const Schedule& schedule, RankId rank, std::int64_t& steps_left) {
    return Spreader(schedule, rank, steps_left).gpu();
}

}  // namespace lockstep::interop
