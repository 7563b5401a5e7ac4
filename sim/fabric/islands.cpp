#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "sim/fabric/grid.h"
#include "sim/fabric/node_plan.h"

namespace lockstep::fabric {

namespace {

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc() && result.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Reads `3` or `0-3` and appends the GPUs of those numbers.
void append_gpus(const NodePlan& plan, const YamlValue& value, std::vector<bool>& taken,
                 std::vector<std::uint32_t>& gpus) {
    const std::string text = value.text();
    const std::size_t dash = text.find('-');
    const auto first = number_in(std::string_view(text).substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_in(std::string_view(text).substr(dash + 1));
    if (!first || !last || *last < *first) {
        value.fail(fmt::format("expected the number of a GPU such as `3`, or a range such as `0-3`, got `{}`", text));
    }
    if (*last >= plan.gpus.size()) {
        value.fail(fmt::format("there is no GPU {}: the node has {} (0 to {})", *last, plan.gpus.size(),
                               plan.gpus.size() - 1));
    }
    for (std::uint32_t i = *first; i <= *last; ++i) {
        if (taken[i]) {
            value.fail(fmt::format("GPU {} is named twice", i));
        }
        taken[i] = true;
        gpus.push_back(plan.gpus[i]);
    }
}

/// The island's GPUs: those of `gpus`, or all of the node.
std::vector<std::uint32_t> member_gpus(const NodePlan& plan, YamlMap& map) {
    const auto value = map.find("gpus");
    if (!value) {
        return plan.gpus;
    }
    std::vector<std::uint32_t> gpus;
    std::vector<bool> taken(plan.gpus.size(), false);
    if (value->is_list()) {
        for (const YamlValue& item : value->list()) {
            append_gpus(plan, item, taken, gpus);
        }
    } else {
        append_gpus(plan, *value, taken, gpus);
    }
    if (gpus.empty()) {
        value->fail("expected at least one GPU");
    }
    return gpus;
}

/// A GPU's cables on each plane: as listed, or even, the first planes taking what is left over.
std::vector<std::uint32_t> cables_by_plane(YamlMap& map, std::uint32_t planes, std::uint32_t cables) {
    if (const auto listed = map.find("per_plane")) {
        std::vector<std::uint32_t> counts = read_counts(*listed, planes, "plane", 1, 4096);
        const std::uint32_t sum = std::accumulate(counts.begin(), counts.end(), 0U);
        if (sum != cables) {
            listed->fail(fmt::format("the entries add up to {}, but a GPU has {} cables", sum, cables));
        }
        return counts;
    }
    std::vector<std::uint32_t> counts(planes, cables / planes);
    std::fill_n(counts.begin(), cables % planes, cables / planes + 1);
    return counts;
}

void add_switched(NodePlan& plan, YamlMap& map, const Catalogue& catalogue) {
    const std::vector<std::uint32_t> gpus = member_gpus(plan, map);
    const auto planes_value = map.find("planes");
    const std::uint32_t planes = planes_value ? read_count(*planes_value, 1, 4096) : 1;
    const YamlValue switch_value = map.require("switch");
    const SwitchModel model = read_switch(switch_value, catalogue);
    const YamlValue link_value = map.require("link");
    const LinkSpec link = read_link(link_value, catalogue, Tier::scale_up);
    require_port_rate(link, model, link_value);
    if (link.cables < planes) {
        link_value.fail(fmt::format("{} cables of a GPU do not reach {} planes", link.cables, planes));
    }
    const std::vector<std::uint32_t> cables = cables_by_plane(map, planes, link.cables);
    const std::uint32_t spec = plan.add_spec(link);
    for (std::uint32_t p = 0; p < planes; ++p) {
        const std::uint64_t needed = std::uint64_t{cables[p]} * gpus.size();
        if (model.ports && needed > *model.ports) {
            switch_value.fail(fmt::format("plane {} needs {} ports ({} GPUs with {} cables each), but {} has {}", p,
                                          needed, gpus.size(), cables[p],
                                          model.name.empty() ? "the switch" : model.name, *model.ports));
        }
        const std::uint32_t plane = plan.add({.name = fmt::format("switch{}", plan.island_switches++),
                                              .kind = VertexKind::switch_,
                                              .device = model.name,
                                              .reduces = model.reduces},
                                             sockets_of(model), switch_value);
        for (const std::uint32_t gpu : gpus) {
            plan.connect(gpu, plane, spec, cables[p], link_value);
        }
    }
}

void add_mesh(NodePlan& plan, YamlMap& map, const Catalogue& catalogue) {
    const std::vector<std::uint32_t> gpus = member_gpus(plan, map);
    const YamlValue link_value = map.require("link");
    const std::uint32_t spec = plan.add_spec(read_link(link_value, catalogue, Tier::scale_up));
    plan.require_room_for(std::uint64_t{gpus.size()} * (gpus.size() - 1) / 2, link_value);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        for (std::size_t j = i + 1; j < gpus.size(); ++j) {
            plan.connect(gpus[i], gpus[j], spec, plan.specs[spec].cables, link_value);
        }
    }
}

void add_matrix(NodePlan& plan, const YamlValue& matrix, const std::vector<std::uint32_t>& gpus, std::uint32_t spec) {
    const std::vector<YamlValue> rows = matrix.list();
    if (rows.size() != gpus.size()) {
        matrix.fail(fmt::format("expected {} rows, one per GPU, got {}", gpus.size(), rows.size()));
    }
    std::vector<std::vector<std::uint32_t>> cables;
    cables.reserve(rows.size());
    for (const YamlValue& row : rows) {
        cables.push_back(read_counts(row, gpus.size(), "GPU", 0, 4096));
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            const YamlValue entry = rows[i].list()[j];
            if (i == j && cables[i][i] != 0) {
                entry.fail(fmt::format("GPU {} has cables to itself", i));
            }
            if (cables[i][j] != cables[j][i]) {
                entry.fail(fmt::format("GPUs {} and {} have {} cables here, but {} in row {}", i, j, cables[i][j],
                                       cables[j][i], j));
            }
        }
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        for (std::size_t j = i + 1; j < gpus.size(); ++j) {
            if (cables[i][j] > 0) {
                plan.connect(gpus[i], gpus[j], spec, cables[i][j], rows[i]);
            }
        }
    }
}

void add_listed(NodePlan& plan, const YamlValue& links, const std::optional<LinkSpec>& base,
                const Catalogue& catalogue) {
    for (const YamlValue& item : links.list()) {
        YamlMap map = item.map();
        const YamlValue between = map.require("between");
        const std::vector<YamlValue> ends = between.list();
        if (ends.size() != 2) {
            between.fail(fmt::format("expected two names such as `[gpu0, gpu1]`, got {}", ends.size()));
        }
        const LinkSpec link = read_link_fields(map, catalogue, base ? base->tier : Tier::scale_up, base);
        map.finish();
        const std::uint32_t a = plan.find(ends[0]);
        const std::uint32_t b = plan.find(ends[1]);
        const LinkSpec placed = placed_inside(link, plan.points[a].vertex.kind, plan.points[b].vertex.kind);
        plan.connect(a, b, plan.add_spec(placed), link.cables, item);
    }
}

void add_links(NodePlan& plan, YamlMap& map, const Catalogue& catalogue) {
    std::optional<LinkSpec> base;
    if (const auto link = map.find("link")) {
        base = read_link(*link, catalogue, Tier::scale_up);
    }
    const auto count = map.find("count");
    const std::size_t before = plan.wires.size();
    if (const auto matrix = map.find("matrix")) {
        const std::vector<std::uint32_t> gpus = member_gpus(plan, map);
        if (!base) {
            map.require("link");
        }
        add_matrix(plan, *matrix, gpus, plan.add_spec(*base));
    } else {
        add_listed(plan, map.require("links"), base, catalogue);
    }
    if (count) {
        const std::uint32_t declared = read_count(*count, 0, Limits::cables);
        if (declared != plan.wires.size() - before) {
            count->fail(fmt::format("{} links are declared, but {} are listed", declared, plan.wires.size() - before));
        }
    }
}

/// The number of a device that is given as a bare count or as a mapping with `count`.
std::uint32_t counted(const YamlValue& value, std::optional<YamlMap>& map) {
    if (!value.is_map()) {
        return read_count(value, 0, 4096);
    }
    map = value.map();
    return read_count(map->require("count"), 0, 4096);
}

void add_pcie_tree(NodePlan& plan, YamlMap& map, const Catalogue& catalogue) {
    std::vector<std::uint32_t> gpus = member_gpus(plan, map);
    const YamlValue link_value = map.require("link");
    const std::uint32_t link = plan.add_spec(read_link(link_value, catalogue, Tier::host));

    const YamlValue hosts_value = map.require("hosts");
    std::optional<YamlMap> fields;
    const std::uint32_t host_count = counted(hosts_value, fields);
    HostModel host;
    if (fields) {
        host = read_host_fields(*fields, catalogue);
        fields->finish();
    }
    if (host_count == 0) {
        hosts_value.fail("a PCIe tree needs at least one host");
    }
    std::vector<std::uint32_t> parents;
    for (std::uint32_t h = 0; h < host_count; ++h) {
        parents.push_back(
            plan.add({.name = fmt::format("host{}", plan.hosts.size()), .kind = VertexKind::host, .device = host.name},
                     sockets_of(host), hosts_value));
        plan.hosts.push_back(parents.back());
    }
    if (const auto value = map.find("host_link")) {
        const std::uint32_t spec = plan.add_spec(read_link(*value, catalogue, Tier::host));
        for (std::uint32_t a = 0; a < host_count; ++a) {
            for (std::uint32_t b = a + 1; b < host_count; ++b) {
                plan.connect(parents[a], parents[b], spec, plan.specs[spec].cables, *value);
            }
        }
    }

    const auto hang = [&plan](const std::vector<std::uint32_t>& on, std::size_t i, std::size_t n, std::uint32_t child,
                              std::uint32_t spec, const YamlValue& cause) {
        plan.connect(on[i * on.size() / n], child, spec, plan.specs[spec].cables, cause);
    };
    if (const auto switches_value = map.find("switches")) {
        fields.reset();
        const std::uint32_t switch_count = counted(*switches_value, fields);
        SwitchModel model;
        if (fields) {
            model = read_switch_fields(*fields, catalogue);
            fields->finish();
        }
        const YamlValue uplink_value = map.require("uplink");
        const std::uint32_t uplink = plan.add_spec(read_link(uplink_value, catalogue, Tier::host));
        std::vector<std::uint32_t> switches;
        for (std::uint32_t s = 0; s < switch_count; ++s) {
            switches.push_back(plan.add({.name = fmt::format("pcie{}", plan.pcie_switches.size()),
                                         .kind = VertexKind::switch_,
                                         .device = model.name},
                                        sockets_of(model), *switches_value));
            plan.pcie_switches.push_back(switches.back());
            hang(parents, s, switch_count, switches.back(), uplink, uplink_value);
        }
        if (!switches.empty()) {
            parents = std::move(switches);
        }
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        hang(parents, g, gpus.size(), gpus[g], link, link_value);
    }
}

void add_torus(NodePlan& plan, YamlMap& map, const Catalogue& catalogue) {
    const std::vector<std::uint32_t> gpus = member_gpus(plan, map);
    const YamlValue link_value = map.require("link");
    const std::uint32_t spec = plan.add_spec(read_link(link_value, catalogue, Tier::scale_up));
    const Grid grid = read_grid(map, gpus.size(), "GPUs");
    if (!plan.points[gpus.front()].vertex.relays) {
        map.self().fail("the GPUs of a torus forward each other's traffic: they need `relay: true`");
    }
    for (const Grid::Step& step : grid.steps()) {
        plan.connect(gpus[step.from], gpus[step.to], spec, plan.specs[spec].cables * step.cables, link_value);
    }
}

}  // namespace

void add_island(NodePlan& plan, const YamlValue& value, const Catalogue& catalogue) {
    static const std::vector<std::string> kinds{"switched", "mesh", "links", "pcie-tree", "torus"};
    YamlMap map = value.map();
    const std::string kind = map.require("kind").one_of(kinds);
    if (kind == "switched") {
        add_switched(plan, map, catalogue);
    } else if (kind == "mesh") {
        add_mesh(plan, map, catalogue);
    } else if (kind == "links") {
        add_links(plan, map, catalogue);
    } else if (kind == "torus") {
        add_torus(plan, map, catalogue);
    } else {
        add_pcie_tree(plan, map, catalogue);
    }
    map.finish();
}

}  // namespace lockstep::fabric
