#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/replay/connection_ties.h"
#include "sim/replay/fold_data.h"
#include "sim/replay/instruction_kinds.h"
#include "sim/replay/script_reader.h"

namespace lockstep::replay {

using collective::Instruction;
using collective::Verb;

namespace {

constexpr std::uint32_t none = Units::none;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

constexpr const char* unlike_hardware = "nodes differ in their devices or links";
constexpr const char* unlike_programs = "ranks of different nodes do different things";
constexpr const char* unlike_paths = "messages between nodes take unlike paths, or go to unlike nodes";

class Finder {
  public:
    explicit Finder(FoldData& data) : data_(data), units_(*data.units), fabric_(*data.fabric) {}

    void find() {
        const std::size_t units = units_.size();
        data_.use = {.nodes = units, .classes = units, .broken_by = {}};
        if (const char* const reason = obstacle()) {
            data_.use.broken_by = reason;
            return;
        }
        refinement_.refine(units, most_classes());
        data_.use.classes = classify();
        if (data_.use.classes > most_classes()) {
            data_.use.classes = units;
            data_.use.broken_by = unlike_paths;
            return;
        }
        explain();
        choose_representatives();
        if (!routes_stay_inside()) {
            data_.use.classes = units;
            data_.use.broken_by = "messages inside a node leave it";
            return;
        }
        find_externals();
        find_stand_ins();
        data_.folds = true;
    }

  private:
    /// With more than half as many classes as nodes there is little to gain.
    std::size_t most_classes() const { return units_.size() / 2; }

    /// Gives the refinement its things and ties. Returns: why there is nothing to refine, or null.
    const char* obstacle() {
        if (units_.size() < 2) {
            return "there is one node only";
        }
        if (data_.router->policy() == fabric::RoutingPolicy::adaptive) {
            return "adaptive routing makes every path depend on all others";
        }
        if (const char* const problem = colour_units()) {
            return problem;
        }
        if (const char* const problem = tie_connections()) {
            return problem;
        }
        tie_groups();
        return nullptr;
    }

    const char* colour_units() {
        std::vector<Digest> colours(units_.size());
        for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
            colours[unit] = units_.digest(unit);
        }
        by_hardware_ = count_different(colours);
        if (by_hardware_ > most_classes()) {
            return unlike_hardware;
        }
        if (!data_.input->duties.empty()) {
            for (std::size_t rank = 0; rank < units_.rank_count(); ++rank) {
                const auto id = id_at<RankId>(rank);
                colours[units_.of(id)] += mix(data_.input->duties[rank], units_.place(id));
            }
            if (count_different(colours) > most_classes()) {
                return unlike_programs;
            }
        }
        ScriptReader reader(*data_.input, units_, colours, data_.table);
        for (std::uint32_t script = 0; script < data_.input->scripts.size(); ++script) {
            if (const char* const problem = reader.read(script)) {
                return problem;
            }
        }
        // Not before all scripts are read: those of alike nodes need not come in the same order.
        by_programs_ = count_different(colours);
        if (by_programs_ > most_classes()) {
            return unlike_programs;
        }
        for (const Digest& colour : colours) {
            refinement_.add_thing(colour);
        }
        return nullptr;
    }

    std::uint32_t thing_of_link(LinkId link) {
        std::uint32_t& thing = thing_of_link_[index(link)];
        if (thing == none) {
            thing = refinement_.add_thing(mix(Digest{1, 1}, bits(fabric_.link(link).bandwidth.value)));
            links_.push_back(link);
        }
        return thing;
    }

    /// Good until the next call.
    const fabric::Route& route_of(const ConnectionTable::Entry& entry) {
        data_.router->find_route(units_.gpu(entry.from), units_.gpu(entry.to), entry.channel, {}, route_);
        return route_;
    }

    const char* tie_connections() {
        const auto& connections = data_.table.entries();
        if (!std::all_of(connections.begin(), connections.end(), [](const ConnectionTable::Entry& connection) {
                return connection.is_sent_on && connection.is_taken_from;
            })) {
            return "a schedule is not sound";
        }
        thing_of_link_.assign(fabric_.link_count(), none);
        constexpr std::size_t most_often = 6;  // two units, and on three levels of switches four links between these
        refinement_.expect(connections.size(), most_often);
        for_each_tie(fabric_, units_, *data_.router, connections, data_.threads,
                     [this](const Digest& kind, std::span<const ConnectionRole> roles) {
                         refinement_.add_tie(kind);
                         for (const ConnectionRole& role : roles) {
                             refinement_.add_role(role.is_link ? thing_of_link(LinkId{role.at}) : role.at, role.label);
                         }
                     });
        return nullptr;
    }

    /// Who is called together waits for each other, whether messages join them or not, and reports say how long.
    void tie_groups() {
        for (const FoldGroup& group : data_.input->groups) {
            if (group.uses.empty()) {
                continue;
            }
            refinement_.add_tie(mix(Digest{5, 5}, group.members.size()));
            for (const auto& places : group.communicator->nodes()) {
                Digest here;
                for (const RankId place : places) {
                    here += mix(group.uses[index(place)], units_.place(group.members[index(place)]));
                }
                refinement_.add_role(units_.of(group.members[index(places.front())]), here.a);
            }
        }
    }

    std::size_t classify() {
        std::map<Digest, std::uint32_t> classes;
        for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
            const auto [entry, fresh] =
                classes.try_emplace(refinement_.colour(unit), static_cast<std::uint32_t>(classes.size()));
            if (fresh) {
                data_.representative.push_back(unit);
                data_.members.push_back(0);
            }
            data_.class_of_unit.push_back(entry->second);
            ++data_.members[entry->second];
        }
        return classes.size();
    }

    /// Names the step that set most classes apart.
    void explain() {
        const std::size_t classes = data_.use.classes;
        if (classes == 1) {
            return;
        }
        const std::size_t programs = by_programs_ - by_hardware_;
        const std::size_t paths = classes - by_programs_;
        const std::size_t most = std::max({by_hardware_ - 1, programs, paths});
        data_.use.broken_by = most == by_hardware_ - 1 ? unlike_hardware
                              : most == programs       ? unlike_programs
                                                       : unlike_paths;
    }

    void choose_representatives() {
        for (const std::uint32_t unit : data_.representative) {
            data_.first_actor.push_back(static_cast<std::uint32_t>(data_.actors.size()));
            const auto ranks = units_.ranks(unit);
            data_.actors.insert(data_.actors.end(), ranks.begin(), ranks.end());
        }
    }

    /// Messages inside a node are not looked at node by node: alike nodes have alike routes as long as these stay
    /// inside.
    bool routes_stay_inside() {
        for (const FoldScript& script : data_.input->scripts) {
            const auto& members = data_.input->groups[script.group].members;
            looked_at_.clear();
            for (std::size_t place = 0; place < members.size(); ++place) {
                if (data_.is_representative(units_.of(members[place])) &&
                    !routes_stay_inside(script, id_at<RankId>(place))) {
                    return false;
                }
            }
        }
        return true;
    }

    bool routes_stay_inside(const FoldScript& script, RankId place) {
        for (const collective::Thread& thread : script.schedule->program(place)) {
            for (const collective::Block& block : thread.blocks) {
                for (const Instruction& instruction : block.body) {
                    const bool is_inside = uses_group(instruction.verb)
                                               ? group_stays_inside(script, instruction)
                                               : !is_outgoing(instruction.verb) ||
                                                     message_stays_inside(script, place, instruction, thread.channel);
                    if (!is_inside) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    bool message_stays_inside(const FoldScript& script, RankId place, const Instruction& instruction,
                              std::uint32_t channel) {
        const RankId from = data_.job_rank(script, place);
        const RankId to = data_.job_rank(script, instruction.peer);
        return from == to || units_.of(from) != units_.of(to) ||
               is_inside(units_.of(from), data_.router->route(units_.gpu(from), units_.gpu(to), channel, {}));
    }

    bool group_stays_inside(const FoldScript& script, const Instruction& instruction) {
        if (run_of(instruction.verb) != InstructionRun::posts ||
            !looked_at_.emplace(instruction.verb, instruction.group, instruction.peer).second) {
            return true;
        }
        std::vector<VertexId> members;
        for (const RankId member : script.schedule->groups[instruction.group]) {
            members.push_back(units_.gpu(data_.job_rank(script, member)));
        }
        const VertexId peer = units_.gpu(data_.job_rank(script, instruction.peer));
        const fabric::Route& route = instruction.verb == Verb::contribute ? data_.router->reduction_route(members, peer)
                                     : instruction.verb == Verb::multicast
                                         ? data_.router->multicast_route(members, peer)
                                         : data_.router->sum_route(members);
        return is_inside(units_.of(peer), route);
    }

    bool is_inside(std::uint32_t unit, const fabric::Route& route) const {
        return std::all_of(route.links.begin(), route.links.end(), [&](const fabric::RouteShare& share) {
            return units_.of(fabric_.from(share.link)) == unit && units_.of(fabric_.to(share.link)) == unit;
        });
    }

    std::uint32_t external_of_colour(const Digest& colour) {
        const auto [entry, fresh] =
            external_of_colour_.try_emplace(colour, static_cast<std::uint32_t>(data_.externals.size()));
        if (fresh) {
            data_.externals.emplace_back();
        }
        return entry->second;
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
            const std::uint32_t sender = units_.of(entry.from);
            const bool sends = data_.is_representative(sender);
            const bool receives = data_.is_representative(units_.of(entry.to));
            const auto roles = refinement_.roles(tie);
            const bool crosses = std::any_of(roles.begin(), roles.end(), [&](const Refinement::Role& role) {
                return role.thing < units_.size()
                           ? data_.is_representative(role.thing)
                           : static_cast<bool>(counts[index(links_[role.thing - units_.size()])]);
            });
            if (!sends && !receives && !crosses) {
                continue;
            }
            const std::uint32_t at = external_of_colour(refinement_.tie_colour(tie));
            External& external = data_.externals[at];
            if (sends) {
                data_.external_of.emplace(tie, at);
                external.sending = std::min(external.sending, tie);
                external.stands_for += data_.members[data_.class_of_unit[sender]];
            }
            if (receives) {
                data_.external_of.emplace(tie, at);
                external.receiving = std::min(external.receiving, tie);
            }
            const fabric::Route& route = route_of(entry);
            external.route.latency = route.latency;
            for (const fabric::RouteShare& share : route.links) {
                const std::uint32_t owner = units_.owner(share.link);
                if (owner == none ? counts[index(share.link)] : data_.is_representative(owner)) {
                    shares[{at, share.link}] += share.share;
                }
            }
        }
        for (const auto& [key, share] : shares) {
            data_.externals[key.first].route.links.push_back({key.second, share});
        }
    }

    void find_stand_ins() {
        for (std::size_t at = 0; at < fabric_.link_count(); ++at) {
            const auto link = id_at<LinkId>(at);
            const std::uint32_t owner = units_.owner(link);
            if (owner != none) {
                data_.stand_in[at] =
                    units_.link_at(data_.representative[data_.class_of_unit[owner]], units_.place(link));
            }
        }
    }

    FoldData& data_;
    const Units& units_;
    const fabric::Fabric& fabric_;
    std::size_t by_hardware_ = 0;  ///< classes, before anything else is looked at
    std::size_t by_programs_ = 0;  ///< and before paths are
    Refinement refinement_ = {};
    fabric::Route route_ = {};
    std::vector<std::uint32_t> thing_of_link_ = {};
    std::vector<LinkId> links_ = {};  ///< by thing, after the units
    std::map<Digest, std::uint32_t> external_of_colour_ = {};
    std::set<std::tuple<Verb, std::uint32_t, RankId>> looked_at_ = {};
};

}  // namespace

void find_classes(FoldData& data) { Finder(data).find(); }

}  // namespace lockstep::replay
