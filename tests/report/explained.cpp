#include "tests/report/explained.h"

#include <fmt/format.h>

#include "sim/engine/engines.h"
#include "sim/replay/replay.h"

namespace lockstep::report::testing {

using namespace lockstep::literals;

fabric::Fabric reducing_star(const std::string& name, std::size_t gpus) {
    fabric::FabricBuilder builder(name);
    std::vector<VertexId> ids;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        ids.push_back(builder.add({.name = fmt::format("gpu{}", gpu), .node = builder.add_node()}));
    }
    const VertexId hub = builder.add({.name = "switch0", .kind = fabric::VertexKind::switch_, .reduces = true});
    for (const VertexId gpu : ids) {
        builder.connect(gpu, hub, {.bandwidth = 50_GBps, .line_rate = 50_GBps, .latency = 1.0_us});
    }
    return builder.build();
}

Explained::Explained(const std::string& algorithm, std::size_t ranks, collective::Request request)
    : fabric_(reducing_star("star", ranks)),
      communicator_(fabric_, collective::default_placement(fabric_, std::nullopt)),
      router_(fabric_, fabric_.routing(), 1),
      request_(std::move(request)),
      schedule_(collective::algorithm_named(algorithm).make(communicator_, request_)) {
    explanation_.emplace(explain({communicator_, schedule_, request_, router_, "of a test",
                                  collective::algorithm_named(algorithm).cost(communicator_, request_)}));
    replay::Settings settings;
    settings.make_engine = engine::engines().front().make;
    settings.router = &router_;
    explanation_->run = replay::run_schedule(communicator_, schedule_, request_.bytes, settings);
}

Explained::Explained(collective::Schedule schedule, Bytes bytes, const std::string& fabric_name)
    : fabric_(reducing_star(fabric_name, schedule.ranks)),
      communicator_(fabric_, collective::default_placement(fabric_, std::nullopt)),
      router_(fabric_, fabric_.routing(), 1),
      request_({.operation = schedule.operation, .bytes = bytes, .root = schedule.root}),
      schedule_(std::move(schedule)) {
    explanation_.emplace(explain({communicator_, schedule_, request_, router_}));
}

}  // namespace lockstep::report::testing
