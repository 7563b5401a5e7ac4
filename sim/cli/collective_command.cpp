#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/inputs.h"
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

/// The algorithms to run at each size, and what there is to say about those left out.
struct AlgorithmChoice {
    std::vector<std::string> names;
    std::vector<std::string> notes;
};

/// Those of `all` that can serve, with a note for each that cannot.
AlgorithmChoice every_algorithm(const collective::Communicator& communicator, const collective::Request& request) {
    AlgorithmChoice choice;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        if (std::ranges::find(algorithm.operations, request.operation) == algorithm.operations.end()) {
            continue;
        }
        if (const auto obstacle = algorithm.obstacle(communicator, request)) {
            choice.notes.push_back(fmt::format("left out: {}", *obstacle));
        } else if (const double messages = algorithm.messages(communicator, request); messages > most_messages) {
            choice.notes.push_back(fmt::format("left out: {} would take {:.1e} messages", algorithm.name, messages));
        } else {
            choice.names.push_back(algorithm.name);
        }
    }
    if (choice.names.empty()) {
        throw InputError(fmt::format("--algorithm all: none does {} here", collective::name_of(request.operation)));
    }
    return choice;
}

AlgorithmChoice algorithm_choice(const std::string& text, const collective::Communicator& communicator,
                                 const collective::Request& request) {
    if (text == "all") {
        return every_algorithm(communicator, request);
    }
    AlgorithmChoice choice{words("--algorithm", text), {}};
    for (const std::string& name : choice.names) {
        if (name != "auto") {
            collective::algorithm_named(name);  // refuses unknown names before anything is simulated
        }
    }
    return choice;
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

void show_placement(const fabric::Fabric& fabric, const std::vector<VertexId>& placement) {
    const std::vector<Output> outputs{
        {"-", [&](std::ostream& out) { report::write_placement(out, fabric, placement); }}};
    write_outputs(outputs);
}

}  // namespace

int collective_command(const CollectiveOptions& options) {
    const MachineMeter meter;
    const DataFiles data = DataFiles::locate();
    const EngineChoice choice = engine_choice(options.engine);
    const auto operation = collective::operation_named(options.operation);
    const std::vector<Bytes> all_sizes = sizes(options);
    check_targets(options.output);
    const InputFiles files = load_files(data, options.input);
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
    std::vector<replay::CollectiveRun> rows;
    std::vector<std::string> notes;
    const auto simulate = [&] {
        Progress progress(options.output.quiet ? Verbosity::quiet : Verbosity::normal);
        replay::Settings settings;
        settings.make_engine = choice.engine->make;
        settings.router = &router;
        settings.on_progress = [&](Seconds now, std::uint64_t messages) { progress.show(now, messages); };
        for (const Bytes bytes : all_sizes) {
            const collective::Request request{operation, bytes, root};
            const AlgorithmChoice algorithms = algorithm_choice(options.algorithm, communicator, request);
            for (const std::string& name : algorithms.names) {
                rows.push_back(replay::run_collective(communicator, request, name, settings));
            }
            for (const std::string& note : algorithms.notes) {
                if (std::ranges::find(notes, note) == notes.end()) {
                    notes.push_back(note);
                }
            }
        }
    };
    simulate();
    const report::CollectiveReport report{fabric,
                                          placement,
                                          operation,
                                          root,
                                          options.algorithm,
                                          rows,
                                          setup,
                                          notes,
                                          meter.use(options.output.machine_figures)};
    write_outputs(outputs_of(report, options.output));
    return 0;
}

}  // namespace lockstep::cli
