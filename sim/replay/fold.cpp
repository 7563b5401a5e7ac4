#include "sim/replay/fold.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/replay/fold_data.h"
#include "sim/replay/instruction_kinds.h"

namespace lockstep::replay {

namespace {

/// Rewrites the programs of seats so that they play with each other.
class FoldedSchedule {
  public:
    FoldedSchedule(const FoldData& data, std::span<const Seat> seats, const Fold::SeatOf& seat_of)
        : data_(&data), seats_(seats), seat_of_(&seat_of) {
        for (const FoldScript& script : data.input->scripts) {
            first_external_ = std::max(first_external_, script.schedule->channels);
        }
        for (std::size_t seat = 0; seat < seats.size(); ++seat) {
            programs_.push_back(program(seat));
        }
    }

    PreparedSchedule prepared() {
        const FoldScript& first = script_of(0);
        collective::Schedule part = *first.schedule;
        part.ranks = static_cast<std::uint32_t>(seats_.size());
        part.groups = groups_;
        for (const Seat& seat : seats_) {
            part.scratch_chunks =
                std::max(part.scratch_chunks, data_->input->scripts[seat.script].schedule->scratch_chunks);
        }
        part.program = [this](RankId seat) { return std::move(programs_[index(seat)]); };
        std::vector<VertexId> gpus;
        for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
            gpus.push_back(data_->units->gpu(rank_of(seat)));
        }
        PreparedSchedule prepared = PreparedSchedule::of_representatives(gpus, part, first.bytes);
        for (Connection& connection : prepared.connections()) {
            if (connection.channel >= first_external_) {
                const External& external = data_->externals[connection.channel - first_external_];
                connection.route = &external.route;
                connection.stands_for = external.stands_for;
            } else {
                const std::uint32_t unit = data_->units->of(rank_of(index(connection.from)));
                connection.stands_for = data_->members[data_->class_of_unit[unit]];
            }
        }
        return prepared;
    }

  private:
    const FoldScript& script_of(std::size_t seat) const { return data_->input->scripts[seats_[seat].script]; }
    RankId rank_of(std::size_t seat) const { return data_->actors[static_cast<std::size_t>(seats_[seat].actor)]; }

    /// What the seat does: with the seats of those that stand for its peers, and of alike connections with the one that
    /// stands for them.
    collective::RankProgram program(std::size_t seat) {
        collective::RankProgram program = script_of(seat).schedule->program(seats_[seat].place);
        for (collective::Thread& thread : program) {
            for (collective::Block& block : thread.blocks) {
                std::erase_if(block.body, [&](collective::Instruction& instruction) {
                    return !keep(seat, thread.channel, instruction);
                });
            }
        }
        return program;
    }

    /// Renames the peer. Returns: false if another connection stands for this one.
    bool keep(std::size_t seat, std::uint32_t channel, collective::Instruction& instruction) {
        if (uses_group(instruction.verb)) {
            instruction.group = group_of(seat, instruction.group);
            instruction.peer = id_at<RankId>((*seat_of_)(seat, instruction.peer));
            return true;
        }
        if (!is_message(instruction.verb)) {
            return true;
        }
        const RankId rank = rank_of(seat);
        const RankId peer = data_->job_rank(script_of(seat), instruction.peer);
        instruction.peer = id_at<RankId>((*seat_of_)(seat, instruction.peer));
        if (data_->units->of(rank) == data_->units->of(peer)) {
            return true;
        }
        // Connections between units get channels of their own behind those of the schedule, as several may join the
        // same two seats.
        const bool outgoing = is_outgoing(instruction.verb);
        const std::uint32_t tie =
            outgoing ? data_->table.number(rank, peer, channel) : data_->table.number(peer, rank, channel);
        const std::uint32_t at = data_->external_of.at(tie);
        instruction.event = first_external_ + at;
        return tie == (outgoing ? data_->externals[at].sending : data_->externals[at].receiving);
    }

    /// Groups never reach beyond a unit, so all their members have seats.
    std::uint32_t group_of(std::size_t seat, std::uint32_t group) {
        std::vector<RankId> members;
        for (const RankId member : script_of(seat).schedule->groups[group]) {
            members.push_back(id_at<RankId>((*seat_of_)(seat, member)));
        }
        const auto [entry, fresh] =
            group_numbers_.try_emplace({group, members}, static_cast<std::uint32_t>(groups_.size()));
        if (fresh) {
            groups_.push_back(std::move(members));
        }
        return entry->second;
    }

    const FoldData* data_;
    std::span<const Seat> seats_;
    const Fold::SeatOf* seat_of_;
    std::uint32_t first_external_ = 0;
    std::vector<collective::RankProgram> programs_ = {};
    std::vector<std::vector<RankId>> groups_ = {};
    std::map<std::pair<std::uint32_t, std::vector<RankId>>, std::uint32_t> group_numbers_ = {};
};

}  // namespace

Fold::Fold(const fabric::Fabric& fabric, const Units& units, fabric::Router& router, const FoldInput& input,
           std::size_t threads)
    : data_(std::make_unique<FoldData>()) {
    data_->fabric = &fabric;
    data_->units = &units;
    data_->router = &router;
    data_->input = &input;
    data_->threads = threads;
    find_classes(*data_);
}

Fold::~Fold() = default;
Fold::Fold(Fold&&) noexcept = default;

const FoldUse& Fold::use() const { return data_->use; }

bool Fold::folds() const { return data_->folds; }

std::span<const RankId> Fold::actors() const { return data_->actors; }

ActorId Fold::actor_of(RankId rank) const {
    const Units& units = *data_->units;
    const std::uint32_t unit = units.of(rank);
    const auto ranks = units.ranks(unit);
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), units.place(rank),
                                     [&](RankId other, std::uint32_t place) { return units.place(other) < place; });
    return id_at<ActorId>(data_->first_actor[data_->class_of_unit[unit]] +
                          static_cast<std::size_t>(at - ranks.begin()));
}

std::uint32_t Fold::stands_for(ActorId actor) const {
    return data_->members[data_->class_of_unit[data_->units->of(data_->actors[index(actor)])]];
}

PreparedSchedule Fold::prepared(std::span<const Seat> seats, const SeatOf& seat_of) const {
    return FoldedSchedule(*data_, seats, seat_of).prepared();
}

void Fold::spread(std::vector<double>& bytes) const {
    const std::vector<double> counted = bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (data_->stand_in[at] != LinkId{Units::none}) {
            bytes[at] = counted[index(data_->stand_in[at])];
        }
    }
}

}  // namespace lockstep::replay
