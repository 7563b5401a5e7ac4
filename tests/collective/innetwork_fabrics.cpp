#include "tests/collective/innetwork_fabrics.h"

#include <vector>

#include "tests/replay/star.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace lockstep::collective {

using fabric::Tier;
using fabric::VertexKind;

fabric::Fabric network(const Network& shape) {
    fabric::FabricBuilder builder("network");
    const auto link = [](Bandwidth rate, double latency, Tier tier) {
        return fabric::Link{.bandwidth = rate, .line_rate = rate, .latency = {latency}, .tier = tier};
    };
    std::vector<VertexId> spines;
    for (std::uint32_t s = 0; s < shape.spines; ++s) {
        spines.push_back(builder.add(
            {.name = fmt::format("spine{}", s), .kind = VertexKind::switch_, .reduces = shape.spines_reduce}));
    }
    const std::uint32_t rails = shape.gpus_in_node * shape.nics_of_gpu;
    std::uint32_t node_number = 0;
    for (std::uint32_t unit = 0; unit < shape.leaves; ++unit) {
        std::vector<VertexId> leaves;
        for (std::uint32_t r = 0; r < rails; ++r) {
            leaves.push_back(builder.add({.name = fmt::format("leaf{}.{}", unit, r),
                                          .kind = VertexKind::switch_,
                                          .reduces = shape.leaves_reduce}));
            for (const VertexId spine : spines) {
                builder.connect(leaves.back(), spine, link(shape.nic, 2e-6, Tier::scale_out));
            }
        }
        for (std::uint32_t n = 0; n < shape.nodes_on_leaf; ++n, ++node_number) {
            const auto node = builder.add_node();
            std::vector<VertexId> gpus;
            for (std::uint32_t g = 0; g < shape.gpus_in_node; ++g) {
                gpus.push_back(
                    builder.add({.name = fmt::format("node{}.gpu{}", node_number, g), .node = node, .relays = false}));
                for (std::uint32_t k = 0; k < shape.nics_of_gpu; ++k) {
                    const std::uint32_t rail = g * shape.nics_of_gpu + k;
                    const auto nic = builder.add({.name = fmt::format("node{}.nic{}", node_number, rail),
                                                  .kind = VertexKind::nic,
                                                  .node = node});
                    builder.connect(gpus.back(), nic, link(shape.inside_rate, 1e-7, Tier::host));
                    builder.connect(nic, leaves[rail], link(shape.nic, 1e-6, Tier::scale_out));
                }
            }
            if (shape.inside == Island::full_mesh) {
                for (std::size_t a = 0; a < gpus.size(); ++a) {
                    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
                        builder.connect(gpus[a], gpus[b], link(shape.inside_rate, 1e-7, Tier::scale_up));
                    }
                }
            } else if (shape.gpus_in_node > 1) {
                const auto hub = builder.add({.name = fmt::format("node{}.nvswitch", node_number),
                                              .kind = VertexKind::switch_,
                                              .node = node,
                                              .reduces = shape.inside == Island::reducing});
                for (const VertexId gpu : gpus) {
                    builder.connect(gpu, hub, link(shape.inside_rate, 1e-7, Tier::scale_up));
                }
            }
        }
    }
    return builder.build();
}

replay::CollectiveRun run_on(const Communicator& communicator, const Request& request, const char* algorithm,
                             const engine::EngineKind& kind) {
    test::Bench bench(communicator.fabric(), kind);
    return replay::run_collective(communicator, request, algorithm, bench.settings);
}

const engine::EngineKind& each_engine() {
    return GENERATE(from_range(engine::engines().begin(), engine::engines().end()));
}

}  // namespace lockstep::collective
