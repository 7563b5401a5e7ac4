#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace lockstep::test {

/// What a run of the built command left.
struct Outcome {
    int exit_code = -1;  ///< 128 + signal if one killed it
    std::string out;
    std::string err;
};

/// Runs `lockstep` with these arguments, in the root of the source tree.
Outcome lockstep(const std::vector<std::string>& arguments);

/// Runs it with `--json -` and parses what it prints. Fails the test unless it exits 0.
nlohmann::json lockstep_json(std::vector<std::string> arguments);

/// A folder of its own for a test, removed at the end.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// Writes a file there. Returns: its path.
    std::string write(std::string_view name, std::string_view text) const;

  private:
    std::filesystem::path path_;
};

}  // namespace lockstep::test
