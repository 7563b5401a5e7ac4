#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/data_files.h"
#include "sim/base/diagnostics.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/cli/targets.h"
#include "sim/fabric/check.h"
#include "sim/fabric/export_dot.h"
#include "sim/fabric/load_fabric.h"
#include "sim/fabric/summary.h"
#include "sim/interop/export_graph.h"
#include "sim/interop/export_simgrid.h"
#include "sim/report/topology_report.h"

namespace lockstep::cli {

namespace {

constexpr const char* topology_examples = R"(Examples:
  lockstep topology show dgx-h100 --set nodes=2
  lockstep topology check my-cluster.yaml
  lockstep topology export dgx-h100 --set nodes=2 --format simgrid -o platform.xml
  lockstep topology export fat-tree --format dot | dot -Tsvg > fat-tree.svg)";

struct TopologyOptions {
    InputOptions input;
    OutputOptions output;
    std::string format;        ///< of export
    std::string target = "-";  ///< of export
};

/// A form in which a topology can be exported.
struct Format {
    std::string name;
    void (*write)(std::ostream& out, const fabric::Fabric& fabric) = nullptr;  ///< null: for hosts, as SimGrid's
};

const std::array<Format, 4>& formats() {
    static const std::array<Format, 4> all{{{"simgrid"},
                                            {"dot", fabric::write_dot},
                                            {"graphml", interop::write_graphml},
                                            {"json", interop::write_graph_json}}};
    return all;
}

/// Throws: InputError with the nearest known name.
const Format& format_named(const std::string& name) {
    std::vector<std::string> known;
    for (const Format& format : formats()) {
        if (format.name == name) {
            return format;
        }
        known.push_back(format.name);
    }
    throw InputError(fmt::format("--format: unknown format {}{}", excerpt(name), suggestion(name, known)));
}

/// Writes a report as the options say: JSON where asked for, text unless standard output is taken.
template <class Report>
void write_report(const Report& report, const OutputOptions& options) {
    std::vector<Output> outputs;
    if (options.json) {
        outputs.push_back({*options.json, [&](std::ostream& out) { report::write_json(out, report); }});
    }
    if (!takes_standard_output(options)) {
        outputs.push_back({"-", [&](std::ostream& out) { report::write_text(out, report); }});
    }
    write_outputs(outputs);
}

int show(const TopologyOptions& options) {
    const DataFiles data = DataFiles::locate();
    check_targets(options.output);
    const InputFiles files = load_files(data, options.input);
    check_targets_against(files.paths, options.output);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    const fabric::Summary summary = fabric::summarize(fabric);
    const std::vector<report::ParameterInForce> parameters = in_force(files.topology.parameters());
    write_report(report::TopologyReport{fabric, summary, parameters}, options.output);
    return 0;
}

int check(const TopologyOptions& options) {
    const DataFiles data = DataFiles::locate();
    check_targets(options.output);
    const InputFiles files = load_files(data, options.input);
    check_targets_against(files.paths, options.output);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    const std::vector<fabric::Finding> findings = fabric::check(fabric);
    write_report(report::CheckReport{fabric, findings}, options.output);
    const bool is_broken = std::ranges::any_of(
        findings, [](const fabric::Finding& finding) { return finding.severity == fabric::Severity::error; });
    return is_broken ? 1 : 0;
}

int export_graph(const TopologyOptions& options) {
    const DataFiles data = DataFiles::locate();
    const Format& format = format_named(options.format);
    if (format.write != nullptr && (options.input.ranks || options.input.placement)) {
        throw InputError(fmt::format("{}: GPUs can be chosen for --format simgrid only, {} holds the whole topology",
                                     options.input.ranks ? "--ranks" : "--placement", format.name));
    }
    const std::array targets{options.target};
    check_targets(targets);
    const InputFiles files = load_files(data, options.input);
    refuse_inputs_as_targets(targets, files.paths);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    const std::array outputs{Output{options.target, [&](std::ostream& out) {
                                        if (format.write != nullptr) {
                                            format.write(out, fabric);
                                        } else {
                                            interop::write_simgrid(out, fabric, placement_of(fabric, options.input));
                                        }
                                    }}};
    write_outputs(outputs);
    return done;
}

}  // namespace

void add_topology_commands(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<TopologyOptions>();
    CLI::App& topology = *app.add_subcommand("topology", "What is in a topology, and what looks wrong with it");
    topology.require_subcommand(1);
    topology.footer(topology_examples);
    const auto add = [&](const char* name, const char* summary, int (*run)(const TopologyOptions&)) -> CLI::App& {
        CLI::App& command = *topology.add_subcommand(name, summary);
        add_topology(command, options->input);
        commands.push_back({&command, [options, run] { return run(*options); }});
        return command;
    };
    add_json(add("show", "What is in it: devices, links, bandwidths", show), options->output);
    add_json(add("check", "What looks wrong; exit code 1 if something does", check), options->output);
    CLI::App& exporting = add("export", "As a graph for other tools, or as a platform for SimGrid", export_graph);
    exporting.add_option("--format", options->format, "simgrid, dot, graphml or json")->type_name("NAME")->required();
    exporting.add_option("-o,--output", options->target, "Where it goes; standard output if absent")->type_name("FILE");
    add_ranks(exporting, options->input);
    add_placement(exporting, options->input);
}

}  // namespace lockstep::cli
