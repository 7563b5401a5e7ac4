#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/explain_topology.h"
#include "sim/cli/flags.h"
#include "sim/cli/inputs.h"
#include "sim/cli/output.h"
#include "sim/cli/size_matrix.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engines.h"
#include "sim/fabric/load_fabric.h"
#include "sim/replay/replay.h"
#include "sim/report/explain.h"
#include "sim/report/explain_json.h"
#include "sim/report/explain_page.h"
#include "sim/report/explain_text.h"

namespace lockstep::cli {

namespace {

constexpr const char* explain_examples = R"(Examples:
  lockstep explain ring --ranks 4
  lockstep explain ring --ranks 4 --html ring.html
  lockstep explain tree --op broadcast --ranks 6 --pieces 2
  lockstep explain nvls --ranks 8
  lockstep explain hierarchical --topology dgx-h100 --set nodes=2 --html hierarchical.html

Without --topology the ranks stand at one switch, or where the algorithm shows what it is for.)";

/// More ranks than anybody can follow; what a step is like does not change with more.
constexpr std::uint32_t most_ranks = 64;
/// Of messages: what a page can hold.
constexpr double most_messages = 40000;

struct ExplainOptions {
    InputOptions input;
    OutputOptions output;
    TuningOptions tuning;
    std::string algorithm;
    std::optional<std::string> operation;
    std::optional<std::string> root;
    std::string bytes = "1M";
    std::optional<std::string> matrix;
    std::string colour = "auto";
    std::optional<std::string> html;
};

/// The fabric that is drawn, the ranks on it, and what is asked of them. Where the parts point at each other they stay.
struct Scene {
    fabric::Fabric fabric;
    std::vector<InputPath> paths;
    std::optional<collective::Communicator> communicator = {};
    collective::Request request = {};
};

collective::Operation operation_for(const collective::Algorithm& algorithm, const ExplainOptions& options) {
    const auto does = [&](collective::Operation operation) {
        return std::ranges::find(algorithm.operations, operation) != algorithm.operations.end();
    };
    if (!options.operation) {
        return does(collective::Operation::all_reduce) ? collective::Operation::all_reduce
                                                       : algorithm.operations.front();
    }
    const collective::Operation operation = collective::operation_named(*options.operation);
    if (!does(operation)) {
        std::vector<std::string_view> known;
        for (const collective::Operation other : algorithm.operations) {
            known.push_back(collective::name_of(other));
        }
        throw InputError(fmt::format("--op: {} does not do {}; it does {}", algorithm.name, *options.operation,
                                     fmt::join(known, ", ")));
    }
    return operation;
}

collective::Request request_for(const collective::Algorithm& algorithm, const ExplainOptions& options,
                                std::size_t ranks) {
    collective::Request request{.operation = operation_for(algorithm, options), .tuning = tuning(options.tuning)};
    if (request.operation == collective::Operation::all_to_all_v) {
        if (!options.matrix) {
            throw InputError("--sizes is required: of all_to_all_v, what each rank has for each");
        }
        request.sizes = size_matrix_from(*options.matrix, static_cast<std::uint32_t>(ranks));
        request.bytes = largest_row(*request.sizes);
    } else if (options.matrix) {
        throw InputError("--sizes is for --op all_to_all_v only");
    } else if (request.operation != collective::Operation::barrier) {
        request.bytes = size("--bytes", options.bytes);
    }
    if (options.root && !collective::has_root(request.operation)) {
        throw InputError(fmt::format("--root: {} has no root", collective::name_of(request.operation)));
    }
    request.root = id_at<RankId>(whole_number("--root", options.root.value_or("0"), 0, ranks - 1));
    return request;
}

std::vector<VertexId> first_of_each_node(const fabric::Fabric& fabric, std::uint32_t count) {
    std::vector<VertexId> placement;
    for (std::size_t node = 0; node < fabric.node_count(); ++node) {
        const auto gpus = fabric.gpus_of(id_at<NodeId>(node));
        placement.insert(placement.end(), gpus.begin(), gpus.begin() + count);
    }
    return placement;
}

/// The scene on the topology that was named.
std::unique_ptr<Scene> named_scene(const DataFiles& data, const ExplainOptions& options,
                                   const collective::Algorithm& algorithm) {
    const InputFiles files = load_files(data, options.input);
    auto scene = std::make_unique<Scene>(Scene{fabric::load_fabric(files.topology, data), files.paths});
    const std::vector<VertexId> placement = placement_of(scene->fabric, options.input);
    if (placement.size() > most_ranks) {
        throw InputError(fmt::format("--ranks: {} has {} GPUs, and explain shows at most {} ranks: say how many",
                                     scene->fabric.name(), placement.size(), most_ranks));
    }
    scene->communicator.emplace(scene->fabric, placement);
    scene->request = request_for(algorithm, options, placement.size());
    if (const auto obstacle = algorithm.obstacle(*scene->communicator, scene->request)) {
        throw InputError(fmt::format("{} cannot be used here: {}", algorithm.name, *obstacle));
    }
    return scene;
}

/// The scene on the first place that suits.
std::unique_ptr<Scene> chosen_scene(const DataFiles& data, const ExplainOptions& options,
                                    const collective::Algorithm& algorithm) {
    if (options.input.placement) {
        throw InputError("--placement names GPUs of a topology: say --topology, too");
    }
    std::optional<std::uint32_t> ranks;
    if (options.input.ranks) {
        ranks = static_cast<std::uint32_t>(whole_number("--ranks", *options.input.ranks, 1, most_ranks));
    }
    std::optional<std::string> reason;
    for (const ShowPlace& place : show_places(algorithm, ranks)) {
        InputOptions input = options.input;
        input.topology = place.topology;
        input.settings.insert(input.settings.begin(), place.settings.begin(), place.settings.end());
        const InputFiles files = load_files(data, input);
        auto scene = std::make_unique<Scene>(Scene{fabric::load_fabric(files.topology, data), files.paths});
        scene->communicator.emplace(scene->fabric, place.ranks_per_node
                                                       ? first_of_each_node(scene->fabric, *place.ranks_per_node)
                                                       : collective::default_placement(scene->fabric, place.ranks));
        scene->request = request_for(algorithm, options, scene->communicator->size());
        const auto obstacle = algorithm.obstacle(*scene->communicator, scene->request);
        if (!obstacle) {
            return scene;
        }
        reason = reason.value_or(*obstacle);
    }
    throw InputError(fmt::format("{} cannot be shown without --topology: {}", algorithm.name, *reason));
}

/// Asks for few pieces where the algorithm would by itself cut the data into more than anybody can follow.
collective::Request legible(const collective::Algorithm& algorithm, const Scene& scene) {
    constexpr std::uint32_t most_chunks = 16;
    collective::Request request = scene.request;
    const std::uint32_t by_itself = algorithm.make(*scene.communicator, request).chunks;
    if (request.tuning.pieces || by_itself <= most_chunks) {
        return request;
    }
    for (const std::uint32_t pieces : {4U, 2U}) {
        request.tuning.pieces = pieces;
        const std::uint32_t chunks = algorithm.make(*scene.communicator, request).chunks;
        if (chunks <= most_chunks || (pieces == 2 && chunks < by_itself)) {
            return request;
        }
    }
    return scene.request;
}

report::Colour colour_of(const std::string& text) {
    if (text == "always" || text == "never") {
        return text == "always" ? report::Colour::always : report::Colour::never;
    }
    if (text != "auto") {
        const std::vector<std::string> known{"auto", "always", "never"};
        throw InputError(fmt::format("--color: expected auto, always or never, got {}{}", excerpt(text),
                                     nearest_word(text, known) ? suggestion(text, known) : ""));
    }
    const auto set = [](const char* name) {
        const char* const value = std::getenv(name);
        return value == nullptr ? std::string() : std::string(value);
    };
    const bool wanted = ::isatty(STDOUT_FILENO) == 1 && set("NO_COLOR").empty() && set("TERM") != "dumb";
    return wanted ? report::Colour::always : report::Colour::never;
}

/// As wide as the terminal; elsewhere as every other report.
report::TextLimits limits_here() {
    report::TextLimits limits;
    winsize window{};
    constexpr unsigned short narrowest = 40;
    if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        limits.width = std::max(window.ws_col, narrowest);
    }
    return limits;
}

std::vector<std::string> targets_of(const ExplainOptions& options) {
    std::vector<std::string> targets;
    for (const auto& target : {options.output.json, options.html}) {
        if (target) {
            targets.push_back(*target);
        }
    }
    return targets;
}

int explain(const ExplainOptions& options) {
    const DataFiles data = DataFiles::locate();
    const report::Colour colour = colour_of(options.colour);
    const collective::Algorithm& algorithm = collective::algorithm_named(options.algorithm);
    check_targets(targets_of(options));
    const std::unique_ptr<Scene> scene =
        options.input.topology.empty() ? chosen_scene(data, options, algorithm) : named_scene(data, options, algorithm);
    refuse_inputs_as_targets(targets_of(options), scene->paths);
    const collective::Communicator& communicator = *scene->communicator;
    const collective::Request request = legible(algorithm, *scene);
    if (const double messages = algorithm.messages(communicator, request); messages > most_messages) {
        throw InputError(
            fmt::format("{} messages are more than can be shown ({}): ask for fewer --ranks, --channels or "
                        "--pieces",
                        messages, most_messages));
    }
    const collective::Schedule schedule = algorithm.make(communicator, request);
    fabric::Router router(scene->fabric, scene->fabric.routing(), 1);
    replay::Settings settings;
    settings.make_engine = engine::engines().front().make;
    settings.router = &router;
    report::Lesson lesson{.communicator = communicator,
                          .schedule = schedule,
                          .request = request,
                          .router = router,
                          .summary = algorithm.summary,
                          .cost = algorithm.cost(communicator, request),
                          .run = replay::run_schedule(communicator, schedule, request.bytes, settings)};
    if (request.tuning.pieces != scene->request.tuning.pieces) {
        lesson.own_choice = replay::run_schedule(communicator, algorithm.make(communicator, scene->request),
                                                 scene->request.bytes, settings);
    }
    const report::Explanation explanation = report::explain(lesson);

    std::vector<Output> outputs;
    if (options.html) {
        outputs.push_back({*options.html, [&](std::ostream& out) { report::write_page(out, explanation); }});
    }
    if (options.output.json) {
        outputs.push_back({*options.output.json, [&](std::ostream& out) { report::write_json(out, explanation); }});
    }
    const std::vector<std::string> targets = targets_of(options);
    if (!options.html && std::ranges::none_of(targets, is_standard_output)) {
        outputs.push_back(
            {"-", [&](std::ostream& out) { report::write_text(out, explanation, colour, limits_here()); }});
    }
    write_outputs(outputs);
    if (options.html && std::ranges::none_of(targets, is_standard_output)) {
        say(fmt::format("{} written: open it in a browser", *options.html));
    }
    return explanation.proof.holds() ? done : cannot_finish;
}

}  // namespace

void add_explain(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<ExplainOptions>();
    CLI::App& command = *app.add_subcommand("explain", "An algorithm step by step, here or as an animated page");
    command.add_option("ALGORITHM", options->algorithm, "A name of `lockstep list algorithms`")
        ->type_name("")
        ->required();
    command.add_option("--topology", options->input.topology, "Where the ranks are (default: one switch)")
        ->type_name("TOPOLOGY")
        ->group("Input");
    add_settings(command, options->input);
    command.add_option("--ranks", options->input.ranks, "How many GPUs take part (default: 4, or all of --topology)")
        ->type_name("N")
        ->group("Input");
    add_placement(command, options->input);
    const auto option = [&](const char* name, auto& value, const char* help, const char* type, const char* group) {
        return command.add_option(name, value, help)->type_name(type)->group(group);
    };
    option("--op", options->operation, "Operation (default: all_reduce, or the first that it does)", "OP",
           "Collective");
    option("--bytes", options->bytes, "Size, as nccl-tests counts it", "SIZE", "Collective")->capture_default_str();
    option("--root", options->root, "Rank that broadcasts, or at which others end (default: 0)", "RANK", "Collective");
    option("--sizes", options->matrix, "Of all_to_all_v: a line for each rank, with what it has for each, as CSV",
           "FILE", "Collective");
    add_tuning(command, options->tuning);
    option("--color", options->colour, "auto, always or never", "WHEN", "Output")->capture_default_str();
    option("--html", options->html, "Write a page that animates it, instead of text", "FILE", "Output");
    add_json(command, options->output);
    command.footer(explain_examples);
    commands.push_back({&command, [options] { return explain(*options); }});
}

}  // namespace lockstep::cli
