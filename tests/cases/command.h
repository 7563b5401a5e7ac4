#pragma once

#include <string>
#include <vector>

#include "tests/cli/shell.h"
#include <nlohmann/json.hpp>

namespace lockstep::test {

using cli::testing::Outcome;
using cli::testing::Shell;

/// Runs `lockstep` with these arguments, in the root of the source tree.
Outcome run_command(const std::vector<std::string>& arguments);

/// Runs it with `--json -` and parses what it prints. Fails the test unless it exits 0.
nlohmann::json run_json(std::vector<std::string> arguments);

/// Runs the case under every engine in turn. Returns: the name of one.
std::string any_engine();

/// Writes a file into the folder of the shell. Returns: its path.
std::string written(const Shell& shell, const std::string& name, const std::string& text);

}  // namespace lockstep::test
