#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::cli {

/// A result could not be written: exit code 1.
class OutputError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// One result and where it goes: a path, or `-`.
struct Output {
    std::string target;
    std::function<void(std::ostream&)> write;
};

/// Writes all results: pipes, devices and standard output first, and if nothing failed, all files: each whole or not at
/// all (into a temporary beside it, which takes its name once all are written). Where anything fails before that, the
/// old files stay. An interrupt leaves no temporaries. Throws: OutputError naming the target and the reason.
void write_outputs(std::span<const Output> outputs);

/// A line on standard error; lost where that takes nothing.
void say(std::string_view line) noexcept;

}  // namespace lockstep::cli
