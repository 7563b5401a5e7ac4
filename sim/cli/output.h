#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::cli {

/// A result could not be written: exit code 1.
class OutputError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Whether a target means standard output: `-`, or its name among the devices.
bool is_standard_output(const std::string& target);

/// One result and where it goes: a path, or `-`.
struct Output {
    std::string target;
    std::function<void(std::ostream&)> write;
};

/// Finds out before a long simulation what is wrong with where its results are to go.
/// Throws: InputError for an empty path, a directory, a folder that does not exist, a file or folder that cannot be
/// written, and two results for one place.
void check_targets(std::span<const std::string> targets);

/// A file that a command reads.
struct InputPath {
    std::string role;  ///< `topology`
    std::filesystem::path path;
};

/// Refuses to replace what is read, by whatever name it goes (links included). Pipes and devices may be both.
/// Throws: InputError naming the target and what it is.
void refuse_inputs_as_targets(std::span<const std::string> targets, std::span<const InputPath> inputs);

/// Writes all results: files first and together, each whole or not at all (into a temporary beside it, which takes its
/// name once all are written; the old file stays where that fails), then pipes, devices and standard output. An
/// interrupt in between leaves no temporaries. Throws: OutputError naming the target and the reason.
void write_outputs(std::span<const Output> outputs);

}  // namespace lockstep::cli
