#include "sim/replay/scripts.h"

namespace lockstep::replay {

using workload::CallId;
using workload::CollectiveCall;
using workload::TaskGraph;

bool costs_nothing(const TaskGraph& graph, const CollectiveCall& call) {
    const bool moves_nothing =
        call.request.bytes.value == 0 && call.request.operation != collective::Operation::barrier;
    return moves_nothing || graph.communicators[call.communicator].size() == 1;
}

Scripts::Scripts(const fabric::Fabric& fabric, const Units& units, const TaskGraph& graph, const Settings& settings)
    : fabric_(&fabric),
      units_(&units),
      graph_(&graph),
      choices_(units, graph, settings),
      communicators_(graph.communicators.size()) {
    script_of_call_.reserve(graph.calls.size());
    for (const CollectiveCall& call : graph.calls) {
        script_of_call_.push_back(costs_nothing(graph, call) ? none : script_for(call));
    }
}

std::uint32_t Scripts::script_for(const CollectiveCall& call) {
    const auto key = std::make_tuple(call.communicator, call.request.operation, call.request.bytes.value,
                                     index(call.request.root), call.algorithm);
    const auto [entry, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(scripts_.size()));
    if (fresh) {
        auto& ranks = communicators_[call.communicator];
        if (!ranks) {
            std::vector<VertexId> gpus;
            for (const RankId rank : graph_->communicators[call.communicator]) {
                gpus.push_back(units_->gpu(rank));
            }
            ranks = std::make_unique<collective::Communicator>(*fabric_, std::move(gpus));
        }
        Script made{.communicator = call.communicator, .algorithm = call.algorithm, .bytes = call.request.bytes};
        if (call.schedule) {
            made.schedule = *call.schedule;
        } else {
            const collective::Algorithm& algorithm =
                choices_.chosen(*ranks, call.communicator, call.request, call.algorithm);
            made.algorithm = algorithm.name;
            made.schedule = algorithm.make(*ranks, call.request);
        }
        scripts_.push_back(std::make_unique<const Script>(std::move(made)));
    }
    return entry->second;
}

}  // namespace lockstep::replay
