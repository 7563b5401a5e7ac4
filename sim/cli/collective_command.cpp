#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/parallel.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/left_out.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/schedules.h"
#include "sim/cli/size_matrix.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/port_model.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"
#include "sim/report/csv_report.h"
#include "sim/report/json_report.h"
#include "sim/report/text_report.h"

namespace lockstep::cli {

namespace {

constexpr const char* collective_examples = R"(Examples:
  lockstep collective dgx-h100 -b 1M -e 1G -f 4
  lockstep collective dgx-h100 --set nodes=2 --algorithm ring,tree -b 64M -e 64M
  lockstep collective dgx-1-v100 --op all_gather --ranks 4 --csv -
  lockstep collective dgx-1-v100 --show-placement

Sizes are bytes; K, M, G and T are binary as in nccl-tests (8G = 8 GiB), and units such as `100 MB` or `25 MiB` are taken too.)";

struct CollectiveOptions {
    InputOptions input;
    EngineOptions engine;
    OutputOptions output;
    std::string operation = "all_reduce";
    std::string algorithm = "auto";
    SizeOptions sizes;
    std::optional<std::string> messages;
    TuningOptions tuning;
    std::string root = "0";
    std::optional<std::string> matrix;
    bool show_placement = false;
};

/// What `all` leaves out: a table that never comes is of no use to anybody.
constexpr double most_messages = 2e8;

/// An algorithm that `all` leaves out, and why.
struct Refusal {
    std::string algorithm;
    std::string reason;
};

/// The rows of a table for one size, and what `all` left out there.
struct SizeRows {
    std::vector<replay::CollectiveRun> rows;
    std::vector<Refusal> refusals;
};

/// The rows of a table, and what `all` left out of it.
struct Rows {
    std::vector<replay::CollectiveRun> rows;
    LeftOut left_out;
};

/// Every algorithm that knows the operation, at one size: one that cannot serve is left out, for whatever reason.
SizeRows run_all(const collective::Communicator& communicator, const collective::Request& request,
                 const replay::Settings& settings) {
    SizeRows result;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        if (std::ranges::find(algorithm.operations, request.operation) == algorithm.operations.end()) {
            continue;
        }
        if (const auto obstacle = algorithm.obstacle(communicator, request)) {
            result.refusals.push_back({algorithm.name, *obstacle});
        } else if (algorithm.messages(communicator, request) > most_messages) {
            result.refusals.push_back(
                {algorithm.name, fmt::format("would take more than {:g} messages", most_messages)});
        } else {
            try {
                result.rows.push_back(replay::run_collective(communicator, request, algorithm.name, settings));
            } catch (const SimulationError& problem) {  // say, two ranks that no path joins
                result.refusals.push_back({algorithm.name, problem.what()});
            }
        }
    }
    return result;
}

using FileSchedules = std::map<std::string, collective::Schedule>;

/// The algorithms that a list names. Throws: InputError for an unknown one, before anything is simulated.
std::vector<std::string> named_algorithms(const DataFiles& data, const std::string& text) {
    std::vector<std::string> names = words("--algorithm", text);
    std::vector<std::string> known = schedule_names(data);
    known.insert(known.begin(), {"auto", "all"});
    for (const std::string& name : names) {
        if (!names_schedule_file(data, name) && std::ranges::find(known, name) == known.end()) {
            throw InputError(
                fmt::format("--algorithm: unknown algorithm {}{}", excerpt(name), suggestion(name, known)));
        }
        if (name == "all" && names.size() > 1) {
            throw InputError("--algorithm: `all` stands alone, not among others: it runs each that can serve");
        }
    }
    return names;
}

/// The algorithms that are named, at one size. Throws: InputError, SimulationError.
SizeRows run_named(const std::vector<std::string>& names, const FileSchedules& from_files,
                   const collective::Communicator& communicator, const collective::Request& request,
                   const replay::Settings& settings) {
    SizeRows result;
    for (const std::string& name : names) {
        const auto file = from_files.find(name);
        try {
            result.rows.push_back(file == from_files.end()
                                      ? replay::run_collective(communicator, request, name, settings)
                                      : replay::run_schedule(communicator, file->second, request.bytes, settings));
        } catch (const SimulationError& problem) {
            const std::string message = fmt::format("--algorithm {}: {}", name, problem.what());
            if (name == "auto" || file != from_files.end()) {  // a file may simply be wrong: it cannot finish
                throw SimulationError(message);
            }
            throw InputError(message);  // asked for by name where it cannot serve: bad usage, whatever the reason
        }
    }
    return result;
}

/// Random messages are no loop: all of them are kept, in some 50 bytes each.
constexpr std::size_t most_random_messages = 100'000'000;

/// How many sizes are simulated at once. Each needs a router of its own, and those of large fabrics are large.
std::size_t threads_for(const EngineChoice& choice, const collective::Communicator& communicator) {
    constexpr std::size_t most_ranks_side_by_side = 16384;
    return choice.engine->works_in_threads && communicator.size() <= most_ranks_side_by_side ? machine_threads() : 1;
}

/// Runs all sizes, on all cores. names: `all`, or the algorithms asked for; settings: of the one that works on this
/// thread. Throws: InputError, SimulationError; with `all` only where not one algorithm can run.
Rows run_sizes(const std::vector<std::string>& names, const FileSchedules& from_files,
               const collective::Communicator& communicator, const collective::Request& request,
               const std::vector<Bytes>& sizes, const replay::Settings& settings, std::size_t threads) {
    const bool is_all = names == std::vector<std::string>{"all"};
    std::vector<std::optional<fabric::Router>> routers(threads);  // of the other threads
    std::vector<SizeRows> by_size(sizes.size());
    for_each_in_parallel(sizes.size(), threads, [&](std::size_t at, std::size_t thread) {
        replay::Settings own = settings;
        if (thread > 0) {
            if (!routers[thread]) {
                routers[thread].emplace(communicator.fabric(), settings.router->policy(), settings.router->seed());
            }
            own.router = &*routers[thread];
            own.on_progress = nullptr;
        }
        collective::Request sized = request;
        sized.bytes = sizes[at];
        by_size[at] =
            is_all ? run_all(communicator, sized, own) : run_named(names, from_files, communicator, sized, own);
    });
    Rows result;
    for (std::size_t at = 0; at < sizes.size(); ++at) {
        std::ranges::move(by_size[at].rows, std::back_inserter(result.rows));
        for (const Refusal& refusal : by_size[at].refusals) {
            result.left_out.add(refusal.algorithm, refusal.reason, sizes[at]);
        }
    }
    if (result.rows.empty()) {
        throw SimulationError(fmt::format("no algorithm can do {} on these {} ranks: {}",
                                          collective::name_of(request.operation), communicator.size(),
                                          result.left_out.reasons()));
    }
    return result;
}

/// The sizes of the table's rows. Of operations that have no size of their own to choose there is one row.
/// Throws: InputError for sizes where none can be chosen.
std::vector<Bytes> row_sizes(const CollectiveOptions& options, collective::Operation operation) {
    const SizeOptions& given = options.sizes;
    const bool is_matrix = operation == collective::Operation::all_to_all_v;
    if (is_matrix != options.matrix.has_value()) {
        throw InputError(is_matrix ? "--op all_to_all_v needs --sizes FILE: what each rank has for each other"
                                   : "--sizes is for --op all_to_all_v only");
    }
    if (!is_matrix && operation != collective::Operation::barrier) {
        return sizes(given);
    }
    for (const auto& size : {given.min_bytes, given.max_bytes, given.step_bytes, given.step_factor}) {
        if (size) {
            throw InputError(fmt::format("--op {} has no range of sizes: leave out -b, -e, -i and -f",
                                         collective::name_of(operation)));
        }
    }
    return {Bytes{0}};
}

/// The results asked for. They refer to `report` and `options`.
std::vector<Output> outputs_of(const report::CollectiveReport& report, const OutputOptions& options) {
    std::vector<Output> outputs;
    if (options.json) {
        outputs.push_back({*options.json, [&](std::ostream& out) { report::write_json(out, report); }});
    }
    if (options.csv) {
        outputs.push_back({*options.csv, [&](std::ostream& out) { report::write_csv(out, report); }});
    }
    if (!takes_standard_output(options)) {
        outputs.push_back({"-", [&](std::ostream& out) { report::write_text(out, report); }});
    }
    return outputs;
}

/// Throws: InputError for a result that would not be written.
void refuse_results_beside_placement(const OutputOptions& options) {
    if (options.json || options.csv) {
        throw InputError(fmt::format("--show-placement simulates nothing and prints text only: leave out {}",
                                     options.json ? "--json" : "--csv"));
    }
}

void show_placement(const fabric::Fabric& fabric, const std::vector<VertexId>& placement) {
    const std::vector<Output> outputs{
        {"-", [&](std::ostream& out) { report::write_placement(out, fabric, placement); }}};
    write_outputs(outputs);
}

int collective(const CollectiveOptions& options) {
    const MachineMeter meter;
    if (options.show_placement) {
        refuse_results_beside_placement(options.output);
    }
    const DataFiles data = DataFiles::locate();
    const EngineChoice choice = engine_choice(options.engine);
    const auto operation = collective::operation_named(options.operation);
    std::vector<Bytes> all_sizes = row_sizes(options, operation);
    collective::Request request{.operation = operation, .tuning = tuning(options.tuning)};
    if (options.messages) {
        if (operation != collective::Operation::permutation) {
            throw InputError("--messages is for --op permutation only");
        }
        request.traffic.messages =
            static_cast<std::uint32_t>(whole_number("--messages", *options.messages, 1, 1'000'000));
    }
    check_targets(options.output);
    InputFiles files = load_files(data, options.input);
    const std::vector<std::string> names = named_algorithms(data, options.algorithm);
    for (const std::string& name : names) {
        if (names_schedule_file(data, name)) {
            files.paths.push_back({"schedule", schedule_path(data, name)});
        }
    }
    if (options.matrix) {
        files.paths.push_back({"table of sizes", *options.matrix});
    }
    check_targets_against(files.paths, options.output);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    const std::vector<VertexId> placement = placement_of(fabric, options.input);
    if (options.show_placement) {
        show_placement(fabric, placement);
        return 0;
    }
    const report::Setup setup = setup_of(files, choice, fabric);
    const collective::Communicator communicator(fabric, placement);
    request.root = id_at<RankId>(whole_number("--root", options.root, 0, placement.size() - 1));
    request.traffic.seed = setup.seed;
    if (placement.size() * request.traffic.messages > most_random_messages) {
        throw InputError(
            fmt::format("--messages: {} from each of {} ranks are more than {}, of which each needs its place",
                        request.traffic.messages, placement.size(), most_random_messages));
    }
    if (options.matrix) {
        request.sizes = size_matrix_from(*options.matrix, static_cast<std::uint32_t>(placement.size()));
        all_sizes = {largest_row(*request.sizes)};
    }
    const FileSchedules from_files = schedules_from_files(data, names, communicator, request);

    fabric::Router router(fabric, setup.routing, setup.seed);
    const auto simulate = [&] {
        Progress progress(options.output.quiet ? Verbosity::quiet : Verbosity::normal);
        replay::Settings settings;
        settings.make_engine = choice.engine->make;
        settings.router = &router;
        settings.folding = choice.folding;
        const std::size_t side_by_side = std::min(threads_for(choice, communicator), all_sizes.size());
        settings.threads = side_by_side == 1 ? machine_threads() : 1;
        settings.on_progress = [&](Seconds now, std::uint64_t messages) { progress.show(now, messages); };
        return run_sizes(names, from_files, communicator, request, all_sizes, settings, side_by_side);
    };
    const Rows result = simulate();
    std::vector<std::string> notes = result.left_out.notes(all_sizes.size());
    for (const auto& [name, schedule] : from_files) {
        if (auto note = proof_note(name, schedule)) {
            notes.push_back(std::move(*note));
        }
    }
    const report::CollectiveReport report{fabric,
                                          placement,
                                          operation,
                                          request.root,
                                          options.algorithm,
                                          result.rows,
                                          setup,
                                          collective::port_model(communicator, router),
                                          notes,
                                          meter.use(options.output.machine_figures)};
    write_outputs(outputs_of(report, options.output));
    return 0;
}

std::string operations_text() {
    std::vector<std::string_view> names;
    for (const collective::Operation operation : collective::operations()) {
        names.push_back(collective::name_of(operation));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void add_collective(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<CollectiveOptions>();
    CLI::App& command = *app.add_subcommand("collective", "Times of a collective by size, as nccl-tests prints them");
    add_topology(command, options->input);
    add_ranks(command, options->input);
    add_placement(command, options->input);
    command
        .add_flag("--show-placement", options->show_placement,
                  "Print the GPUs in rank order, as --placement takes them, and end")
        ->group("Input");
    const auto option = [&](const char* name, auto& value, const std::string& help, const char* type) {
        return command.add_option(name, value, help)->type_name(type)->group("Collective");
    };
    option("--op", options->operation, operations_text(), "OP")->capture_default_str();
    option("--algorithm", options->algorithm, "auto, names or schedule files with commas between them, or all", "NAME")
        ->capture_default_str();
    add_sizes(command, options->sizes);
    option("--messages", options->messages, "Of permutation: messages of random sizes, in which each rank sends", "N");
    option("--root", options->root, "Rank that broadcasts, or at which others end", "RANK")->capture_default_str();
    option("--sizes", options->matrix, "Of all_to_all_v: a line for each rank, with what it has for each, as CSV",
           "FILE");
    add_tuning(command, options->tuning);
    add_engine(command, options->engine);
    add_results(command, options->output);
    command.footer(collective_examples);
    commands.push_back({&command, [options] { return collective(*options); }});
}

}  // namespace lockstep::cli
