#include "sim/report/topology_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/json_stream.h"
#include "sim/report/table.h"

namespace lockstep::report {

namespace {

constexpr std::size_t page_width = 100;

std::string plural(std::size_t count, std::string_view one) {
    return fmt::format("{} {}{}", grouped(static_cast<double>(count)), one, count == 1 ? "" : "s");
}

/// A bandwidth, or a dash where there is no link.
std::string rate_text(Bandwidth rate) { return rate.value > 0.0 ? to_text(rate) : "-"; }

std::string range_text(const fabric::BandwidthRange& range) {
    return range.least == range.most
               ? rate_text(range.most)
               : fmt::format("{} to {}", range.least.value > 0.0 ? to_text(range.least) : "0", to_text(range.most));
}

std::string devices(const fabric::Summary& summary) {
    Table table({{"Devices", "", Align::left}, {"", "", Align::left, true}, {"count"}, {"", "", Align::left}});
    for (const fabric::DeviceCount& device : summary.devices) {
        table.add({fmt::format("  {}", fabric::name_of(device.kind)), device.device.empty() ? "-" : device.device,
                   grouped(static_cast<double>(device.count)), device.inside_nodes ? "in nodes" : "in the fabric"});
    }
    return table.text("", page_width);
}

std::string links(const fabric::Summary& summary) {
    Table table({{"Links", "", Align::left},
                 {"", "", Align::left},
                 {"between", "", Align::left},
                 {"count"},
                 {"bandwidth"},
                 {"of line rate"},
                 {"latency"}});
    for (const fabric::LinkGroup& group : summary.link_groups) {
        const fabric::Link& link = group.link;
        const std::string cables = link.cables > 1 ? fmt::format("{} x ", link.cables) : std::string();
        table.add({fmt::format("  {}", fabric::name_of(link.tier)), std::string(fabric::name_of(link.kind)),
                   fmt::format("{} - {}", fabric::name_of(group.from), fabric::name_of(group.to)),
                   grouped(static_cast<double>(group.count)), to_text(link.bandwidth),
                   fmt::format("{}{}", cables, to_text(link.line_rate)), to_text(link.latency)});
    }
    return table.text("", page_width);
}

std::string per_gpu(const TopologyReport& report) {
    std::string text = "What a GPU can send at once, one direction\n";
    text += fmt::format("  to its island         {}\n", range_text(report.summary.scale_up_per_gpu));
    text += fmt::format("  out of its node       {}\n", range_text(report.summary.scale_out_per_gpu));
    const fabric::Bisection& bisection = report.summary.bisection;
    if (bisection.bandwidth) {
        text += fmt::format(
            "  across the bisection  {}, {} for {} GPUs to {}\n",
            to_text(*bisection.bandwidth / static_cast<double>(std::max<std::size_t>(1, bisection.first_half))),
            to_text(*bisection.bandwidth), bisection.first_half, bisection.second_half);
    } else {
        text += fmt::format("  across the bisection  not worked out: {}\n", bisection.reason);
    }
    for (const std::string& line : striping(report.fabric)) {
        text += fmt::format("  {}\n", line);
    }
    return text;
}

/// Down over up, or over what goes across where nothing goes up.
std::string oversubscription_text(const fabric::SwitchTier& tier) {
    if (tier.oversubscription) {
        return fmt::format("{:.4g}:1", *tier.oversubscription);
    }
    return tier.across.value > 0.0 ? fmt::format("{:.4g}:1 across", tier.down / tier.across) : "-";
}

/// One line for each tier, with a column for links among its switches if any has them.
std::string tiers(const TopologyReport& report) {
    const auto& all = report.summary.tiers;
    const bool sideways = std::ranges::any_of(all, [](const auto& tier) { return tier.across.value > 0.0; });
    std::vector<Column> columns{{"Switches of the fabric", "", Align::left}, {"switches"}, {"down"}, {"up"}};
    if (sideways) {
        columns.push_back({"across"});
    }
    columns.push_back({"oversubscription"});
    Table table(columns);
    for (const fabric::SwitchTier& tier : all) {
        std::vector<std::string> cells{fmt::format("  tier {}", tier.height),
                                       grouped(static_cast<double>(tier.switches.size())), rate_text(tier.down),
                                       rate_text(tier.up)};
        if (sideways) {
            cells.push_back(rate_text(tier.across));
        }
        cells.push_back(oversubscription_text(tier));
        table.add(cells);
    }
    return table.text("", page_width);
}

Json range_json(const fabric::BandwidthRange& range) { return {{"min", range.least.value}, {"max", range.most.value}}; }

Json device_json(const fabric::DeviceCount& device) {
    return {{"kind", fabric::name_of(device.kind)},
            {"device", device.device},
            {"count", device.count},
            {"inside_nodes", device.inside_nodes}};
}

Json link_json(const fabric::LinkGroup& group) {
    const fabric::Link& link = group.link;
    return {{"tier", fabric::name_of(link.tier)},
            {"kind", fabric::name_of(link.kind)},
            {"from", fabric::name_of(group.from)},
            {"to", fabric::name_of(group.to)},
            {"count", group.count},
            {"bandwidth_Bps", link.bandwidth.value},
            {"line_rate_Bps", link.line_rate.value},
            {"cables", link.cables},
            {"efficiency", link.efficiency},
            {"latency_s", link.latency.value}};
}

Json tier_json(const fabric::Fabric& fabric, const fabric::SwitchTier& tier) {
    return {{"tier", tier.height},
            {"switches", tier.switches.size()},
            {"down_Bps", tier.down.value},
            {"up_Bps", tier.up.value},
            {"across_Bps", tier.across.value},
            {"oversubscription", tier.oversubscription ? Json(*tier.oversubscription) : Json(nullptr)},
            {"most_oversubscribed",
             tier.most_oversubscribed ? Json(fabric.vertex(*tier.most_oversubscribed).name) : Json(nullptr)}};
}

Json bisection_json(const fabric::Bisection& bisection) {
    Json json{{"gpus_on_one_side", bisection.first_half},
              {"gpus_on_the_other", bisection.second_half},
              {"bandwidth_Bps", bisection.bandwidth ? Json(bisection.bandwidth->value) : Json(nullptr)}};
    if (!bisection.reason.empty()) {
        json["reason"] = bisection.reason;
    }
    return json;
}

std::size_t count_of(std::span<const fabric::Finding> findings, fabric::Severity severity) {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &fabric::Finding::severity));
}

}  // namespace

void write_text(std::ostream& out, const TopologyReport& report) {
    const fabric::Summary& summary = report.summary;
    out << fmt::format("{}: {}, {}, {}, routing {}\n\n", report.fabric.name(), plural(summary.nodes, "node"),
                       plural(summary.gpus, "GPU"), plural(summary.links, "link"), fabric::name_of(summary.routing))
        << devices(summary) << '\n'
        << links(summary) << '\n'
        << per_gpu(report);
    if (!summary.tiers.empty()) {
        out << '\n' << tiers(report);
    }
}

void write_text(std::ostream& out, const CheckReport& report) {
    for (const fabric::Finding& finding : report.findings) {
        out << fmt::format("{} [{}]: {}\n", fabric::name_of(finding.severity), fabric::name_of(finding.concern),
                           finding.message);
    }
    if (report.findings.empty()) {
        out << fmt::format("{}: nothing looks wrong\n", report.fabric.name());
        return;
    }
    out << fmt::format("{}: {}, {}, {}\n", report.fabric.name(),
                       plural(count_of(report.findings, fabric::Severity::error), "error"),
                       plural(count_of(report.findings, fabric::Severity::warning), "warning"),
                       plural(count_of(report.findings, fabric::Severity::note), "note"));
}

void write_json(std::ostream& out, const TopologyReport& report) {
    const fabric::Summary& summary = report.summary;
    JsonStream json(out);
    json.field("schema", "lockstep.topology/1");
    json.field("topology", report.fabric.name());
    Json parameters = Json::object();
    for (const ParameterInForce& parameter : report.parameters) {
        parameters[parameter.name] = parameter.text;
    }
    json.field("parameters", parameters);
    json.field("nodes", summary.nodes);
    json.field("gpus", summary.gpus);
    json.field("links", summary.links);
    json.field("routing", fabric::name_of(summary.routing));
    json.array("devices", summary.devices, device_json);
    json.array("link_groups", summary.link_groups, link_json);
    json.field("scale_up_per_gpu_Bps", range_json(summary.scale_up_per_gpu));
    json.field("scale_out_per_gpu_Bps", range_json(summary.scale_out_per_gpu));
    json.array("switch_tiers", summary.tiers, [&](const auto& tier) { return tier_json(report.fabric, tier); });
    json.field("bisection", bisection_json(summary.bisection));
    json.field("striping", striping(report.fabric));
    json.finish();
}

void write_json(std::ostream& out, const CheckReport& report) {
    JsonStream json(out);
    json.field("schema", "lockstep.check/1");
    json.field("topology", report.fabric.name());
    json.field("errors", count_of(report.findings, fabric::Severity::error));
    json.field("warnings", count_of(report.findings, fabric::Severity::warning));
    json.array("findings", report.findings, [&](const fabric::Finding& finding) {
        Json vertices = Json::array();
        for (const VertexId vertex : finding.vertices) {
            vertices.push_back(report.fabric.vertex(vertex).name);
        }
        return Json{{"severity", fabric::name_of(finding.severity)},
                    {"concern", fabric::name_of(finding.concern)},
                    {"message", finding.message},
                    {"vertices", std::move(vertices)}};
    });
    json.finish();
}

}  // namespace lockstep::report
