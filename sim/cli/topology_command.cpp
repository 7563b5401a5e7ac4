#include <algorithm>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "sim/base/data_files.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/fabric/check.h"
#include "sim/fabric/load_fabric.h"
#include "sim/fabric/summary.h"
#include "sim/report/topology_report.h"

namespace lockstep::cli {

namespace {

constexpr const char* topology_examples = R"(Examples:
  lockstep topology show dgx-h100 --set nodes=2
  lockstep topology check my-cluster.yaml)";

struct TopologyOptions {
    InputOptions input;
    OutputOptions output;
};

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

}  // namespace

void add_topology_commands(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<TopologyOptions>();
    CLI::App& topology = *app.add_subcommand("topology", "What is in a topology, and what looks wrong with it");
    topology.require_subcommand(1);
    topology.footer(topology_examples);
    const auto add = [&](const char* name, const char* summary, int (*run)(const TopologyOptions&)) {
        CLI::App& command = *topology.add_subcommand(name, summary);
        add_topology(command, options->input);
        add_json(command, options->output);
        commands.push_back({&command, [options, run] { return run(*options); }});
    };
    add("show", "What is in it: devices, links, bandwidths", show);
    add("check", "What looks wrong; exit code 1 if something does", check);
}

}  // namespace lockstep::cli
