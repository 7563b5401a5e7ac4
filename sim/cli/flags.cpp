#include "sim/cli/flags.h"

#include <CLI/CLI.hpp>

namespace lockstep::cli {

void add_settings(CLI::App& command, InputOptions& input) {
    command.add_option("--set", input.settings, "Override a parameter of a file (repeatable)")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->group("Input");
}

void add_topology(CLI::App& command, InputOptions& input) {
    command.add_option("TOPOLOGY", input.topology, "Topology file, or a name of `lockstep list topologies`")
        ->type_name("")
        ->required();
    add_settings(command, input);
}

void add_ranks(CLI::App& command, InputOptions& input) {
    command.add_option("--ranks", input.ranks, "How many GPUs take part (default: all)")
        ->type_name("N")
        ->group("Input");
}

void add_placement(CLI::App& command, InputOptions& input) {
    command
        .add_option("--placement", input.placement, "GPU names in rank order, one a line (default: along the topology)")
        ->type_name("FILE")
        ->group("Input");
}

void add_sizes(CLI::App& command, SizeOptions& sizes) {
    const auto option = [&](const char* name, auto& value, const char* help, const char* type) {
        return command.add_option(name, value, help)->type_name(type)->group("Collective");
    };
    option("-b,--minbytes", sizes.min_bytes, "Smallest size (default: 8)", "SIZE");
    option("-e,--maxbytes", sizes.max_bytes, "Largest size (default: 128M)", "SIZE");
    option("-i,--stepbytes", sizes.step_bytes, "Add to the size", "SIZE");
    option("-f,--stepfactor", sizes.step_factor, "Multiply the size (default: 2)", "N");
}

void add_tuning(CLI::App& command, TuningOptions& tuning) {
    const auto option = [&](const char* name, auto& value, const char* help, const char* type) {
        command.add_option(name, value, help)->type_name(type)->group("Algorithm");
    };
    option("--pieces", tuning.pieces, "Into how many pieces pipelined data is cut (default: the algorithm's choice)",
           "N");
    option("--channels", tuning.channels, "Rings or trees side by side, at most (default: what the fabric offers)",
           "N");
    option("--dims", tuning.dimensions, "Extents for torus and blueconnect, fastest first (default: the fabric's)",
           "N,N,...");
}

void add_engine(CLI::App& command, EngineOptions& engine) {
    command.add_option("--engine", engine.engine, "Network engine (default: the first of `lockstep list engines`)")
        ->type_name("NAME")
        ->group("Simulation");
    command.add_option("--routing", engine.routing, "static, ecmp, spray or adaptive (default: the topology's)")
        ->type_name("POLICY")
        ->group("Simulation");
    command.add_flag("--no-fold", engine.no_fold, "Simulate every node, even where one could stand for others like it")
        ->group("Simulation");
    command.add_option("--seed", engine.seed, "Of ecmp's hash and of a permutation's partners")
        ->type_name("N")
        ->capture_default_str()
        ->group("Simulation");
}

void add_json(CLI::App& command, OutputOptions& output) {
    command.add_option("--json", output.json, "Write JSON to a file, or - for standard output instead of text")
        ->type_name("FILE")
        ->group("Output");
}

void add_results(CLI::App& command, OutputOptions& output) {
    add_json(command, output);
    command.add_option("--csv", output.csv, "Write CSV to a file, or - for standard output instead of text")
        ->type_name("FILE")
        ->group("Output");
    command
        .add_flag_callback(
            "--reproducible", [&output] { output.machine_figures = MachineFigures::left_out; },
            "Leave out of JSON what differs from run to run: simulator.wall_s and simulator.peak_rss_bytes")
        ->group("Output");
    command.add_flag("--quiet", output.quiet, "No progress or notes on standard error")->group("Output");
}

}  // namespace lockstep::cli
