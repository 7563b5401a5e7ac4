#include <algorithm>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/fabric/check.h"
#include "sim/fabric/load_fabric.h"
#include "sim/fabric/summary.h"
#include "sim/report/topology_report.h"

namespace lockstep::cli {

namespace {

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

}  // namespace

int topology_show_command(const TopologyOptions& options) {
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

int topology_check_command(const TopologyOptions& options) {
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

}  // namespace lockstep::cli
