#include "sim/replay/fold.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/replay/connection_table.h"
#include "sim/replay/refinement.h"

namespace lockstep::replay {

using collective::Verb;
using fabric::Fabric;

namespace {

constexpr std::uint32_t none = UINT32_MAX;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// The vertices of the fabric by who is folded with whom: nodes, and GPUs without one.
class Units {
  public:
    Units(const Fabric& fabric, const collective::Communicator& communicator)
        : fabric_(fabric), unit_of_(fabric.vertex_count(), none), place_of_(fabric.vertex_count(), 0) {
        for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
            const VertexId gpu = communicator.gpu(id_at<RankId>(rank));
            if (unit_of_[index(gpu)] == none) {
                add(gpu);
            }
            ranks_[unit_of_[index(gpu)]].push_back(id_at<RankId>(rank));
        }
        for (auto& ranks : ranks_) {
            std::sort(ranks.begin(), ranks.end(),
                      [&](RankId a, RankId b) { return place(communicator.gpu(a)) < place(communicator.gpu(b)); });
        }
    }

    std::size_t size() const { return vertices_.size(); }
    std::span<const VertexId> vertices(std::uint32_t unit) const { return vertices_[unit]; }
    /// In the order of their places, so that those of alike units correspond.
    std::span<const RankId> ranks(std::uint32_t unit) const { return ranks_[unit]; }
    std::uint32_t of(VertexId vertex) const { return unit_of_[index(vertex)]; }
    std::uint32_t place(VertexId vertex) const { return place_of_[index(vertex)]; }

    /// The unit that a link is counted to: the sender's, else the receiver's, else none.
    std::uint32_t owner(LinkId link) const {
        const std::uint32_t unit = of(fabric_.from(link));
        return unit != none ? unit : of(fabric_.to(link));
    }
    /// Which link of its owner it is. Alike units have alike links at the same places.
    std::uint64_t place(LinkId link) const {
        const bool outgoing = of(fabric_.from(link)) != none;
        const LinkId out = outgoing ? link : fabric_.reverse(link);
        const VertexId from = fabric_.from(out);
        const std::size_t offset = index(out) - index(fabric_.links_out_of(from).front());
        return (std::uint64_t{place(from)} << 32U) | (static_cast<std::uint64_t>(offset) << 1U) | (outgoing ? 0U : 1U);
    }
    /// The link at a place of a unit.
    LinkId link_at(std::uint32_t unit, std::uint64_t place) const {
        const VertexId from = vertices_[unit][static_cast<std::size_t>(place >> 32U)];
        const LinkId out = fabric_.links_out_of(from)[static_cast<std::size_t>((place & UINT32_MAX) >> 1U)];
        return (place & 1U) == 0 ? out : fabric_.reverse(out);
    }

    /// What is in it: devices and links, in order.
    Digest digest(std::uint32_t unit) const {
        Digest all;
        for (const VertexId vertex : vertices_[unit]) {
            const fabric::Vertex& what = fabric_.vertex(vertex);
            all = mix(all,
                      static_cast<std::uint64_t>(what.kind) << 2U | (what.relays ? 2U : 0U) | (what.reduces ? 1U : 0U));
            for (const LinkId id : fabric_.links_out_of(vertex)) {
                const fabric::Link& link = fabric_.link(id);
                all = mix(all, bits(link.bandwidth.value));
                all = mix(all, bits(fabric_.link(fabric_.reverse(id)).bandwidth.value));
                all = mix(all, bits(link.latency.value));
                all = mix(all, static_cast<std::uint64_t>(link.tier));
                const VertexId to = fabric_.to(id);
                all = mix(all, of(to) == unit ? std::uint64_t{place(to)} : std::uint64_t{none});
            }
        }
        return all;
    }

  private:
    void add(VertexId gpu) {
        const auto unit = static_cast<std::uint32_t>(vertices_.size());
        const auto& node = fabric_.vertex(gpu).node;
        vertices_.emplace_back();
        ranks_.emplace_back();
        if (node) {
            const auto inside = fabric_.vertices_of(*node);
            vertices_.back().assign(inside.begin(), inside.end());
        } else {
            vertices_.back().push_back(gpu);
        }
        for (std::uint32_t place = 0; place < vertices_.back().size(); ++place) {
            unit_of_[index(vertices_.back()[place])] = unit;
            place_of_[index(vertices_.back()[place])] = place;
        }
    }

    const Fabric& fabric_;
    std::vector<std::uint32_t> unit_of_;
    std::vector<std::uint32_t> place_of_;
    std::vector<std::vector<VertexId>> vertices_ = {};
    std::vector<std::vector<RankId>> ranks_ = {};
};

/// Instructions next to each other that cannot hold each other up count as a set: sends that are posted at one instant,
/// receives that all have to be there before anything else happens.
enum class Run : std::uint8_t { posts, takes, alone };

Run run_of(Verb verb) {
    switch (verb) {
        case Verb::send:
        case Verb::multicast:
        case Verb::contribute:
        case Verb::contribute_to_all:
            return Run::posts;
        case Verb::receive:
        case Verb::receive_reduce:
        case Verb::reduce_in_switch:
        case Verb::receive_multicast:
        case Verb::receive_sum:
            return Run::takes;
        default:
            return Run::alone;
    }
}

bool is_message(Verb verb) {
    return verb == Verb::send || verb == Verb::receive || verb == Verb::receive_reduce || verb == Verb::drain;
}

bool is_outgoing(Verb verb) { return verb == Verb::send || verb == Verb::drain; }

bool uses_group(Verb verb) { return !is_message(verb) && run_of(verb) != Run::alone; }

}  // namespace

/// A class of connections between units, by the one that the representatives have.
struct External {
    std::uint32_t sending = none;    ///< the connection that the representative sender has
    std::uint32_t receiving = none;  ///< the one that the representative receiver has
    RankId from{};                   ///< places among the representatives
    RankId to{};
    std::uint32_t stands_for = 0;
    fabric::Route route = {};
};

struct Fold::Data {
    const collective::Communicator* communicator = nullptr;
    const collective::Schedule* schedule = nullptr;
    fabric::Router* router = nullptr;
    Bytes bytes{};
    FoldUse use = {};
    std::optional<Units> units = {};
    ConnectionTable table = {};  ///< connections between units
    std::vector<std::uint32_t> class_of_unit = {};
    std::vector<std::uint32_t> representative = {};  ///< by class: the first unit of it
    std::vector<std::uint32_t> members = {};         ///< by class: how many units
    std::vector<LinkId> stand_in = {};               ///< by LinkId of a used link between units: the one counted for it
    std::vector<RankId> ranks = {};                  ///< the representatives' ranks; the place here is the rank played
    std::vector<std::uint32_t> place_of_rank = {};   ///< by rank of a representative
    std::vector<External> externals = {};
    std::unordered_map<std::uint32_t, std::uint32_t> external_of = {};  ///< connection of a representative -> external

    bool is_inside(RankId a, RankId b) const {
        return units->of(communicator->gpu(a)) == units->of(communicator->gpu(b));
    }
    /// What the representative at a place does: with the representatives of its peers, and of alike connections with
    /// the one that stands for them.
    collective::RankProgram program(RankId place, std::uint32_t first_external) const {
        const RankId rank = ranks[index(place)];
        collective::RankProgram program = schedule->program(rank);
        for (collective::Thread& thread : program) {
            for (collective::Block& block : thread.blocks) {
                std::erase_if(block.body, [&](collective::Instruction& instruction) {
                    return !keep(rank, thread.channel, first_external, instruction);
                });
            }
        }
        return program;
    }

    /// Renames the peer. Returns: false if another connection stands for this one.
    bool keep(RankId rank, std::uint32_t channel, std::uint32_t first_external,
              collective::Instruction& instruction) const {
        if (run_of(instruction.verb) == Run::alone && !is_message(instruction.verb)) {
            return true;
        }
        if (!is_message(instruction.verb) || is_inside(rank, instruction.peer)) {
            instruction.peer = id_at<RankId>(place_of_rank[index(instruction.peer)]);
            return true;
        }
        const bool outgoing = is_outgoing(instruction.verb);
        const std::uint32_t tie =
            outgoing ? table.number(rank, instruction.peer, channel) : table.number(instruction.peer, rank, channel);
        const std::uint32_t at = external_of.at(tie);
        const External& external = externals[at];
        instruction.peer = outgoing ? external.to : external.from;
        instruction.event = first_external + at;
        return tie == (outgoing ? external.sending : external.receiving);
    }

    /// The place among the representatives of the rank that stands for `rank`.
    RankId stand_in_of(RankId rank) const {
        const std::uint32_t unit = units->of(communicator->gpu(rank));
        const auto ranks_of_unit = units->ranks(unit);
        const auto at = std::find(ranks_of_unit.begin(), ranks_of_unit.end(), rank) - ranks_of_unit.begin();
        const RankId rep = units->ranks(representative[class_of_unit[unit]])[static_cast<std::size_t>(at)];
        return id_at<RankId>(place_of_rank[index(rep)]);
    }
};

/// Finds the classes.
class Fold::Finder {
  public:
    explicit Finder(Data& data)
        : data_(data), communicator_(*data.communicator), fabric_(communicator_.fabric()), schedule_(*data.schedule) {}

    void find() {
        data_.units.emplace(fabric_, communicator_);
        const std::size_t units = data_.units->size();
        data_.use = {.nodes = units, .classes = units, .broken_by = {}};
        if (const char* const reason = unsuitable()) {
            data_.use.broken_by = reason;
            return;
        }
        if (!colour_units() || !tie_connections()) {
            return;
        }
        // With more than half as many classes as nodes there is little to gain.
        refinement_.refine(units, units / 2);
        classify();
        if (data_.use.classes > units / 2) {
            data_.use.broken_by = "messages between nodes take unlike paths, or go to unlike nodes";
            return;
        }
        choose_representatives();
        if (!routes_stay_inside()) {
            data_.use.classes = units;
            data_.use.broken_by = "messages inside a node leave it";
            return;
        }
        find_externals();
        find_stand_ins();
    }

  private:
    const char* unsuitable() const {
        if (data_.units->size() < 2) {
            return "there is one node only";
        }
        if (data_.router->policy() == fabric::RoutingPolicy::adaptive) {
            return "adaptive routing makes every path depend on all others";
        }
        if (schedule_.sizes) {
            return "chunks are of unlike size";
        }
        if (communicator_.size() > ConnectionTable::most_ranks || schedule_.channels > ConnectionTable::most_channels) {
            return "there are too many ranks or channels";
        }
        return nullptr;
    }

    bool give_up(std::string reason) {
        data_.use.broken_by = std::move(reason);
        return false;
    }

    bool colour_units() {
        const std::size_t units = data_.units->size();
        std::vector<Digest> colours(units);
        for (std::uint32_t unit = 0; unit < units; ++unit) {
            colours[unit] = data_.units->digest(unit);
        }
        if (count_different(colours) > units / 2) {
            return give_up("nodes differ in their devices or links");
        }
        for (std::uint32_t unit = 0; unit < units; ++unit) {
            for (const RankId rank : data_.units->ranks(unit)) {
                colours[unit] = mix(colours[unit], data_.units->place(communicator_.gpu(rank)));
            }
            for (const RankId rank : data_.units->ranks(unit)) {
                if (!read_program(unit, rank, colours[unit])) {
                    return false;
                }
            }
        }
        for (const Digest& colour : colours) {
            refinement_.add_thing(colour);
        }
        return count_different(colours) <= units / 2 || give_up("ranks of different nodes do different things");
    }

    /// Adds what the rank does to its unit's colour, and to the connections to other units.
    bool read_program(std::uint32_t unit, RankId rank, Digest& colour) {
        const collective::RankProgram program = schedule_.program(rank);
        Digest place{};
        place = mix(place, data_.units->place(communicator_.gpu(rank)));
        for (std::size_t t = 0; t < program.size(); ++t) {
            const collective::Thread& thread = program[t];
            Digest in_thread = mix(mix(mix(place, t), thread.channel), thread.rounds);
            for (std::size_t b = 0; b < thread.blocks.size(); ++b) {
                const collective::Block& block = thread.blocks[b];
                const Digest in_block = mix(mix(in_thread, b), block.iterations);
                Run run = Run::alone;
                std::uint64_t runs = 0;
                for (const collective::Instruction& instruction : block.body) {
                    if (instruction.verb == Verb::copy || instruction.verb == Verb::reduce) {
                        continue;  // take no time
                    }
                    if (run_of(instruction.verb) != run || run == Run::alone) {
                        run = run_of(instruction.verb);
                        ++runs;
                    }
                    if (!read_instruction(unit, rank, thread.channel, mix(in_block, runs), instruction, colour)) {
                        return false;
                    }
                }
            }
            colour += in_thread;
        }
        return true;
    }

    bool read_instruction(std::uint32_t unit, RankId rank, std::uint32_t channel, const Digest& where,
                          const collective::Instruction& instruction, Digest& colour) {
        const std::uint64_t count = instruction.chunks ? instruction.chunks->size() : instruction.count;
        Digest what = mix(mix(where, static_cast<std::uint64_t>(instruction.verb)), count);
        if (uses_group(instruction.verb)) {
            for (const RankId member : schedule_.groups.at(instruction.group)) {
                if (data_.units->of(communicator_.gpu(member)) != unit) {
                    return give_up("switches add up or copy across nodes");
                }
                what = mix(what, data_.units->place(communicator_.gpu(member)));
            }
            what = mix(what, data_.units->place(communicator_.gpu(instruction.peer)));
        } else if (is_message(instruction.verb)) {
            if (index(instruction.peer) >= communicator_.size() || channel >= ConnectionTable::most_channels) {
                return give_up("the schedule is not sound");
            }
            if (data_.units->of(communicator_.gpu(instruction.peer)) == unit) {
                what = mix(what, data_.units->place(communicator_.gpu(instruction.peer)));
            } else {
                const bool outgoing = is_outgoing(instruction.verb);
                data_.table.note_use(outgoing ? rank : instruction.peer, outgoing ? instruction.peer : rank, channel,
                                     outgoing ? ConnectionEnd::sender : ConnectionEnd::receiver, what);
                what = mix(what, UINT64_MAX);
            }
        } else {
            what = mix(what, instruction.event);
        }
        colour += what;
        return true;
    }

    std::uint32_t thing_of_link(LinkId link) {
        std::uint32_t& thing = thing_of_link_[index(link)];
        if (thing == none) {
            thing = refinement_.add_thing(mix(Digest{1, 1}, bits(fabric_.link(link).bandwidth.value)));
            links_.push_back(link);
        }
        return thing;
    }

    /// Each connection between units is a tie of the sender's and receiver's units, units that it passes through, and
    /// links between units.
    bool tie_connections() {
        thing_of_link_.assign(fabric_.link_count(), none);
        for (const ConnectionTable::Entry& entry : data_.table.entries()) {
            if (!entry.is_sent_on || !entry.is_taken_from) {
                return give_up("the schedule is not sound");
            }
            const VertexId from = communicator_.gpu(entry.from);
            const VertexId to = communicator_.gpu(entry.to);
            const fabric::Route& route = data_.router->route(from, to, entry.channel, {});
            refinement_.add_tie(mix(entry.uses, bits(route.latency.value)));
            // By unit: which of its links are crossed.
            Digest at_sender = mix(Digest{2, 2}, data_.units->place(from));
            Digest at_receiver = mix(Digest{3, 3}, data_.units->place(to));
            const std::uint32_t sender = data_.units->of(from);
            const std::uint32_t receiver = data_.units->of(to);
            for (const fabric::RouteShare& share : route.links) {
                const std::uint32_t owner = data_.units->owner(share.link);
                if (owner == none) {
                    refinement_.add_role(thing_of_link(share.link), bits(share.share));
                    continue;
                }
                const Digest crossing = mix(mix(Digest{4, 4}, data_.units->place(share.link)), bits(share.share));
                if (owner == sender) {
                    at_sender += crossing;
                } else if (owner == receiver) {
                    at_receiver += crossing;
                } else {
                    refinement_.add_role(owner, crossing.a);
                }
            }
            refinement_.add_role(sender, at_sender.a);
            refinement_.add_role(receiver, at_receiver.a);
        }
        return true;
    }

    void classify() {
        std::map<Digest, std::uint32_t> classes;
        const std::size_t units = data_.units->size();
        for (std::uint32_t unit = 0; unit < units; ++unit) {
            const auto [entry, fresh] =
                classes.try_emplace(refinement_.colour(unit), static_cast<std::uint32_t>(classes.size()));
            if (fresh) {
                data_.representative.push_back(unit);
                data_.members.push_back(0);
            }
            data_.class_of_unit.push_back(entry->second);
            ++data_.members[entry->second];
        }
        data_.use.classes = classes.size();
    }

    void choose_representatives() {
        data_.place_of_rank.assign(communicator_.size(), none);
        for (const std::uint32_t unit : data_.representative) {
            for (const RankId rank : data_.units->ranks(unit)) {
                data_.place_of_rank[index(rank)] = static_cast<std::uint32_t>(data_.ranks.size());
                data_.ranks.push_back(rank);
            }
        }
    }

    bool is_representative(std::uint32_t unit) const { return data_.representative[data_.class_of_unit[unit]] == unit; }

    /// Messages inside a node are not looked at node by node: alike nodes have alike routes as long as these stay
    /// inside.
    bool routes_stay_inside() {
        for (const std::uint32_t unit : data_.representative) {
            const auto ranks = data_.units->ranks(unit);
            for (const RankId rank : ranks) {
                for (const collective::Thread& thread : schedule_.program(rank)) {
                    for (const collective::Block& block : thread.blocks) {
                        for (const collective::Instruction& instruction : block.body) {
                            if (is_outgoing(instruction.verb) && data_.is_inside(rank, instruction.peer) &&
                                instruction.peer != rank &&
                                !stays_inside(unit, rank, instruction.peer, thread.channel)) {
                                return false;
                            }
                        }
                    }
                }
            }
        }
        return true;
    }

    bool stays_inside(std::uint32_t unit, RankId from, RankId to, std::uint32_t channel) {
        const fabric::Route& route = data_.router->route(communicator_.gpu(from), communicator_.gpu(to), channel, {});
        return std::all_of(route.links.begin(), route.links.end(), [&](const fabric::RouteShare& share) {
            return data_.units->of(fabric_.from(share.link)) == unit && data_.units->of(fabric_.to(share.link)) == unit;
        });
    }

    External& external_of_colour(const Digest& colour) {
        const auto [entry, fresh] =
            external_of_colour_.try_emplace(colour, static_cast<std::uint32_t>(data_.externals.size()));
        if (fresh) {
            data_.externals.emplace_back();
        }
        return data_.externals[entry->second];
    }

    /// The classes of connections that representatives have, with the load that each puts on representative links.
    void find_externals() {
        // The first of its colour stands for the links between units.
        std::map<Digest, LinkId> first;
        std::vector<bool> counts(fabric_.link_count(), false);
        data_.stand_in.assign(fabric_.link_count(), LinkId{none});
        for (const LinkId link : links_) {
            const auto [entry, fresh] = first.try_emplace(refinement_.colour(thing_of_link_[index(link)]), link);
            counts[index(link)] = fresh;
            data_.stand_in[index(link)] = entry->second;
        }
        std::map<std::pair<std::uint32_t, LinkId>, double> shares;  // external and link
        const auto& entries = data_.table.entries();
        for (std::uint32_t tie = 0; tie < entries.size(); ++tie) {
            const ConnectionTable::Entry& entry = entries[tie];
            const std::uint32_t sender = data_.units->of(communicator_.gpu(entry.from));
            const std::uint32_t receiver = data_.units->of(communicator_.gpu(entry.to));
            const bool sends = is_representative(sender);
            const bool receives = is_representative(receiver);
            const auto roles = refinement_.roles(tie);
            const bool crosses = std::any_of(roles.begin(), roles.end(), [&](const Refinement::Role& role) {
                return role.thing < data_.units->size()
                           ? is_representative(role.thing)
                           : static_cast<bool>(counts[index(links_[role.thing - data_.units->size()])]);
            });
            if (!sends && !receives && !crosses) {
                continue;
            }
            const Digest colour = refinement_.tie_colour(tie);
            External& external = external_of_colour(colour);
            const std::uint32_t at = external_of_colour_.at(colour);
            if (sends) {
                data_.external_of.emplace(tie, at);
                external.sending = std::min(external.sending, tie);
                external.stands_for += data_.members[data_.class_of_unit[sender]];
            }
            if (receives) {
                data_.external_of.emplace(tie, at);
                external.receiving = std::min(external.receiving, tie);
            }
            const fabric::Route& route =
                data_.router->route(communicator_.gpu(entry.from), communicator_.gpu(entry.to), entry.channel, {});
            external.route.latency = route.latency;
            for (const fabric::RouteShare& share : route.links) {
                const std::uint32_t owner = data_.units->owner(share.link);
                if (owner == none ? counts[index(share.link)] : is_representative(owner)) {
                    shares[{at, share.link}] += share.share;
                }
            }
        }
        for (const auto& [key, share] : shares) {
            data_.externals[key.first].route.links.push_back({key.second, share});
        }
        for (External& external : data_.externals) {
            external.from = data_.stand_in_of(entries[external.sending].from);
            external.to = data_.stand_in_of(entries[external.sending].to);
        }
    }

    void find_stand_ins() {
        for (std::size_t at = 0; at < fabric_.link_count(); ++at) {
            const auto link = id_at<LinkId>(at);
            const std::uint32_t owner = data_.units->owner(link);
            if (owner != none) {
                data_.stand_in[at] =
                    data_.units->link_at(data_.representative[data_.class_of_unit[owner]], data_.units->place(link));
            }
        }
    }

    Data& data_;
    const collective::Communicator& communicator_;
    const Fabric& fabric_;
    const collective::Schedule& schedule_;
    Refinement refinement_ = {};
    std::vector<std::uint32_t> thing_of_link_ = {};
    std::vector<LinkId> links_ = {};  ///< by thing, after the units
    std::map<Digest, std::uint32_t> external_of_colour_ = {};
};

Fold::Fold(const collective::Communicator& communicator, const collective::Schedule& schedule, Bytes bytes,
           fabric::Router& router)
    : data_(std::make_unique<Data>()) {
    data_->communicator = &communicator;
    data_->schedule = &schedule;
    data_->router = &router;
    data_->bytes = bytes;
    Finder(*data_).find();
}

Fold::~Fold() = default;
Fold::Fold(Fold&&) noexcept = default;

const FoldUse& Fold::use() const { return data_->use; }

bool Fold::folds() const { return data_->use.broken_by.empty() && data_->use.classes < data_->use.nodes; }

PreparedSchedule Fold::prepared() const {
    const Data& data = *data_;
    collective::Schedule part = *data.schedule;
    part.ranks = static_cast<std::uint32_t>(data.ranks.size());
    for (auto& group : part.groups) {
        const bool is_played = std::all_of(group.begin(), group.end(),
                                           [&](RankId member) { return data.place_of_rank[index(member)] != none; });
        if (!is_played) {
            group.clear();
        }
        for (RankId& member : group) {
            member = id_at<RankId>(data.place_of_rank[index(member)]);
        }
    }
    // Connections between units get channels of their own behind those of the schedule, as several may join the same
    // two representatives.
    const std::uint32_t first_external = data.schedule->channels;
    part.program = [&data, first_external](RankId place) { return data.program(place, first_external); };
    std::vector<VertexId> gpus;
    for (const RankId rank : data.ranks) {
        gpus.push_back(data.communicator->gpu(rank));
    }
    PreparedSchedule prepared = PreparedSchedule::of_representatives(gpus, part, data.bytes);
    for (Connection& connection : prepared.connections()) {
        if (connection.channel >= first_external) {
            const External& external = data.externals[connection.channel - first_external];
            connection.route = &external.route;
            connection.stands_for = external.stands_for;
        } else {
            const RankId rank = data.ranks[index(connection.from)];
            connection.stands_for = data.members[data.class_of_unit[data.units->of(data.communicator->gpu(rank))]];
        }
    }
    return prepared;
}

void Fold::spread(std::vector<double>& bytes) const {
    std::vector<double> counted = bytes;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (data_->stand_in[at] != LinkId{none}) {
            bytes[at] = counted[index(data_->stand_in[at])];
        }
    }
}

}  // namespace lockstep::replay
