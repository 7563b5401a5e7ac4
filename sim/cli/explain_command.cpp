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
#include "sim/cli/commands.h"
#include "sim/cli/explain_scene.h"
#include "sim/cli/flags.h"
#include "sim/cli/output.h"
#include "sim/cli/targets.h"
#include "sim/engine/engines.h"
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
  lockstep explain chain --op broadcast --ranks 6 --pieces 3
  lockstep explain nvls --ranks 8
  lockstep explain hierarchical --topology dgx-h100 --set nodes=2 --html hierarchical.html
  lockstep explain ring-all-reduce

Without --topology the ranks stand at one switch, or where the algorithm shows what it is for.)";

struct ExplainOptions {
    SceneOptions scene;
    OutputOptions output;
    std::string colour = "auto";
    std::optional<std::string> html;
};

report::Colour colour_of(const std::string& text) {
    if (text == "always" || text == "never") {
        return text == "always" ? report::Colour::always : report::Colour::never;
    }
    if (text != "auto") {
        throw InputError(fmt::format("--color: expected auto, always or never, got {}", excerpt(text)));
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

/// The scene told, and simulated where it can be.
report::Explanation told(const Scene& scene, fabric::Router& router) {
    const collective::Communicator& communicator = *scene.communicator;
    report::Explanation explanation =
        report::explain({communicator, scene.schedule, scene.request, router, scene.summary, scene.cost});
    if (explanation.proof.holds()) {
        replay::Settings settings;
        settings.make_engine = engine::engines().front().make;
        settings.router = &router;
        explanation.run = replay::run_schedule(communicator, scene.schedule, scene.request.bytes, settings);
        if (scene.own_choice) {
            explanation.own_choice =
                replay::run_schedule(communicator, *scene.own_choice, scene.request.bytes, settings);
        }
    }
    return explanation;
}

int explain(const ExplainOptions& options) {
    const DataFiles data = DataFiles::locate();
    const report::Colour colour = colour_of(options.colour);
    const std::vector<std::string> targets = targets_of(options);
    check_targets(targets);
    const std::unique_ptr<Scene> scene = scene_for(data, options.scene);
    if (options.scene.matrix) {
        scene->paths.push_back({"table of sizes", *options.scene.matrix});
    }
    refuse_inputs_as_targets(targets, scene->paths);
    fabric::Router router(scene->fabric, scene->fabric.routing(), 1);
    const report::Explanation explanation = told(*scene, router);

    const bool takes_standard_output = std::ranges::any_of(targets, is_standard_output);
    std::vector<Output> outputs;
    if (options.html) {
        outputs.push_back({*options.html, [&](std::ostream& out) { report::write_page(out, explanation); }});
    }
    if (options.output.json) {
        outputs.push_back({*options.output.json, [&](std::ostream& out) { report::write_json(out, explanation); }});
    }
    if (!options.html && !takes_standard_output) {
        outputs.push_back(
            {"-", [&](std::ostream& out) { report::write_text(out, explanation, colour, limits_here()); }});
    }
    write_outputs(outputs);
    if (options.html && !is_standard_output(*options.html)) {
        say(fmt::format("{} written: open it in a browser", *options.html));
    }
    return explanation.proof.holds() ? done : cannot_finish;
}

}  // namespace

void add_explain(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<ExplainOptions>();
    SceneOptions& scene = options->scene;
    CLI::App& command = *app.add_subcommand("explain", "An algorithm step by step, here or as an animated page");
    command.add_option("ALGORITHM", scene.name, "A name of `lockstep list algorithms`, or a schedule's file")
        ->type_name("")
        ->required();
    command.add_option("--topology", scene.input.topology, "Where the ranks are (default: one switch)")
        ->type_name("TOPOLOGY")
        ->group("Input");
    add_settings(command, scene.input);
    command.add_option("--ranks", scene.input.ranks, "How many GPUs take part (default: 4, or all of --topology)")
        ->type_name("N")
        ->group("Input");
    add_placement(command, scene.input);
    const auto option = [&](const char* name, auto& value, const char* help, const char* type, const char* group) {
        return command.add_option(name, value, help)->type_name(type)->group(group);
    };
    option("--op", scene.operation, "Operation (default: all_reduce, or the first that it does)", "OP", "Collective");
    option("--bytes", scene.bytes, "Size, as nccl-tests counts it", "SIZE", "Collective")->capture_default_str();
    option("--root", scene.root, "Rank that broadcasts, or at which others end (default: 0)", "RANK", "Collective");
    option("--sizes", scene.matrix, "Of all_to_all_v: a line for each rank, with what it has for each, as CSV", "FILE",
           "Collective");
    add_tuning(command, scene.tuning);
    command.get_option("--pieces")
        ->description("Into how many pieces pipelined data is cut (default: few, so that each is seen)");
    option("--color", options->colour, "auto, always or never", "WHEN", "Output")->capture_default_str();
    option("--html", options->html, "Write a page that animates it, instead of text", "FILE", "Output");
    add_json(command, options->output);
    command.footer(explain_examples);
    commands.push_back({&command, [options] { return explain(*options); }});
}

}  // namespace lockstep::cli
