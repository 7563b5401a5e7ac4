#include "tests/cases/command.h"

#include <catch2/catch.hpp>

namespace lockstep::test {

namespace {

/// As one word of sh. Requires: no single quote in it.
std::string quoted(const std::string& word) { return "'" + word + "'"; }

}  // namespace

Outcome run_command(const std::vector<std::string>& arguments) {
    std::string line = "cd " + quoted(LOCKSTEP_SOURCE_DIR) + " && exec lockstep";
    for (const std::string& argument : arguments) {
        line += " " + quoted(argument);
    }
    return Shell().run(line);
}

nlohmann::json run_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const Outcome outcome = run_command(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return nlohmann::json::parse(outcome.out);
}

std::string any_engine() { return GENERATE(as<std::string>{}, "fluid", "simgrid"); }

std::string written(const Shell& shell, const std::string& name, const std::string& text) {
    shell.write(name, text);
    return (shell.folder() / name).string();
}

}  // namespace lockstep::test
