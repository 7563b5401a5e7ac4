#include <bit>

#include "sim/base/diagnostics.h"
#include "sim/replay/choice.h"

namespace lockstep::replay {

namespace {

/// Numbers things in the order in which they are first seen.
template <class Key>
class Numbering {
  public:
    std::uint64_t operator()(const Key& key) { return known_.try_emplace(key, known_.size()).first->second; }

  private:
    std::map<Key, std::size_t> known_;
};

}  // namespace

ChoiceMemory::ChoiceMemory(const Units& units, const workload::TaskGraph& graph, const Settings& settings)
    : units_(&units), settings_(&settings), descriptions_(graph.communicators.size()) {
    for (const auto& members : graph.communicators) {
        ++communicators_of_size_[members.size()];
    }
}

const Digest& ChoiceMemory::description(const collective::Communicator& communicator, std::uint32_t at) {
    std::optional<Digest>& known = descriptions_[at];
    if (known) {
        return *known;
    }
    known = mix(Digest{}, communicator.size());
    if (communicators_of_size_[communicator.size()] == 1) {
        return *known;  // there is none that it could be like
    }
    Numbering<std::uint32_t> units;
    Numbering<LinkId> links;
    const fabric::Fabric& fabric = communicator.fabric();
    for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
        const VertexId gpu = communicator.gpu(id_at<RankId>(rank));
        const VertexId next = communicator.gpu(id_at<RankId>((rank + 1) % communicator.size()));
        const std::uint32_t unit = units_->of(gpu);
        known = mix(mix(mix(*known, units(unit)), units_->place(gpu)), units_->hardware(unit));
        if (units_->of(next) == unit || settings_->router->policy() == fabric::RoutingPolicy::adaptive) {
            continue;
        }
        try {
            const fabric::Route& route = settings_->router->route(gpu, next, 0, {});
            known = mix(*known, std::bit_cast<std::uint64_t>(route.latency.value));
            for (const fabric::RouteShare& share : route.links) {
                known = mix(mix(*known, links(share.link)), std::bit_cast<std::uint64_t>(share.share));
                known = mix(*known, std::bit_cast<std::uint64_t>(fabric.link(share.link).bandwidth.value));
            }
        } catch (const SimulationError&) {  // no path joins them: an algorithm may not need one
            known = mix(*known, UINT64_MAX);
        }
    }
    return *known;
}

const collective::Algorithm& ChoiceMemory::chosen(const collective::Communicator& communicator, std::uint32_t at,
                                                  const collective::Request& request, std::string_view name) {
    if (name != "auto") {
        return chosen_algorithm(communicator, request, name, *settings_);
    }
    const auto key =
        std::make_tuple(description(communicator, at), request.operation, request.bytes.value, index(request.root));
    const auto known = known_.find(key);
    if (known != known_.end()) {
        return *known->second;
    }
    const collective::Algorithm& algorithm = chosen_algorithm(communicator, request, name, *settings_);
    known_.emplace(key, &algorithm);
    return algorithm;
}

}  // namespace lockstep::replay
