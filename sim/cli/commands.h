#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::cli {

/// A command of the command line, and what carries it out once it has been parsed.
struct Command {
    const CLI::App* parsed = nullptr;
    /// Returns the exit code; throws what main() turns into a message and an exit code.
    std::function<int()> run;
};
using Commands = std::vector<Command>;

/// Exit codes.
inline constexpr int done = 0;
inline constexpr int cannot_finish = 1;
inline constexpr int bad_input = 2;

// One for each file: adds the command's flags to `app` and the command to `commands`.
void add_run(CLI::App& app, Commands& commands);
void add_collective(CLI::App& app, Commands& commands);
void add_topology_commands(CLI::App& app, Commands& commands);
void add_explain(CLI::App& app, Commands& commands);
void add_verify(CLI::App& app, Commands& commands);
void add_import(CLI::App& app, Commands& commands);
void add_export(CLI::App& app, Commands& commands);
void add_list(CLI::App& app, Commands& commands);

/// What `lockstep list` can list.
std::vector<std::string> list_kinds();

}  // namespace lockstep::cli
