#include "shell.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/wait.h>

namespace lockstep::cli::testing {

namespace fs = std::filesystem;

namespace {

fs::path new_folder() {
    std::string name = (fs::temp_directory_path() / "lockstep-cli-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make a folder");
    }
    return name;
}

std::string text_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Shell::Shell() : folder_(new_folder()), streams_(new_folder()) {}

Shell::~Shell() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove_all(streams_, ignored);
}

void Shell::write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string Shell::read(std::string_view name) const { return text_of(folder_ / name); }

std::size_t Shell::file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
}

Outcome Shell::run(std::string_view line) const {
    const fs::path program = LOCKSTEP_COMMAND;
    // In a file of its own: what the line redirects stays as it is.
    std::ofstream(streams_ / "line.sh") << fmt::format("cd '{}' || exit 99\nPATH='{}':\"$PATH\"\n{}\n",
                                                       folder_.string(), program.parent_path().string(), line);
    const std::string command = fmt::format("sh '{0}/line.sh' >'{0}/out' 2>'{0}/err'", streams_.string());
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = text_of(streams_ / "out");
    outcome.err = text_of(streams_ / "err");
    return outcome;
}

}  // namespace lockstep::cli::testing
