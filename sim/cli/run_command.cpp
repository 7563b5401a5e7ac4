#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/parallel.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/schedules.h"
#include "sim/collective/communicator.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"
#include "sim/report/csv_report.h"
#include "sim/report/json_report.h"
#include "sim/report/text_report.h"
#include "sim/report/trace.h"
#include "sim/workload/load_workload.h"

namespace lockstep::cli {

namespace {

constexpr const char* run_examples = R"(Examples:
  lockstep run dgx-h100 gpt2-xl-ddp --set nodes=4
  lockstep run dgx-h100 bert-large-ddp --set topology.nodes=8 --set workload.overlap=false
  lockstep run single-switch toy-ddp --json - --trace step.json)";

struct RunOptions {
    InputOptions input;
    EngineOptions engine;
    OutputOptions output;
};

/// Perfetto's viewer takes traces of about this size.
constexpr std::size_t most_trace_events = 2'000'000;

/// The results asked for. They refer to `report` and `options`.
std::vector<Output> outputs_of(const report::StepReport& report, const OutputOptions& options) {
    std::vector<Output> outputs;
    if (options.json) {
        outputs.push_back({*options.json, [&](std::ostream& out) { report::write_json(out, report); }});
    }
    if (options.csv) {
        outputs.push_back({*options.csv, [&](std::ostream& out) { report::write_csv(out, report); }});
    }
    if (options.trace) {
        outputs.push_back({*options.trace, [&](std::ostream& out) {
                               const auto extent = report::write_trace(out, report, most_trace_events);
                               if (extent.ranks_written < extent.ranks && !options.quiet) {
                                   say(fmt::format("lockstep: the trace holds the first {} of {} GPUs",
                                                   extent.ranks_written, extent.ranks));
                               }
                           }});
    }
    if (!takes_standard_output(options)) {
        outputs.push_back({"-", [&](std::ostream& out) { report::write_text(out, report); }});
    }
    return outputs;
}

int run(const RunOptions& options) {
    const MachineMeter meter;
    const DataFiles data = DataFiles::locate();
    const EngineChoice choice = engine_choice(options.engine);
    check_targets(options.output);
    InputFiles files = load_files(data, options.input);
    check_targets_against(files.paths, options.output);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    // A placement of the user's own comes first, as GPUs may differ in speed; how many are needed is for the workload
    // to say.
    std::vector<VertexId> placement;
    if (options.input.placement) {
        placement = placement_of(fabric, options.input);
    }
    std::vector<std::string> notes;
    const workload::TaskGraph graph =
        workload::load_workload(*files.workload, data, fabric, placement,
                                schedules_for_workload(data, files.workload->name(), files.paths, notes));
    check_targets_against(files.paths, options.output);  // with the schedules that the workload names
    if (placement.empty()) {
        placement = collective::default_placement(fabric, graph.ranks);
    }
    placement.resize(graph.ranks);
    const report::Setup setup = setup_of(files, choice, fabric);

    fabric::Router router(fabric, setup.routing, setup.seed);
    const auto simulate = [&] {
        Progress progress(options.output.quiet ? Verbosity::quiet : Verbosity::normal);
        replay::Settings settings;
        settings.make_engine = choice.engine->make;
        settings.router = &router;
        settings.folding = choice.folding;
        settings.threads = machine_threads();
        settings.timeline = options.output.trace ? replay::Timeline::kept : replay::Timeline::left_out;
        settings.on_progress = [&](Seconds now, std::uint64_t messages) { progress.show(now, messages); };
        return replay::run_training(fabric, placement, graph, settings);
    };
    const replay::StepRun result = simulate();
    for (const std::string& note : notes) {
        if (!options.output.quiet) {
            say("lockstep: " + note);
        }
    }
    const report::StepReport report{fabric, graph, placement, result, setup, meter.use(options.output.machine_figures)};
    write_outputs(outputs_of(report, options.output));
    return 0;
}

}  // namespace

void add_run(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<RunOptions>();
    CLI::App& command = *app.add_subcommand("run", "Step time of a training job, GPU idle fraction and its causes");
    add_topology(command, options->input);
    command.add_option("WORKLOAD", options->input.workload, "Workload file, or a name of `lockstep list workloads`")
        ->type_name("")
        ->required();
    add_placement(command, options->input);
    add_engine(command, options->engine);
    add_results(command, options->output);
    command.add_option("--trace", options->output.trace, "Write the step as a trace for ui.perfetto.dev")
        ->type_name("FILE")
        ->group("Output");
    command.footer(run_examples);
    commands.push_back({&command, [options] { return run(*options); }});
}

}  // namespace lockstep::cli
