#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace lockstep::cli {

/// How a result gets to its target.
enum class TargetKind {
    descriptor,  ///< through a descriptor that whoever started us left open: standard output, `/dev/fd/3`
    in_place,    ///< opened and written: a pipe or a device, which no file may take the place of
    file,        ///< a regular file, or none so far: replaced by a whole one
};

/// Where a result goes, with all symbolic links followed.
struct Target {
    TargetKind kind = TargetKind::file;
    int descriptor = -1;          ///< of a descriptor
    std::filesystem::path place;  ///< else; of a link that leads nowhere it is what the link names
};

/// What a target means: `-` is standard output, and so are its names among the devices.
/// Throws: InputError for symbolic links that lead in a circle.
Target resolve_target(const std::string& target);

/// Whether a target means standard output, by whatever name; not a file that it happens to be redirected to.
bool is_standard_output(const std::string& target);

/// Finds out before a long simulation what is wrong with where its results are to go. Text goes to standard output if
/// none of them does.
/// Throws: InputError for an empty path, a directory, a folder that does not exist, links in a circle, a file, folder
/// or descriptor that cannot be written, two results for one place, and a file that standard output or standard error
/// goes to.
void check_targets(std::span<const std::string> targets);

/// A file that a command reads.
struct InputPath {
    std::string role;  ///< `topology`
    std::filesystem::path path;
};

/// Refuses to replace what is read, by whatever name it goes (links included). Pipes and devices may be both.
/// Throws: InputError naming the target and what it is.
void refuse_inputs_as_targets(std::span<const std::string> targets, std::span<const InputPath> inputs);

}  // namespace lockstep::cli
