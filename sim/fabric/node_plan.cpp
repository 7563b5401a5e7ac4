#include "sim/fabric/node_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::fabric {

namespace {

void read_gpus(NodePlan& plan, const YamlValue& value, const Catalogue& catalogue) {
    YamlMap map = value.map();
    const std::uint32_t count = read_count(map.require("count"), 1, Limits::gpus);
    const GpuModel model = read_gpu_fields(map, catalogue);
    const auto relay = map.find("relay");
    const bool relays = relay && relay->flag();
    map.finish();
    if (std::uint64_t{count} * plan.count > Limits::gpus) {
        value.fail(fmt::format("{} nodes of {} GPUs are more than {} GPUs", plan.count, count, Limits::gpus));
    }
    plan.models.push_back(model);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t gpu = plan.add({.name = fmt::format("gpu{}", plan.gpus.size()),
                                            .kind = VertexKind::gpu,
                                            .device = model.name,
                                            .relays = relays},
                                           Sockets{}, value);
        plan.points[gpu].model = static_cast<std::uint32_t>(plan.models.size() - 1);
        plan.gpus.push_back(gpu);
    }
}

/// What NICs hang on, by the word of `on`.
const std::vector<std::uint32_t>& carriers(const NodePlan& plan, const YamlValue& on) {
    static const std::vector<std::string> words{"gpu", "pcie-switch", "host"};
    const std::string word = on.one_of(words);
    const auto& found = word == "gpu" ? plan.gpus : word == "host" ? plan.hosts : plan.pcie_switches;
    if (found.empty()) {
        on.fail(fmt::format("the node has no {}; an island of kind `pcie-tree` makes them",
                            word == "host" ? "hosts" : "PCIe switches"));
    }
    return found;
}

void read_nics(NodePlan& plan, const YamlValue& value, const Catalogue& catalogue) {
    YamlMap map = value.map();
    const std::uint32_t count = read_count(map.require("count"), 1, 65'536);
    const NicModel model = read_nic_fields(map, catalogue);
    const auto& on = carriers(plan, map.require("on"));
    const std::uint32_t link = plan.add_spec(read_link(map.require("link"), catalogue, Tier::host));
    map.finish();
    plan.nic_models.push_back(model);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t nic =
            plan.add({.name = fmt::format("nic{}", plan.nics.size()), .kind = VertexKind::nic, .device = model.name},
                     sockets_of(model), value);
        plan.nics.push_back(nic);
        const std::size_t carrier = std::uint64_t{i} * on.size() / count;
        plan.connect(on[carrier], nic, link, plan.specs[link].cables, value);
    }
}

/// Calls `read` with the one mapping, or with each entry of a list of them.
template <class Read>
void one_or_many(const YamlValue& value, Read read) {
    if (value.is_list()) {
        for (const YamlValue& item : value.list()) {
            read(item);
        }
    } else {
        read(value);
    }
}

}  // namespace

std::uint32_t NodePlan::add(Vertex vertex, const Sockets& sockets, const YamlValue& cause) {
    if ((points.size() + 1) * std::uint64_t{count} > Limits::vertices) {
        cause.fail(fmt::format("more than {} devices in one fabric", Limits::vertices));
    }
    points.push_back({std::move(vertex), sockets, std::nullopt});
    return static_cast<std::uint32_t>(points.size() - 1);
}

std::uint32_t NodePlan::add_spec(const LinkSpec& spec) {
    specs.push_back(spec);
    return static_cast<std::uint32_t>(specs.size() - 1);
}

void NodePlan::connect(std::uint32_t a, std::uint32_t b, std::uint32_t spec, std::uint32_t cables,
                       const YamlValue& cause) {
    if (a == b) {
        cause.fail(fmt::format("link from {} to itself", points[a].vertex.name));
    }
    require_room_for(1, cause);
    if (causes.empty() || causes.back().path() != cause.path()) {
        causes.push_back(cause);
    }
    const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
    const auto [place, is_new] = joined_.emplace(key, static_cast<std::uint32_t>(causes.size() - 1));
    if (!is_new) {
        cause.fail(
            fmt::format("second link between {} and {} (the first is at {}); write several cables as one link "
                        "with `cables`",
                        points[a].vertex.name, points[b].vertex.name, to_text(causes[place->second].position())));
    }
    wires.push_back({a, b, spec, cables, static_cast<std::uint32_t>(causes.size() - 1)});
}

void NodePlan::require_room_for(std::uint64_t more, const YamlValue& cause) const {
    if ((wires.size() + more) * count > Limits::cables) {
        cause.fail(fmt::format("more than {} links in one fabric", Limits::cables));
    }
}

std::uint32_t NodePlan::find(const YamlValue& wanted_name) const {
    const std::string wanted = wanted_name.text();
    std::vector<std::string> known;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].vertex.name == wanted) {
            return static_cast<std::uint32_t>(i);
        }
        known.push_back(points[i].vertex.name);
    }
    wanted_name.fail(fmt::format("the node has no `{}`{}", wanted, suggestion(wanted, known)));
}

NodePlan read_node(const YamlValue& value, const Catalogue& catalogue) {
    YamlMap map = value.map();
    NodePlan plan;
    plan.count = read_count(map.require("count"), 1, Limits::gpus);
    if (const auto name = map.find("name")) {
        plan.name = name->text();
    }
    one_or_many(map.require("gpus"), [&](const YamlValue& gpus) { read_gpus(plan, gpus, catalogue); });
    if (const auto islands = map.find("islands")) {
        for (const YamlValue& island : islands->list()) {
            add_island(plan, island, catalogue);
        }
    }
    if (const auto nics = map.find("nics")) {
        one_or_many(*nics, [&](const YamlValue& some) { read_nics(plan, some, catalogue); });
    }
    map.finish();
    return plan;
}

void stamp(const NodePlan& plan, Assembly& assembly, Endpoints& endpoints, const YamlValue& cause) {
    const auto& ends = plan.nics.empty() ? plan.gpus : plan.nics;
    const bool alone = plan.points.size() == 1;  // such a node is its GPU, and is called so
    for (const NicModel& nic : plan.nic_models) {
        endpoints.nics.push_back(nic);
    }
    if (plan.nics.empty()) {
        for (const std::uint32_t gpu : plan.gpus) {
            endpoints.gpus_relay = endpoints.gpus_relay && plan.points[gpu].vertex.relays;
        }
    }
    std::vector<VertexId> ids(plan.points.size());
    for (std::uint32_t n = 0; n < plan.count; ++n) {
        const NodeId node = assembly.builder().add_node();
        for (std::size_t i = 0; i < plan.points.size(); ++i) {
            Vertex vertex = plan.points[i].vertex;
            vertex.name =
                alone ? fmt::format("gpu{}", index(node)) : fmt::format("{}{}.{}", plan.name, index(node), vertex.name);
            vertex.node = node;
            ids[i] = assembly.add(std::move(vertex), plan.points[i].sockets, cause);
            if (const auto model = plan.points[i].model) {
                assembly.builder().set_gpu_model(ids[i], plan.models[*model]);
            }
        }
        for (const NodePlan::Wire& wire : plan.wires) {
            assembly.connect(ids[wire.a], ids[wire.b], plan.specs[wire.spec], wire.cables, plan.causes[wire.cause]);
        }
        for (const std::uint32_t end : ends) {
            endpoints.all.push_back(ids[end]);
        }
        endpoints.node_start.push_back(static_cast<std::uint32_t>(endpoints.all.size()));
    }
}

}  // namespace lockstep::fabric
