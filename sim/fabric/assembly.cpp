#include "sim/fabric/assembly.h"

#include <fmt/format.h>

namespace lockstep::fabric {

void Assembly::require_room_for_gpus(std::uint64_t more, const YamlValue& cause) const {
    if (gpus_ + more > Limits::gpus) {
        cause.fail(fmt::format("more than {} GPUs in one fabric", Limits::gpus));
    }
}

void Assembly::require_room_for_devices(std::uint64_t more, const YamlValue& cause) const {
    if (crossing_.size() + more > Limits::vertices) {
        cause.fail(fmt::format("more than {} devices in one fabric", Limits::vertices));
    }
}

void Assembly::require_room_for_links(std::uint64_t more, const YamlValue& cause) const {
    if (links_ + more > Limits::cables) {
        cause.fail(fmt::format("more than {} links in one fabric", Limits::cables));
    }
}

VertexId Assembly::add(Vertex vertex, Seconds crossing, const YamlValue& cause) {
    if (vertex.kind == VertexKind::gpu) {
        require_room_for_gpus(1, cause);
        ++gpus_;
    }
    require_room_for_devices(1, cause);
    crossing_.push_back(crossing);
    return builder_.add(std::move(vertex));
}

void Assembly::connect(VertexId a, VertexId b, const LinkSpec& spec, std::uint32_t cables, const YamlValue& cause) {
    const std::uint32_t edges = spec.striped ? 1 : cables;
    require_room_for_links(edges, cause);
    links_ += edges;
    Link link{.bandwidth = spec.model.bandwidth * spec.model.efficiency,
              .line_rate = spec.model.bandwidth,
              .efficiency = spec.model.efficiency,
              .latency = spec.model.latency + (crossing_[index(a)] + crossing_[index(b)]) / 2,
              .kind = spec.model.kind,
              .tier = spec.tier};
    if (spec.striped) {
        link.bandwidth = link.bandwidth * cables;
        link.cables = cables;
    }
    for (std::uint32_t i = 0; i < edges; ++i) {
        builder_.connect(a, b, link);
    }
}

}  // namespace lockstep::fabric
