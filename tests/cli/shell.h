#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::cli::testing {

struct Outcome {
    int exit_code = 0;  ///< 128 + the signal for one that was killed
    std::string out;    ///< what it wrote to standard output
    std::string err;    ///< what it wrote to standard error
};

/// A folder of its own for a test, gone at the end.
class Shell {
  public:
    Shell();
    ~Shell();
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;

    const std::filesystem::path& folder() const { return folder_; }
    void write(std::string_view name, std::string_view text) const;
    std::string read(std::string_view name) const;
    /// How many files there are in the folder, hidden ones included.
    std::size_t file_count() const;

    /// Runs a line of sh in the folder. In it, `lockstep` is the built program.
    Outcome run(std::string_view line) const;

  private:
    std::filesystem::path folder_;
    std::filesystem::path streams_;  ///< where the two standard streams are kept meanwhile
};

}  // namespace lockstep::cli::testing
