#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/prover.h"
#include "sim/fabric/load_fabric.h"
#include "sim/report/proof_report.h"

namespace lockstep::cli {

namespace {

constexpr const char* verify_examples = R"(Examples:
  lockstep verify ring --ranks 16
  lockstep verify halving-doubling --op all_reduce --ranks 12
  lockstep verify hierarchical --topology dgx-h100 --set nodes=4
  lockstep verify my-schedule.yaml

Without --topology the ranks stand at one switch that can reduce. Without --op every operation that the algorithm does
is tried, and without --root every root of up to 64 ranks.
Exit codes: 0 proved, 1 not proved, 2 bad input or usage.)";

constexpr std::uint32_t most_ranks = 65'536;
/// How many ranks may have a proof for each of them as root.
constexpr std::uint32_t most_roots = 64;

struct VerifyOptions {
    InputOptions input;
    OutputOptions output;
    TuningOptions tuning;
    std::string schedule;
    std::optional<std::string> operation;
    std::optional<std::string> root;
    std::string bytes = "1M";
    std::optional<std::string> matrix;
};

/// Where the ranks are. Where the parts point at each other they stay.
struct Site {
    fabric::Fabric fabric;
    std::vector<InputPath> paths;
    std::optional<collective::Communicator> communicator = {};
};

const collective::Algorithm* algorithm_of(const DataFiles& data, const std::string& name) {
    if (names_schedule_file(data, name)) {
        return nullptr;
    }
    const auto found = std::ranges::find(collective::algorithms(), name, &collective::Algorithm::name);
    if (found == collective::algorithms().end()) {
        throw InputError(fmt::format("{}: neither a file, a shipped schedule nor an algorithm{}", excerpt(name),
                                     suggestion(name, schedule_names(data))));
    }
    return &*found;
}

/// What is to be proved of an algorithm. Throws: InputError for one that it does not do.
std::vector<collective::Operation> operations_of(const collective::Algorithm& algorithm, const VerifyOptions& options) {
    if (!options.operation) {
        return algorithm.operations;
    }
    const collective::Operation operation = collective::operation_named(*options.operation);
    if (std::ranges::find(algorithm.operations, operation) == algorithm.operations.end()) {
        std::vector<std::string_view> known;
        for (const collective::Operation other : algorithm.operations) {
            known.push_back(collective::name_of(other));
        }
        throw InputError(fmt::format("--op: {} does not do {}; it does {}", algorithm.name, *options.operation,
                                     fmt::join(known, ", ")));
    }
    return {operation};
}

/// Sizes of all_to_all_v: as asked for, or one for each pair, some of them 0.
std::shared_ptr<const collective::SizeMatrix> sizes_for(const VerifyOptions& options, std::uint32_t ranks) {
    if (options.matrix) {
        return size_matrix_from(*options.matrix, ranks);
    }
    auto sizes = std::make_shared<collective::SizeMatrix>(collective::SizeMatrix{.ranks = ranks});
    for (std::uint32_t from = 0; from < ranks; ++from) {
        for (std::uint32_t to = 0; to < ranks; ++to) {
            sizes->bytes.push_back({std::int64_t{(from + 3 * to) % 7} * 1024});
        }
    }
    return sizes;
}

collective::Request request_for(collective::Operation operation, const VerifyOptions& options, std::uint32_t ranks) {
    collective::Request request{.operation = operation, .tuning = tuning(options.tuning)};
    if (operation == collective::Operation::all_to_all_v) {
        request.sizes = sizes_for(options, ranks);
        request.bytes = largest_row(*request.sizes);
    } else if (operation != collective::Operation::barrier) {
        request.bytes = size("--bytes", options.bytes);
    }
    return request;
}

/// The roots to try. Empty where there are none.
std::vector<RankId> roots_of(collective::Operation operation, const VerifyOptions& options, std::uint32_t ranks) {
    if (!collective::has_root(operation)) {
        return {};
    }
    if (options.root) {
        return {id_at<RankId>(whole_number("--root", *options.root, 0, ranks - 1))};
    }
    std::vector<RankId> roots;
    for (std::uint32_t root = 0; root < (ranks > most_roots ? 1 : ranks); ++root) {
        roots.push_back(id_at<RankId>(root));
    }
    return roots;
}

/// Adds what one proof shows. Returns: whether it holds.
bool prove_one(const collective::Schedule& schedule, Bytes bytes, report::ProvedOperation& tried) {
    tried.channels = std::max(tried.channels, schedule.channels);
    tried.chunks = std::max(tried.chunks, schedule.chunks);
    for (const auto turns : {collective::Turns::forward, collective::Turns::backward}) {
        collective::Proof proof = collective::prove(schedule, bytes, turns);
        if (!proof.holds()) {
            tried.findings = std::move(proof.findings);
            return false;
        }
        tried.races_checked = tried.races_checked && proof.races_checked;
        tried.messages = std::max(tried.messages, proof.messages);
        tried.steps = std::max(tried.steps, proof.depth);
        tried.most_sent = std::max(tried.most_sent, Bytes{*std::ranges::max_element(proof.bytes_out)});
        tried.most_received = std::max(tried.most_received, Bytes{*std::ranges::max_element(proof.bytes_in)});
    }
    return true;
}

report::ProvedOperation prove_operation(const collective::Algorithm& algorithm,
                                        const collective::Communicator& communicator, collective::Request request,
                                        const std::vector<RankId>& roots) {
    report::ProvedOperation tried{.operation = request.operation, .roots = roots, .bytes = request.bytes};
    if (roots.empty()) {
        prove_one(algorithm.make(communicator, request), request.bytes, tried);
        return tried;
    }
    for (const RankId root : roots) {
        request.root = root;
        if (!prove_one(algorithm.make(communicator, request), request.bytes, tried)) {
            tried.failed_root = root;
            break;
        }
    }
    return tried;
}

std::unique_ptr<Site> site_on(const DataFiles& data, const InputOptions& input) {
    const InputFiles files = load_files(data, input);
    auto site = std::make_unique<Site>(Site{fabric::load_fabric(files.topology, data), files.paths});
    site->communicator.emplace(site->fabric, placement_of(site->fabric, input));
    return site;
}

/// The first root, if there are any, for which the algorithm cannot serve, and why not.
std::optional<std::string> obstacle_of(const collective::Algorithm& algorithm,
                                       const collective::Communicator& communicator, collective::Request request,
                                       const std::vector<RankId>& roots) {
    for (const RankId root : roots.empty() ? std::vector<RankId>{RankId{0}} : roots) {
        request.root = root;
        if (auto obstacle = algorithm.obstacle(communicator, request)) {
            return obstacle;
        }
    }
    return std::nullopt;
}

/// Proves what of `operations` the algorithm can do there, and notes the rest.
report::ProofReport prove_algorithm(const collective::Algorithm& algorithm,
                                    const std::vector<collective::Operation>& operations, const Site& site,
                                    const VerifyOptions& options) {
    const auto ranks = static_cast<std::uint32_t>(site.communicator->size());
    report::ProofReport report{.schedule = algorithm.name, .topology = site.fabric.name(), .ranks = ranks};
    for (const collective::Operation operation : operations) {
        const collective::Request request = request_for(operation, options, ranks);
        const std::vector<RankId> roots = roots_of(operation, options, ranks);
        if (const auto obstacle = obstacle_of(algorithm, *site.communicator, request, roots)) {
            report.notes.push_back(fmt::format("{} left out: {}", collective::name_of(operation), *obstacle));
            continue;
        }
        if (roots.size() == 1 && ranks > 1 && !options.root) {
            report.notes.push_back(fmt::format("{}: of more than {} roots only rank 0 was tried",
                                               collective::name_of(operation), most_roots));
        }
        report.operations.push_back(prove_operation(algorithm, *site.communicator, request, roots));
    }
    return report;
}

/// On the topology that was named, else on the first that suits.
std::unique_ptr<Site> site_for(const DataFiles& data, const collective::Algorithm& algorithm,
                               const std::vector<collective::Operation>& operations, const VerifyOptions& options) {
    if (!options.input.topology.empty()) {
        return site_on(data, options.input);
    }
    if (options.input.placement || !options.input.settings.empty()) {
        throw InputError(fmt::format("{} is about a topology: say --topology, too",
                                     options.input.placement ? "--placement" : "--set"));
    }
    constexpr std::uint32_t default_ranks = 8;
    const auto ranks = options.input.ranks
                           ? static_cast<std::uint32_t>(whole_number("--ranks", *options.input.ranks, 1, most_ranks))
                           : default_ranks;
    auto site = std::make_unique<Site>(Site{switch_of(data, ranks), {}});
    site->communicator.emplace(site->fabric, collective::default_placement(site->fabric, std::nullopt));
    std::optional<std::string> reason;
    for (const collective::Operation operation : operations) {
        const auto obstacle = obstacle_of(algorithm, *site->communicator, request_for(operation, options, ranks),
                                          roots_of(operation, options, ranks));
        if (!obstacle) {
            return site;
        }
        reason = obstacle;
    }
    throw InputError(fmt::format("{} cannot be used at one switch: {}; name another place with --topology",
                                 algorithm.name, reason.value_or("it does nothing")));
}

/// Throws: InputError for what only algorithms take.
report::ProofReport prove_file(const DataFiles& data, const VerifyOptions& options, const Site* site) {
    ScheduleQuery query{.name = options.schedule, .tuning = tuning(options.tuning)};
    if (options.operation) {
        query.operation = collective::operation_named(*options.operation);
    }
    if (options.input.ranks && site == nullptr) {
        query.ranks = static_cast<std::uint32_t>(whole_number("--ranks", *options.input.ranks, 1, most_ranks));
    }
    if (options.root) {
        query.root = id_at<RankId>(whole_number("--root", *options.root, 0, most_ranks - 1));
    }
    if (site != nullptr) {
        query.communicator = &*site->communicator;
    }
    if (options.matrix) {
        if (site == nullptr && !query.ranks) {
            throw InputError("--sizes is for as many ranks as --ranks says: say how many");
        }
        query.sizes = size_matrix_from(
            *options.matrix, site == nullptr ? *query.ranks : static_cast<std::uint32_t>(site->communicator->size()));
    }
    query.bytes = size("--bytes", options.bytes);
    const collective::Schedule schedule = schedule_named(data, query);
    report::ProvedOperation tried{.operation = schedule.operation, .bytes = query.bytes};
    if (schedule.operation == collective::Operation::barrier) {
        tried.bytes = {};
    } else if (schedule.sizes) {
        tried.bytes = largest_row(*schedule.sizes);
    }
    if (collective::has_root(schedule.operation)) {
        tried.roots = {schedule.root};
    }
    if (!prove_one(schedule, tried.bytes, tried) && !tried.roots.empty()) {
        tried.failed_root = schedule.root;
    }
    report::ProofReport report{.schedule = options.schedule, .ranks = schedule.ranks, .operations = {tried}};
    if (site != nullptr) {
        report.topology = site->fabric.name();
    }
    return report;
}

/// The files that are read, that with the sizes among them if there is one.
std::vector<InputPath> with_matrix(std::vector<InputPath> paths, const VerifyOptions& options) {
    if (options.matrix) {
        paths.push_back({"table of sizes", *options.matrix});
    }
    return paths;
}

report::ProofReport report_on(const DataFiles& data, const VerifyOptions& options) {
    const collective::Algorithm* const algorithm = algorithm_of(data, options.schedule);
    if (algorithm == nullptr) {
        const auto site = options.input.topology.empty() ? nullptr : site_on(data, options.input);
        std::vector<InputPath> paths = site ? site->paths : std::vector<InputPath>{};
        paths.push_back({"schedule", schedule_path(data, options.schedule)});
        check_targets_against(with_matrix(std::move(paths), options), options.output);
        return prove_file(data, options, site.get());
    }
    const std::vector<collective::Operation> operations = operations_of(*algorithm, options);
    if (options.matrix && std::ranges::find(operations, collective::Operation::all_to_all_v) == operations.end()) {
        throw InputError("--sizes is for all_to_all_v only");
    }
    if (options.root && std::ranges::none_of(operations, collective::has_root)) {
        throw InputError("--root: none of what is to be proved has a root");
    }
    const auto site = site_for(data, *algorithm, operations, options);
    check_targets_against(with_matrix(site->paths, options), options.output);
    report::ProofReport report = prove_algorithm(*algorithm, operations, *site, options);
    if (report.operations.empty()) {
        throw InputError(fmt::format("{} cannot be used there: {}", algorithm->name, report.notes.front()));
    }
    return report;
}

int verify(const VerifyOptions& options) {
    check_targets(options.output);
    const DataFiles data = DataFiles::locate();
    const report::ProofReport report = report_on(data, options);
    std::vector<Output> outputs;
    if (options.output.json) {
        outputs.push_back({*options.output.json, [&](std::ostream& out) { report::write_json(out, report); }});
    }
    if (!takes_standard_output(options.output)) {
        outputs.push_back({"-", [&](std::ostream& out) { report::write_text(out, report); }});
    }
    write_outputs(outputs);
    return report.holds() ? done : cannot_finish;
}

}  // namespace

void add_verify(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<VerifyOptions>();
    CLI::App& command = *app.add_subcommand("verify", "Prove that a schedule delivers what its operation promises");
    command
        .add_option("SCHEDULE", options->schedule, "A name of `lockstep list algorithms`, or a file with a schedule")
        ->type_name("")
        ->required();
    const auto option = [&](const char* name, auto& value, const char* help, const char* type, const char* group) {
        return command.add_option(name, value, help)->type_name(type)->group(group);
    };
    option("--topology", options->input.topology, "Where the ranks are (default: one switch that can reduce)",
           "TOPOLOGY", "Input");
    add_settings(command, options->input);
    option("--ranks", options->input.ranks, "How many GPUs take part (default: 8, all of --topology, or the file's)",
           "N", "Input");
    add_placement(command, options->input);
    option("--op", options->operation, "Operation (default: all that the algorithm does)", "OP", "Collective");
    option("--root", options->root, "Rank that broadcasts, or at which others end (default: every one in turn)", "RANK",
           "Collective");
    option("--bytes", options->bytes, "Size, as nccl-tests counts it", "SIZE", "Collective")->capture_default_str();
    option("--sizes", options->matrix, "Of all_to_all_v: a line for each rank, with what it has for each, as CSV",
           "FILE", "Collective");
    add_tuning(command, options->tuning);
    add_json(command, options->output);
    command.footer(verify_examples);
    commands.push_back({&command, [options] { return verify(*options); }});
}

}  // namespace lockstep::cli
