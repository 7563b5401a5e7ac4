#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"

namespace lockstep::cli {

namespace {

constexpr const char* main_examples = R"(Examples:
  lockstep run dgx-h100 gpt2-xl-ddp --set nodes=4
  lockstep collective dgx-h100 --op all_reduce -b 1M -e 1G
  lockstep topology show dgx-a100 --set nodes=2
  lockstep list topologies

TOPOLOGY and WORKLOAD are paths of YAML files, or names that `lockstep list` prints.
Exit codes: 0 done, 1 the simulation could not finish, 2 bad input or usage.)";

/// The command line: what it can say, where that is kept, and what is to be done then.
class CommandLine {
  public:
    CommandLine() {
        app_.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
        app_.footer(main_examples);
        app_.require_subcommand(1);
        app_.get_formatter()->label("REQUIRED", "");
        add_run(app_, commands_);
        add_collective(app_, commands_);
        add_topology_commands(app_, commands_);
        add_explain(app_, commands_);
        add_verify(app_, commands_);
        add_import(app_, commands_);
        add_export(app_, commands_);
        add_list(app_, commands_);
        refuse_values_of_flags(app_);
    }

    CLI::App& app() { return app_; }

    int execute() {
        return std::ranges::find_if(commands_, [](const Command& command) { return command.parsed->parsed(); })->run();
    }

  private:
    /// CLI11 would take `--quiet=5`.
    static void refuse_values_of_flags(CLI::App& app) {
        for (CLI::Option* const option : app.get_options()) {
            if (option->get_items_expected_max() == 0) {
                option->disable_flag_override();
            }
        }
        for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; })) {
            refuse_values_of_flags(*command);
        }
    }

    CLI::App app_{"Lockstep simulates the interconnect of a training cluster: step time, GPU idle time, and why.",
                  "lockstep"};
    Commands commands_;
};

/// The innermost command that was understood.
CLI::App& deepest_command(CLI::App& app) {
    CLI::App* command = &app;
    while (!command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
    }
    return *command;
}

/// "lockstep topology show"
std::string full_name(const CLI::App& command) {
    return command.get_parent() == nullptr ? "lockstep"
                                           : fmt::format("{} {}", full_name(*command.get_parent()), command.get_name());
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* const option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

/// How to set what somebody took for a flag, where it is like none and may be a parameter of a file.
std::string setting_hint(const std::string& flag, const CLI::App& command) {
    const std::vector<std::string> flags = flag_names(command);
    const bool has_settings = std::ranges::find(flags, "--set") != flags.end();
    if (!has_settings || !flag.starts_with("--") || flag.size() < 3 || nearest_word(flag, flags)) {
        return {};
    }
    return fmt::format("; a parameter of a file is set with --set {}=VALUE", flag.substr(2));
}

/// Whether a command has the flag, long or short.
bool has_flag(const CLI::App& command, const std::string& flag) {
    const std::vector<const CLI::Option*> options = command.get_options();
    return std::ranges::any_of(
        options, [&](const CLI::Option* option) { return !option->get_positional() && option->check_name(flag); });
}

/// The command that has a flag which stands before its name; null if none has it. `app` is where the flag was met.
const CLI::App* command_of_early_flag(const CLI::App& app, const CLI::App& deepest, const std::string& flag) {
    if (&app != &deepest) {
        return has_flag(deepest, flag) ? &deepest : nullptr;
    }
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
        const CLI::App* const found =
            has_flag(*command, flag) ? command : command_of_early_flag(*command, *command, flag);
        if (found != nullptr) {
            return found;
        }
    }
    return nullptr;
}

/// The command at which the first argument that is left was met.
const CLI::App& command_of_rest(const CLI::App& app) {
    const CLI::App* command = &app;
    while (command->remaining().empty() && !command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
    }
    return *command;
}

std::string unknown_flag(const CLI::App& app, const CLI::App& command, const std::string& flag) {
    if (const CLI::App* const owner = command_of_early_flag(command_of_rest(app), command, flag)) {
        return fmt::format("flags stand behind the command: {} … {}", full_name(*owner), flag);
    }
    return fmt::format("unknown flag {}{}{}", excerpt(flag), suggestion(flag, flag_names(command)),
                       setting_hint(flag, command));
}

/// The first argument that a command needs and did not get; null if it got all.
const CLI::Option* missing_option(const CLI::App& command) {
    const std::vector<const CLI::Option*> options = command.get_options();
    const auto missing = std::ranges::find_if(
        options, [](const CLI::Option* option) { return option->get_required() && option->count() == 0; });
    return missing == options.end() ? nullptr : *missing;
}

/// What is wrong with the usage, in our words where CLI11's name no remedy.
std::string usage_message(CLI::App& app, const CLI::ParseError& error) {
    CLI::App& command = deepest_command(app);
    const std::vector<std::string> rest = app.remaining(true);
    const std::vector<std::string> commands = command_names(command);
    if (!rest.empty() && rest.front().starts_with("-") && rest.front() != "-") {
        const std::string flag = rest.front().substr(0, rest.front().find('='));
        return unknown_flag(app, command, flag);
    }
    if (!commands.empty()) {
        return rest.empty()
                   ? fmt::format("expected a command: {}", fmt::join(commands, ", "))
                   : fmt::format("unknown command {}{}", excerpt(rest.front()), suggestion(rest.front(), commands));
    }
    if (!rest.empty()) {
        return fmt::format("unexpected argument {}", excerpt(rest.front()));
    }
    const std::string what = error.what();
    if (const std::size_t end = what.find(" was given a disallowed flag override"); end != std::string::npos) {
        return fmt::format("{} takes no value", excerpt((end == 1 ? "-" : "--") + what.substr(0, end)));
    }
    const CLI::Option* const missing = missing_option(command);
    if (missing != nullptr && error.get_name() == "RequiredError") {
        return fmt::format("{} is required: {}", missing->get_name(), missing->get_description());
    }
    return what;
}

void print_error(std::string_view message) { say(fmt::format("lockstep: error: {}", message)); }

int print(const std::string& text) {
    const std::vector<Output> outputs{{"-", [&](std::ostream& out) { out << text; }}};
    write_outputs(outputs);
    return done;
}

/// Keeps files that are opened later from taking the place of a standard stream that was closed by whoever started us:
/// results would end up in them. Output to such a stream fails, as it should.
void fill_closed_streams() {
    for (const int stream : {0, 1, 2}) {
        if (::fcntl(stream, F_GETFD) < 0) {
            // Opened for the other direction, so that using it stays an error. The lowest free number is the one looked
            // at.
            if (::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0) {
                ::open("/", O_RDONLY | O_DIRECTORY);  // where there are no devices
            }
        }
    }
}

int parse_and_execute(int argument_count, char** arguments) {
    CommandLine line;
    try {
        line.app().parse(argument_count, arguments);
    } catch (const CLI::CallForHelp&) {
        return print(line.app().help());
    } catch (const CLI::CallForVersion& version) {
        return print(fmt::format("{}\n", version.what()));
    } catch (const CLI::ParseError& error) {
        print_error(usage_message(line.app(), error));
        say(fmt::format("Try: {} --help", full_name(deepest_command(line.app()))));
        return bad_input;
    }
    return line.execute();
}

/// Turns everything that can go wrong into a message and an exit code.
int exit_code_of(int argument_count, char** arguments) {
    try {
        return parse_and_execute(argument_count, arguments);
    } catch (const InputError& error) {
        print_error(error.what());
        return bad_input;
    } catch (const SimulationError& error) {
        print_error(error.what());
    } catch (const OutputError& error) {
        print_error(error.what());
    } catch (const std::bad_alloc&) {
        print_error("out of memory");
    } catch (const std::exception& error) {
        print_error(fmt::format("this should not have happened: {}", error.what()));
    }
    return cannot_finish;
}

}  // namespace

}  // namespace lockstep::cli

int main(int argument_count, char** arguments) {
    lockstep::cli::fill_closed_streams();
    std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is then an error of the write that meets it
    return lockstep::cli::exit_code_of(argument_count, arguments);
}
