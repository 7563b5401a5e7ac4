#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "sim/collective/algorithm.h"
#include "sim/collective/direct_links.h"
#include "sim/collective/ports.h"

// The derivation, term by term, is in docs/collectives/lower-bound.md.

namespace lockstep::collective {

using fabric::Fabric;

namespace {

/// Ranks that share a way out: one GPU, or the GPUs of a node. Traffic inside a party is free.
struct Party {
    double ranks = 1;
    double blocks = 0;    ///< bytes of the vector that belong to its ranks, rounded as schedules round them
    Bandwidth rate = {};  ///< of what leads out of it, one direction
    bool has_root = false;
    double sent = 0;      ///< bytes that must leave it, where the operation says who sends what to whom
    double received = 0;  ///< and come in
};

/// Bytes of the blocks of all parties, the whole vector, and how many ranks share it.
struct Vector {
    double bytes;
    double ranks;
};

/// How many bytes a party must send and receive at least.
struct Share {
    double out;
    double in;
};

Share least_share(Operation operation, const Party& party, const Vector& vector) {
    const double elsewhere = vector.bytes - party.blocks;
    switch (operation) {
        case Operation::all_reduce:  // its sum must leave, the total must arrive
            return {vector.bytes, vector.bytes};
        case Operation::reduce_scatter:  // its sum of the others' blocks leaves, the rest of its own blocks' sums
                                         // arrives
            return {elsewhere, party.blocks};
        case Operation::all_gather:
            return {party.blocks, elsewhere};
        case Operation::broadcast:
            return party.has_root ? Share{vector.bytes, 0} : Share{0, vector.bytes};
        case Operation::reduce:  // as a broadcast, the other way round
            return party.has_root ? Share{0, vector.bytes} : Share{vector.bytes, 0};
        case Operation::scatter:
            return party.has_root ? Share{elsewhere, 0} : Share{0, party.blocks};
        case Operation::gather:
            return party.has_root ? Share{0, elsewhere} : Share{party.blocks, 0};
        case Operation::all_to_all:  // a block of each of its ranks for every other one, and the reverse
            return {party.ranks * elsewhere, (vector.ranks - party.ranks) * party.blocks};
        case Operation::all_to_all_v:
        case Operation::send_recv:
        case Operation::permutation:
            return {party.sent, party.received};
        case Operation::barrier:
            return {0, 0};
    }
    return {0, 0};
}

/// How many bytes all parties together must send at least when no switch adds up or copies.
double least_total(Operation operation, std::span<const Party> parties, const Vector& vector) {
    const auto others = static_cast<double>(parties.size() - 1);
    switch (operation) {
        case Operation::all_reduce:
            return 2 * others * vector.bytes;
        case Operation::reduce_scatter:
        case Operation::all_gather:
        case Operation::broadcast:
        case Operation::reduce:
            return others * vector.bytes;
        case Operation::gather:
        case Operation::scatter:
        case Operation::all_to_all:
        case Operation::all_to_all_v:
        case Operation::send_recv:
        case Operation::permutation:
        case Operation::barrier: {
            double total = 0;
            for (const Party& party : parties) {
                total += least_share(operation, party, vector).out;
            }
            return total;
        }
    }
    return 0;
}

enum class InSwitch : std::uint8_t { none, possible };

/// The time that the ways out of the parties need.
Seconds crossing_time(Operation operation, std::span<const Party> parties, const Vector& vector, InSwitch in_switch) {
    if (parties.size() < 2) {
        return {};
    }
    const auto time = [](double bytes, Bandwidth rate) {
        return rate > Bandwidth{0} ? Seconds{bytes / rate.value} : Seconds{0};
    };
    Seconds least;
    Bandwidth total;
    for (const Party& party : parties) {
        const Share share = least_share(operation, party, vector);
        least = std::max(least, time(std::max(share.out, share.in), party.rate));
        total += party.rate;
    }
    if (in_switch == InSwitch::none) {
        least = std::max(least, time(least_total(operation, parties, vector), total));
    }
    return least;
}

/// Where switches could add up or copy for several parties.
struct Reducers {
    InSwitch among_gpus = InSwitch::none;
    InSwitch among_nodes = InSwitch::none;
};

/// Numbers the sets of switches that can reduce and that are joined by links without anything between.
class ReducerSets {
  public:
    explicit ReducerSets(const Fabric& fabric) : fabric_(fabric) {}

    std::size_t set_of(VertexId reducer) {
        const auto known = set_of_.find(reducer);
        if (known != set_of_.end()) {
            return known->second;
        }
        const std::size_t set = sets_++;
        set_of_.emplace(reducer, set);
        std::vector<VertexId> queue{reducer};
        while (!queue.empty()) {
            const VertexId at = queue.back();
            queue.pop_back();
            for (const LinkId link : fabric_.links_out_of(at)) {
                const VertexId to = fabric_.to(link);
                if (fabric_.vertex(to).reduces && set_of_.emplace(to, set).second) {
                    queue.push_back(to);
                }
            }
        }
        return set;
    }

  private:
    const Fabric& fabric_;
    std::map<VertexId, std::size_t> set_of_ = {};
    std::size_t sets_ = 0;
};

/// Nodes can be served together by switches that they are cabled to, by any of their vertices, and that are joined
/// (as leaves by a spine); GPUs by any switch that they or their node's NICs are cabled to.
Reducers reducers_of(const Communicator& communicator) {
    const Fabric& fabric = communicator.fabric();
    ReducerSets sets(fabric);
    std::set<std::pair<std::size_t, std::size_t>> met;  // set of switches, node
    for (std::size_t j = 0; j < communicator.nodes().size(); ++j) {
        const VertexId gpu = communicator.gpu(communicator.nodes()[j].front());
        const auto& node = fabric.vertex(gpu).node;
        for (const VertexId vertex : node ? fabric.vertices_of(*node) : std::span(&gpu, 1)) {
            for (const LinkId link : fabric.links_out_of(vertex)) {
                if (fabric.vertex(fabric.to(link)).reduces) {
                    met.emplace(sets.set_of(fabric.to(link)), j);
                }
            }
        }
    }
    Reducers found;
    found.among_gpus = met.empty() ? InSwitch::none : InSwitch::possible;
    for (auto at = met.begin(); at != met.end() && std::next(at) != met.end(); ++at) {
        if (at->first == std::next(at)->first) {
            found.among_nodes = InSwitch::possible;
        }
    }
    return found;
}

/// The ranks of one node as a party, and each of them as one.
class NodeParties {
  public:
    NodeParties(const Communicator& communicator, std::size_t node, RankId root)
        : communicator_(communicator), fabric_(communicator.fabric()), ranks_(communicator.nodes()[node]) {
        for (const RankId rank : ranks_) {
            gpus_.push_back(communicator.gpu(rank));
        }
        has_root_ = std::find(ranks_.begin(), ranks_.end(), root) != ranks_.end();
        const auto& id = fabric_.vertex(gpus_.front()).node;
        if (id && communicator.nodes().size() > 1) {
            find_nics(*id);
        }
        inside_by_scale_up_ = share_scale_up_switch(fabric_, gpus_) || DirectLinks(fabric_, gpus_).complete();
    }

    Party node() const {
        Party party{.ranks = static_cast<double>(ranks_.size()), .has_root = has_root_};
        const auto& id = fabric_.vertex(gpus_.front()).node;
        const bool all_have_ways =
            std::none_of(ways_out_.begin(), ways_out_.end(), [](Bandwidth way) { return way.value == 0; });
        if (!id || all_have_ways) {
            for (const VertexId gpu : gpus_) {
                party.rate += rate_out_of_node(fabric_, gpu);
            }
            for (const VertexId nic : nics_) {
                party.rate += rate_out_of_node(fabric_, nic);
            }
        } else {
            for (const VertexId vertex : fabric_.vertices_of(*id)) {
                party.rate += rate_out_of_node(fabric_, vertex);
            }
        }
        return party;
    }

    Party gpu(std::size_t place, RankId root) const {
        const PortRates rates = port_rates(fabric_, gpus_[place]);
        Party party{.rate = rates.scale_up - useless_scale_up(gpus_[place]), .has_root = ranks_[place] == root};
        if (communicator_.nodes().size() == 1) {
            if (!inside_by_scale_up_) {
                party.rate += rates.machine + rates.scale_out;
            }
            return party;
        }
        const Bandwidth way_out = ways_out_.empty() ? Bandwidth{0} : ways_out_[place];
        if (way_out.value == 0 || !inside_by_scale_up_) {
            party.rate += rates.machine + rates.scale_out;
        } else if (ranks_.size() == 1) {
            party.rate = way_out + scale_up_out_of_node(gpus_[place]);
        } else {
            party.rate += way_out;
        }
        return party;
    }

  private:
    void find_nics(NodeId id) {
        const auto all = fabric_.gpus_of(id);
        const auto owned = own_nics(fabric_, id);
        for (const VertexId gpu : gpus_) {
            const auto& mine = owned[static_cast<std::size_t>(std::find(all.begin(), all.end(), gpu) - all.begin())];
            const PortRates rates = port_rates(fabric_, gpu);
            Bandwidth through_nics;
            for (const VertexId nic : mine) {
                through_nics += rate_out_of_node(fabric_, nic);
                nics_.insert(nic);
            }
            ways_out_.push_back(rates.scale_out + std::min(through_nics, rates.machine));
        }
    }

    /// What leads to GPUs that neither take part nor forward.
    Bandwidth useless_scale_up(VertexId gpu) const {
        Bandwidth rate;
        for (const LinkId link : fabric_.links_out_of(gpu)) {
            const VertexId to = fabric_.to(link);
            const fabric::Vertex& other = fabric_.vertex(to);
            if (fabric_.link(link).tier == fabric::Tier::scale_up && other.kind == fabric::VertexKind::gpu &&
                !other.relays && std::find(gpus_.begin(), gpus_.end(), to) == gpus_.end()) {
                rate += fabric_.link(link).bandwidth;
            }
        }
        return rate;
    }

    /// To the switches of a rack, say.
    Bandwidth scale_up_out_of_node(VertexId gpu) const {
        return rate_out_of_node(fabric_, gpu) - port_rates(fabric_, gpu).scale_out;
    }

    const Communicator& communicator_;
    const Fabric& fabric_;
    const std::vector<RankId>& ranks_;
    std::vector<VertexId> gpus_ = {};
    std::set<VertexId> nics_ = {};
    std::vector<Bandwidth> ways_out_ = {};  // by place: scale-out links and NICs; 0 if the GPU has none of its own
    bool inside_by_scale_up_ = false;
    bool has_root_ = false;
};

/// The least latency of any path from one rank to another: a search from all ranks at once, until paths that met in the
/// middle cannot be beaten.
Seconds least_latency(const Communicator& communicator) {
    const Fabric& fabric = communicator.fabric();
    constexpr double far = std::numeric_limits<double>::infinity();
    struct Mark {
        double latency = std::numeric_limits<double>::infinity();
        VertexId source{};
    };
    std::vector<Mark> marks(fabric.vertex_count());
    using Entry = std::pair<double, VertexId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    double least = far;
    const auto expand = [&](VertexId vertex) {
        const Mark from = marks[index(vertex)];
        for (const LinkId link : fabric.links_out_of(vertex)) {
            const VertexId to = fabric.to(link);
            const double latency = from.latency + fabric.link(link).latency.value;
            Mark& mark = marks[index(to)];
            const bool passes = fabric.vertex(to).relays || mark.latency == 0;
            if (mark.latency < far && mark.source != from.source && passes) {
                least = std::min(least, latency + mark.latency);
            }
            if (latency < mark.latency && fabric.vertex(to).relays) {
                mark = {latency, from.source};
                queue.emplace(latency, to);
            }
        }
    };
    for (const VertexId gpu : communicator.gpus()) {
        marks[index(gpu)] = {0.0, gpu};
    }
    for (const VertexId gpu : communicator.gpus()) {
        expand(gpu);
    }
    while (!queue.empty() && 2 * queue.top().first < least) {
        const auto [latency, vertex] = queue.top();
        queue.pop();
        if (latency == marks[index(vertex)].latency) {
            expand(vertex);
        }
    }
    return {least < far ? least : 0.0};
}

/// Adds what `rank` must send, where the operation says to whom, to the parties it leaves and enters.
void count_addressed(const Communicator& communicator, const Request& request, const Permutation* permutation,
                     RankId rank, std::vector<Party>& gpus_by_rank, std::vector<Party>& nodes) {
    const auto count = [&](RankId to, double bytes) {
        if (to == rank) {
            return;
        }
        gpus_by_rank[index(rank)].sent += bytes;
        gpus_by_rank[index(to)].received += bytes;
        const std::size_t from_node = communicator.node_of(rank);
        const std::size_t to_node = communicator.node_of(to);
        if (from_node != to_node) {
            nodes[from_node].sent += bytes;
            nodes[to_node].received += bytes;
        }
    };
    const std::size_t ranks = communicator.size();
    if (request.operation == Operation::send_recv) {
        count(id_at<RankId>((index(rank) + 1) % ranks), static_cast<double>(request.bytes.value));
    } else if (permutation != nullptr) {
        count(permutation->to(rank), static_cast<double>(request.bytes.value));
    } else if (request.operation == Operation::all_to_all_v) {
        for (std::size_t to = 0; to < ranks; ++to) {
            const auto peer = id_at<RankId>(to);
            count(peer, static_cast<double>(request.sizes->at(rank, peer).value));
        }
    }
}

}  // namespace

Seconds lower_bound(const Communicator& communicator, const Request& request) {
    const std::size_t ranks = communicator.size();
    const bool moves_nothing = request.bytes.value == 0 && request.operation != Operation::barrier;
    if (ranks == 1 || moves_nothing) {
        return {};
    }
    // Simulated blocks are equal, fractions of bytes included; where real ones are not, the largest are larger.
    const double block = static_cast<double>(request.bytes.value) / static_cast<double>(ranks);
    std::vector<Party> gpus(ranks);  // by rank
    std::vector<Party> nodes;
    for (std::size_t j = 0; j < communicator.nodes().size(); ++j) {
        const NodeParties parties(communicator, j, request.root);
        nodes.push_back(parties.node());
        for (std::size_t place = 0; place < communicator.nodes()[j].size(); ++place) {
            const RankId rank = communicator.nodes()[j][place];
            gpus[index(rank)] = parties.gpu(place, request.root);
            gpus[index(rank)].blocks = block;
            nodes.back().blocks += gpus[index(rank)].blocks;
        }
    }
    std::optional<Permutation> permutation;
    if (request.operation == Operation::permutation) {
        permutation.emplace(static_cast<std::uint32_t>(ranks), request.traffic);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        count_addressed(communicator, request, permutation ? &*permutation : nullptr, id_at<RankId>(rank), gpus, nodes);
    }
    const auto sends = [](const Party& party) { return party.sent > 0; };
    if (request.operation == Operation::all_to_all_v && std::none_of(gpus.begin(), gpus.end(), sends)) {
        return {};  // everybody has data for itself only
    }
    const Vector vector{static_cast<double>(request.bytes.value), static_cast<double>(ranks)};
    const Reducers reducers = reducers_of(communicator);
    return least_latency(communicator) +
           std::max(crossing_time(request.operation, gpus, vector, reducers.among_gpus),
                    crossing_time(request.operation, nodes, vector, reducers.among_nodes));
}

}  // namespace lockstep::collective
