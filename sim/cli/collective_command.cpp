#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/inputs.h"
#include "sim/cli/left_out.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/collective/algorithm.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"
#include "sim/report/csv_report.h"
#include "sim/report/json_report.h"
#include "sim/report/text_report.h"

namespace lockstep::cli {

namespace {

/// What `all` leaves out: a table that never comes is of no use to anybody.
constexpr double most_messages = 2e8;

/// The rows of a table, and what `all` left out of it.
struct Rows {
    std::vector<replay::CollectiveRun> rows;
    LeftOut left_out;
};

/// Every algorithm that knows the operation, at one size: one that cannot serve is left out, for whatever reason.
void run_all(Rows& result, const collective::Communicator& communicator, const collective::Request& request,
             const replay::Settings& settings) {
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        if (std::ranges::find(algorithm.operations, request.operation) == algorithm.operations.end()) {
            continue;
        }
        if (const auto obstacle = algorithm.obstacle(communicator, request)) {
            result.left_out.add(algorithm.name, *obstacle, request.bytes);
        } else if (algorithm.messages(communicator, request) > most_messages) {
            result.left_out.add(algorithm.name, fmt::format("would take more than {:g} messages", most_messages),
                                request.bytes);
        } else {
            try {
                result.rows.push_back(replay::run_collective(communicator, request, algorithm.name, settings));
            } catch (const SimulationError& problem) {  // say, two ranks that no path joins
                result.left_out.add(algorithm.name, problem.what(), request.bytes);
            }
        }
    }
}

/// The algorithms that a list names. Throws: InputError for an unknown one, before anything is simulated.
std::vector<std::string> named_algorithms(const std::string& text) {
    std::vector<std::string> names = words("--algorithm", text);
    std::vector<std::string> known{"auto", "all"};
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        known.push_back(algorithm.name);
    }
    for (const std::string& name : names) {
        if (std::ranges::find(known, name) == known.end()) {
            throw InputError(
                fmt::format("--algorithm: unknown algorithm {}{}", excerpt(name), suggestion(name, known)));
        }
        if (name == "all") {
            throw InputError("--algorithm: `all` stands alone, not among others: it runs each that can serve");
        }
    }
    return names;
}

/// Runs all sizes. algorithm: `all`, or names with commas between them. Throws: InputError, SimulationError; with `all`
/// only where not one algorithm can run.
Rows run_sizes(const std::string& algorithm, const collective::Communicator& communicator,
               const collective::Request& request, const std::vector<Bytes>& sizes, const replay::Settings& settings) {
    const bool is_all = algorithm == "all";
    const std::vector<std::string> names = is_all ? std::vector<std::string>() : named_algorithms(algorithm);
    Rows result;
    for (const Bytes bytes : sizes) {
        collective::Request sized = request;
        sized.bytes = bytes;
        if (is_all) {
            run_all(result, communicator, sized, settings);
        }
        for (const std::string& name : names) {
            try {
                result.rows.push_back(replay::run_collective(communicator, sized, name, settings));
            } catch (const SimulationError& problem) {
                const std::string message = fmt::format("--algorithm {}: {}", name, problem.what());
                if (name == "auto") {
                    throw SimulationError(message);
                }
                throw InputError(message);  // asked for by name where it cannot serve: bad usage, whatever the reason
            }
        }
    }
    if (result.rows.empty()) {
        throw SimulationError(fmt::format("no algorithm can do {} on these {} ranks: {}",
                                          collective::name_of(request.operation), communicator.size(),
                                          result.left_out.reasons()));
    }
    return result;
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

}  // namespace

int collective_command(const CollectiveOptions& options) {
    const MachineMeter meter;
    if (options.show_placement) {
        refuse_results_beside_placement(options.output);
    }
    const DataFiles data = DataFiles::locate();
    const EngineChoice choice = engine_choice(options.engine);
    const auto operation = collective::operation_named(options.operation);
    const std::vector<Bytes> all_sizes = sizes(options);
    check_targets(options.output);
    const InputFiles files = load_files(data, options.input);
    check_targets_against(files.paths, options.output);
    const fabric::Fabric fabric = fabric::load_fabric(files.topology, data);
    const std::vector<VertexId> placement = placement_of(fabric, options.input);
    if (options.show_placement) {
        show_placement(fabric, placement);
        return 0;
    }
    const report::Setup setup = setup_of(files, choice, fabric);
    const collective::Communicator communicator(fabric, placement);
    const auto root = id_at<RankId>(whole_number("--root", options.root, 0, placement.size() - 1));

    fabric::Router router(fabric, setup.routing, setup.seed);
    const auto simulate = [&] {
        Progress progress(options.output.quiet ? Verbosity::quiet : Verbosity::normal);
        replay::Settings settings;
        settings.make_engine = choice.engine->make;
        settings.router = &router;
        settings.on_progress = [&](Seconds now, std::uint64_t messages) { progress.show(now, messages); };
        return run_sizes(options.algorithm, communicator, {.operation = operation, .root = root}, all_sizes, settings);
    };
    const Rows result = simulate();
    const report::CollectiveReport report{fabric,
                                          placement,
                                          operation,
                                          root,
                                          options.algorithm,
                                          result.rows,
                                          setup,
                                          result.left_out.notes(all_sizes.size()),
                                          meter.use(options.output.machine_figures)};
    write_outputs(outputs_of(report, options.output));
    return 0;
}

}  // namespace lockstep::cli
