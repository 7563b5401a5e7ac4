#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/fabric/route.h"
#include "sim/fabric/route_choice.h"
#include "sim/fabric/route_dag.h"
#include "sim/fabric/route_fabric.h"
#include "sim/fabric/route_gateways.h"
#include "sim/fabric/route_in_switch.h"
#include "sim/fabric/route_missing.h"
#include "sim/fabric/route_node.h"
#include "sim/fabric/route_sum.h"
#include "sim/fabric/route_table.h"

namespace lockstep::fabric {
namespace {

std::uint64_t scramble(std::uint64_t value) {
    value = (value ^ (value >> 32U)) * 0x9e3779b97f4a7c15U;
    return value ^ (value >> 29U);
}

std::uint64_t pair_of(VertexId from, VertexId to) {
    return (std::uint64_t{index(from)} << 32U) | std::uint64_t{index(to)};
}

struct FlowKey {
    std::uint64_t pair = 0;
    std::uint32_t flow = 0;
    bool operator==(const FlowKey&) const = default;
};

struct HashPair {
    std::size_t operator()(std::uint64_t pair) const { return scramble(pair); }
    std::size_t operator()(const FlowKey& key) const { return scramble(scramble(key.pair) + key.flow); }
};

// Compares routes by the links they cross.
struct SameLinks {
    std::size_t operator()(const Route* route) const {
        std::uint64_t hash = route->links.size();
        for (const RouteShare& part : route->links) {
            hash = scramble(hash + index(part.link));
        }
        return hash;
    }
    bool operator()(const Route* a, const Route* b) const {
        return std::equal(
            a->links.begin(), a->links.end(), b->links.begin(), b->links.end(),
            [](const RouteShare& x, const RouteShare& y) { return x.link == y.link && x.share == y.share; });
    }
};

// One NIC of the source, the NIC of the destination it sends to, and the part of the flow it carries.
struct Stripe {
    const Gateway* out;
    const Gateway* in;
    double share;
};

}  // namespace

struct Router::Data {
    Data(const Fabric& fabric_of_run, RoutingPolicy policy_of_run, std::uint64_t seed_of_run)
        : fabric(fabric_of_run),
          policy(policy_of_run),
          seed(seed_of_run),
          near(fabric),
          across(fabric),
          gateways(fabric, near, across),
          reduction_trees(fabric, across, gateways),
          sum(fabric.link_count()) {}

    const Route& keep(Route route) { return routes.emplace_back(std::move(route)); }
    const Route& keep_once(Route route);
    const Route& keep_for_pair(VertexId from, VertexId to, Route route);
    const Route& in_switch(InSwitch operation, std::span<const VertexId> members, VertexId root);

    void check(VertexId from, VertexId to) const;
    bool find(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route);
    bool find_near(VertexId from, VertexId to, Route& route);
    bool find_across(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route);
    void find_stripes(VertexId from, VertexId to);
    void find_detour(VertexId from, VertexId to);
    Seconds add_stripe(const Stripe& stripe, std::uint32_t flow, LinkLoads loads, bool& has_choice);
    Seconds add_path(std::span<const LinkId> links, double share);
    Seconds add_dag(const PathDag& dag, const std::vector<double>& shares, double share);

    const Fabric& fabric;
    RoutingPolicy policy;
    std::uint64_t seed;
    NodeSearch near;
    FabricSearch across;
    Gateways gateways;
    ReductionTrees reduction_trees;
    RouteSum sum;

    std::deque<Route> routes;
    RouteTable<std::uint64_t, HashPair> of_pair;                      // whatever the flow
    RouteTable<FlowKey, HashPair> of_flow;                            // ecmp, where paths differ
    std::unordered_set<const Route*, SameLinks, SameLinks> distinct;  // what ecmp and adaptive have handed out
    std::map<std::tuple<InSwitch, VertexId, std::vector<VertexId>>, const Route*> of_group;
    // Of the route that is being found; kept, as they are needed millions of times.
    std::vector<Stripe> stripes;
    std::vector<LinkId> path;
    std::vector<Gateway> detour_out;  // what the stripes of a detour point at
    std::vector<Gateway> detour_in;
};

void Router::Data::check(VertexId from, VertexId to) const {
    for (const VertexId end : {from, to}) {
        if (index(end) >= fabric.vertex_count() || fabric.vertex(end).kind != VertexKind::gpu) {
            throw std::invalid_argument(fmt::format("route: vertex {} is no GPU of the fabric", index(end)));
        }
    }
    if (from == to) {
        throw std::invalid_argument(fmt::format("route: {} needs no route to itself", fabric.vertex(from).name));
    }
}

const Route& Router::Data::keep_once(Route route) {
    const auto known = distinct.find(&route);
    if (known != distinct.end()) {
        return **known;
    }
    const Route& kept = keep(std::move(route));
    distinct.insert(&kept);
    return kept;
}

const Route& Router::Data::keep_for_pair(VertexId from, VertexId to, Route route) {
    const Route& kept = keep(std::move(route));
    of_pair.insert(pair_of(from, to), &kept);
    return kept;
}

Seconds Router::Data::add_path(std::span<const LinkId> links, double share) {
    Seconds latency;
    for (const LinkId link : links) {
        sum.add(link, share);
        latency += fabric.link(link).latency;
    }
    return latency;
}

Seconds Router::Data::add_dag(const PathDag& dag, const std::vector<double>& shares, double share) {
    for (std::size_t s = 0; s < dag.steps.size(); ++s) {
        sum.add(dag.steps[s].link, shares[s] * share);
    }
    return slowest_path(dag, fabric);
}

// Links between the chips of an island interleave addresses in hardware, whatever the policy of the fabric; a transfer
// over PCIe takes one path. Returns: whether there is such a path.
bool Router::Data::find_near(VertexId from, VertexId to, Route& route) {
    const std::optional<NodeId>& node = fabric.vertex(from).node;
    const bool same_node = node && node == fabric.vertex(to).node;
    sum.restart();
    if (near.share_island(from, to)) {
        const PathDag dag = near.minimal_paths(from, to, same_node ? Reach::island : Reach::rack);
        if (dag.vertex_count() > 0) {
            route.latency = add_dag(dag, shares_by_bandwidth(dag, fabric), 1.0);
            route.links = sum.links();
            return true;
        }
    }
    if (same_node) {
        const PathDag dag = near.minimal_paths(from, to, Reach::machine);
        if (dag.vertex_count() > 0) {
            path.clear();
            append_first(dag, path);
            route.latency = add_path(path, 1.0);
            route.links = sum.links();
            return true;
        }
    }
    return false;
}

void Router::Data::find_stripes(VertexId from, VertexId to) {
    const std::span<const Gateway> out = gateways.owned_by(from);
    const std::span<const Gateway> in = gateways.owned_by(to);
    stripes.clear();
    Bandwidth total;
    for (std::size_t i = 0; i < out.size(); ++i) {
        // The same place in both lists is the same rail. Where that NIC is in another plane, the next one that is not.
        for (std::size_t n = 0; n < in.size(); ++n) {
            const Gateway& partner = in[(i + n) % in.size()];
            if (across.connects(across.at(out[i].endpoint), across.at(partner.endpoint))) {
                stripes.push_back({&out[i], &partner, out[i].bandwidth.value});
                total += out[i].bandwidth;
                break;
            }
        }
    }
    for (Stripe& stripe : stripes) {
        stripe.share = stripes.size() == 1 ? 1.0 : stripe.share / total.value;
    }
}

// Where the GPUs' own NICs do not meet (rails that are separate networks), the flow changes the rail inside a machine:
// the way of fewest links in the two machines together, and among equals inside the sender's, as NCCL does.
void Router::Data::find_detour(VertexId from, VertexId to) {
    detour_out = gateways.within_reach(from);
    detour_in = gateways.within_reach(to);
    std::optional<std::pair<std::size_t, std::size_t>> least;
    stripes.clear();
    for (const Gateway& in : detour_in) {
        for (const Gateway& out : detour_out) {
            const std::pair cost(in.access.size() + out.access.size(), in.access.size());
            if ((!least || cost < *least) && across.connects(across.at(out.endpoint), across.at(in.endpoint))) {
                least = cost;
                stripes.assign(1, {&out, &in, 1.0});
            }
        }
    }
}

Seconds Router::Data::add_stripe(const Stripe& stripe, std::uint32_t flow, LinkLoads loads, bool& has_choice) {
    Seconds latency = add_path(stripe.out->access, stripe.share);
    path.clear();
    if (stripe.out->endpoint != stripe.in->endpoint) {
        const Endpoint& out = across.at(stripe.out->endpoint);
        const Endpoint& in = across.at(stripe.in->endpoint);
        const auto note = [&](auto& choice) {
            return [&has_choice, &choice](VertexId at, const std::vector<Hop>& hops, std::uint32_t number,
                                          std::uint32_t left) {
                has_choice = has_choice || hops.size() > 1;
                return choice(at, hops, number, left);
            };
        };
        switch (policy) {
            case RoutingPolicy::static_: {
                StaticChoice choice(in);
                across.append_path(out, in, note(choice), path);
                break;
            }
            case RoutingPolicy::ecmp: {
                const EcmpChoice choice(seed, out.vertex, in.vertex, flow);
                across.append_path(out, in, note(choice), path);
                break;
            }
            case RoutingPolicy::spray: {
                const PathDag dag = across.minimal_paths(out, in);
                latency += add_dag(dag, shares_by_count(dag), stripe.share);
                break;
            }
            case RoutingPolicy::adaptive: {
                const bool chose = across.append_least_loaded(out, in, loads, path);
                has_choice = has_choice || chose;
                break;
            }
        }
    }
    std::transform(stripe.in->access.rbegin(), stripe.in->access.rend(), std::back_inserter(path),
                   [&](LinkId link) { return fabric.reverse(link); });
    return latency + add_path(path, stripe.share);
}

// Returns: whether it is one of several that flows or loads choose among.
bool Router::Data::find_across(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route) {
    find_stripes(from, to);
    if (stripes.empty()) {
        find_detour(from, to);
    }
    if (stripes.empty()) {
        throw SimulationError(why_no_path(fabric, from, to));
    }
    if (policy == RoutingPolicy::adaptive && loads.size() != fabric.link_count()) {
        throw std::invalid_argument(fmt::format("route: adaptive routing needs the load of each of {} links, got {}",
                                                fabric.link_count(), loads.size()));
    }
    bool has_choice = false;
    route.latency = {};
    sum.restart();
    for (const Stripe& stripe : stripes) {
        route.latency = std::max(route.latency, add_stripe(stripe, flow, loads, has_choice));
    }
    route.links = sum.links();
    return has_choice && (policy == RoutingPolicy::ecmp || policy == RoutingPolicy::adaptive);
}

bool Router::Data::find(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route) {
    check(from, to);
    return !find_near(from, to, route) && find_across(from, to, flow, loads, route);
}

const Route& Router::Data::in_switch(InSwitch operation, std::span<const VertexId> members, VertexId root) {
    std::tuple key(operation, root, std::vector<VertexId>(members.begin(), members.end()));
    const auto known = of_group.find(key);
    if (known != of_group.end()) {
        return *known->second;
    }
    const Route& kept = keep(reduction_trees.route(operation, members, root));
    of_group.emplace(std::move(key), &kept);
    return kept;
}

Router::Router(const Fabric& fabric, RoutingPolicy policy, std::uint64_t seed)
    : data_(std::make_unique<Data>(fabric, policy, seed)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

RoutingPolicy Router::policy() const { return data_->policy; }

std::uint64_t Router::seed() const { return data_->seed; }

const Route& Router::route(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads) {
    if (const Route* known = data_->of_pair.find(pair_of(from, to))) {
        return *known;
    }
    if (data_->policy == RoutingPolicy::ecmp) {
        if (const Route* known = data_->of_flow.find({pair_of(from, to), flow})) {
            return *known;
        }
    }
    Route route;
    const bool differs = data_->find(from, to, flow, loads, route);
    if (!differs) {
        return data_->keep_for_pair(from, to, std::move(route));
    }
    const Route& kept = data_->keep_once(std::move(route));
    if (data_->policy == RoutingPolicy::ecmp) {
        data_->of_flow.insert({pair_of(from, to), flow}, &kept);
    }
    return kept;
}

void Router::find_route(VertexId from, VertexId to, std::uint32_t flow, LinkLoads loads, Route& route) {
    data_->find(from, to, flow, loads, route);
}

const Route& Router::reduction_route(std::span<const VertexId> members, VertexId root) {
    return data_->in_switch(InSwitch::reduction, members, root);
}

const Route& Router::multicast_route(std::span<const VertexId> members, VertexId root) {
    return data_->in_switch(InSwitch::multicast, members, root);
}

const Route& Router::sum_route(std::span<const VertexId> members) {
    return data_->in_switch(InSwitch::sum, members, members.front());
}

bool Router::can_reduce_in_switch(std::span<const VertexId> members) const {
    return !members.empty() && !data_->reduction_trees.joining(members).empty();
}

}  // namespace lockstep::fabric
