#include "sim/fabric/assembly.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::fabric {

namespace {

// A file names a handful of devices, and neighbours are mostly alike: looking further back costs more than an entry.
constexpr std::ptrdiff_t remembered_kinds = 16;

}  // namespace

Sockets sockets_of(const SwitchModel& model) {
    return {.crossing = model.latency, .ports = model.ports, .port_rate = model.port_rate};
}

Sockets sockets_of(const NicModel& nic) { return {.crossing = nic.latency, .total_rate = nic.rate}; }

Sockets sockets_of(const HostModel& host) { return {.crossing = host.latency}; }

void Assembly::require_room_for_gpus(std::uint64_t more, const YamlValue& cause) const {
    if (gpus_ + more > Limits::gpus) {
        cause.fail(fmt::format("more than {} GPUs in one fabric", Limits::gpus));
    }
}

void Assembly::require_room_for_devices(std::uint64_t more, const YamlValue& cause) const {
    if (kind_of_.size() + more > Limits::vertices) {
        cause.fail(fmt::format("more than {} devices in one fabric", Limits::vertices));
    }
}

void Assembly::require_room_for_links(std::uint64_t more, const YamlValue& cause) const {
    if (links_ + more > Limits::cables) {
        cause.fail(fmt::format("more than {} links in one fabric", Limits::cables));
    }
}

VertexId Assembly::add(Vertex vertex, const Sockets& sockets, const YamlValue& cause) {
    if (vertex.kind == VertexKind::gpu) {
        require_room_for_gpus(1, cause);
        ++gpus_;
    }
    require_room_for_devices(1, cause);
    const auto last = kinds_.rbegin() + std::min(remembered_kinds, std::ssize(kinds_));
    const auto known = std::find(kinds_.rbegin(), last, sockets);
    std::size_t kind = static_cast<std::size_t>(kinds_.rend() - known) - 1;
    if (known == last) {
        kind = kinds_.size();
        kinds_.push_back(sockets);
    }
    kind_of_.push_back(static_cast<std::uint32_t>(kind));
    cables_.push_back(0);
    to_network_.emplace_back();
    return builder_.add(std::move(vertex));
}

void Assembly::connect(VertexId a, VertexId b, const LinkSpec& spec, std::uint32_t cables, const YamlValue& cause) {
    const std::uint32_t edges = spec.striped ? 1 : cables;
    require_room_for_links(edges, cause);
    links_ += edges;
    plug_in(a, b, spec, cables, cause);
    plug_in(b, a, spec, cables, cause);
    Link link{.bandwidth = spec.model.bandwidth * spec.model.efficiency,
              .line_rate = spec.model.bandwidth,
              .efficiency = spec.model.efficiency,
              .latency = spec.model.latency + (sockets(a).crossing + sockets(b).crossing) / 2,
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

void Assembly::plug_in(VertexId end, VertexId other, const LinkSpec& spec, std::uint32_t cables,
                       const YamlValue& cause) {
    const Sockets& sockets = this->sockets(end);
    const Vertex& vertex = builder_.vertex(end);
    const std::string& device = vertex.device.empty() ? vertex.name : vertex.device;
    if (sockets.port_rate && faster(spec.model.bandwidth, *sockets.port_rate)) {
        cause.fail(fmt::format("a cable of {} is faster than a port of {} ({})", to_text(spec.model.bandwidth), device,
                               to_text(*sockets.port_rate)));
    }
    cables_[index(end)] += cables;
    if (sockets.ports && cables_[index(end)] > *sockets.ports && !overflow_) {
        overflow_ = {end, cause};
    }
    // What leads into the machine has a rate of its own.
    const VertexKind kind = builder_.vertex(other).kind;
    if (!sockets.total_rate || spec.tier != Tier::scale_out || spec.model.kind == LinkKind::pcie ||
        kind == VertexKind::gpu || kind == VertexKind::host) {
        return;
    }
    Bandwidth& sum = to_network_[index(end)];
    const bool first = sum.value == 0;
    sum += spec.model.bandwidth * cables;
    if (faster(sum, *sockets.total_rate)) {
        cause.fail(fmt::format("{} of {} {} faster than {} ({})",
                               first ? "a link" : fmt::format("links of {}", vertex.name),
                               fmt::format("{}{}", to_text(sum), first ? "" : " in all"), first ? "is" : "are", device,
                               to_text(*sockets.total_rate)));
    }
}

void Assembly::require_ports() const {
    if (overflow_) {
        const Vertex& vertex = builder_.vertex(overflow_->vertex);
        overflow_->cause.fail(fmt::format(
            "{} needs {} ports for its links, but {} has {}", vertex.name, cables_[index(overflow_->vertex)],
            vertex.device.empty() ? "the switch" : vertex.device, *sockets(overflow_->vertex).ports));
    }
}

}  // namespace lockstep::fabric
