#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/cli/schedules.h"
#include "sim/cli/size_matrix.h"
#include "sim/cli/targets.h"
#include "sim/collective/write_schedule.h"
#include "sim/fabric/load_fabric.h"
#include "sim/interop/msccl.h"

namespace lockstep::cli {

namespace {

constexpr const char* export_examples = R"(Examples:
  lockstep export ring --ranks 8
  lockstep export halving-doubling --op reduce_scatter --ranks 16 --format msccl -o hd.xml
  lockstep export hierarchical --topology dgx-h100 --set nodes=2 -o hierarchical.yaml
  lockstep export my-schedule.yaml --format msccl

Without --topology the ranks stand at one switch that can reduce.)";

constexpr std::uint32_t most_ranks = 65'536;

struct ExportOptions {
    InputOptions input;
    TuningOptions tuning;
    std::string schedule;
    std::optional<std::string> operation;
    std::optional<std::string> root;
    std::optional<std::string> matrix;
    std::string bytes = "1M";
    std::string format = "yaml";
    std::string target = "-";
};

enum class Format : std::uint8_t { yaml, msccl };

Format format_named(const std::string& name) {
    if (name == "yaml" || name == "msccl") {
        return name == "yaml" ? Format::yaml : Format::msccl;
    }
    const std::vector<std::string> known{"yaml", "msccl"};
    throw InputError(fmt::format("--format: unknown format {}{}", excerpt(name), suggestion(name, known)));
}

/// Throws: InputError for flags that need a topology where none is named.
void require_topology_for_flags(const InputOptions& input) {
    if (!input.settings.empty() || input.placement) {
        throw InputError(fmt::format("{} is about a topology: say --topology, too",
                                     input.settings.empty() ? "--placement" : "--set"));
    }
}

int export_schedule(const ExportOptions& options) {
    const DataFiles data = DataFiles::locate();
    const Format format = format_named(options.format);
    ScheduleQuery query{
        .name = options.schedule, .tuning = tuning(options.tuning), .bytes = size("--bytes", options.bytes)};
    if (options.operation) {
        query.operation = collective::operation_named(*options.operation);
    }
    if (options.root) {
        query.root = id_at<RankId>(whole_number("--root", *options.root, 0, most_ranks - 1));
    }
    const std::vector<std::string> targets{options.target};
    check_targets(targets);
    std::vector<InputPath> inputs;
    if (names_schedule_file(data, options.schedule)) {
        inputs.push_back({"schedule", schedule_path(data, options.schedule)});
    }
    std::optional<fabric::Fabric> fabric;
    std::optional<collective::Communicator> communicator;
    if (options.input.topology.empty()) {
        require_topology_for_flags(options.input);
        if (options.input.ranks) {
            query.ranks = static_cast<std::uint32_t>(whole_number("--ranks", *options.input.ranks, 1, most_ranks));
        }
    } else {
        const InputFiles files = load_files(data, options.input);
        inputs.insert(inputs.end(), files.paths.begin(), files.paths.end());
        fabric.emplace(fabric::load_fabric(files.topology, data));
        communicator.emplace(*fabric, placement_of(*fabric, options.input));
        query.communicator = &*communicator;
        query.ranks = static_cast<std::uint32_t>(communicator->size());
    }
    if (options.matrix) {
        inputs.push_back({"table of sizes", *options.matrix});
    }
    refuse_inputs_as_targets(targets, inputs);
    if (options.matrix) {
        if (!query.ranks) {
            throw InputError("--sizes needs to know how many ranks there are: say --ranks");
        }
        query.sizes = size_matrix_from(*options.matrix, *query.ranks);
    }
    const collective::Schedule schedule = schedule_named(data, query);
    const std::string summary =
        fmt::format("{} by {} on {} rank{}, from lockstep export", collective::name_of(schedule.operation),
                    schedule.algorithm, schedule.ranks, schedule.ranks == 1 ? "" : "s");
    const std::vector<Output> outputs{{options.target, [&](std::ostream& out) {
                                           if (format == Format::yaml) {
                                               collective::write_schedule(out, schedule, summary);
                                           } else {
                                               interop::write_msccl(out, schedule);
                                           }
                                       }}};
    write_outputs(outputs);
    return done;
}

}  // namespace

void add_export(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<ExportOptions>();
    CLI::App& command = *app.add_subcommand("export", "An algorithm's schedule as a file, Lockstep's own or MSCCL's");
    command
        .add_option("ALGORITHM", options->schedule,
                    "A name of `lockstep list algorithms` or `lockstep list schedules`, or a schedule file")
        ->type_name("")
        ->required();
    command.add_option("--topology", options->input.topology, "Topology file or name (default: one switch)")
        ->type_name("TOPOLOGY")
        ->group("Input");
    add_settings(command, options->input);
    add_ranks(command, options->input);
    add_placement(command, options->input);
    const auto option = [&](const char* name, auto& value, const char* help, const char* type) {
        return command.add_option(name, value, help)->type_name(type)->group("Collective");
    };
    option("--op", options->operation, "Operation (default: all_reduce, or what it does)", "OP");
    option("--root", options->root, "Rank that broadcasts, or at which others end", "RANK");
    option("--bytes", options->bytes, "Size of the vector: some algorithms choose pieces by it", "SIZE")
        ->capture_default_str();
    option("--sizes", options->matrix, "Of all_to_all_v: a line for each rank, with what it has for each, as CSV",
           "FILE");
    add_tuning(command, options->tuning);
    command.add_option("--format", options->format, "yaml or msccl")
        ->type_name("FORMAT")
        ->capture_default_str()
        ->group("Results");
    command.add_option("-o,--output", options->target, "Where the result goes (default: standard output)")
        ->type_name("FILE")
        ->group("Results");
    command.footer(export_examples);
    commands.push_back({&command, [options] { return export_schedule(*options); }});
}

}  // namespace lockstep::cli
