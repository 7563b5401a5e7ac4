#include "tests/cases/command.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::test {

namespace {

/// Reads what is there. Returns: whether there may be more.
bool take(int descriptor, std::string& into) {
    std::array<char, 65536> buffer{};
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got > 0) {
        into.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

}  // namespace

Outcome lockstep(const std::vector<std::string>& arguments) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe");
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        if (chdir(LOCKSTEP_SOURCE_DIR) != 0) {
            _exit(126);
        }
        std::vector<char*> argv;
        std::string program = LOCKSTEP_COMMAND;
        argv.push_back(program.data());
        std::vector<std::string> copies = arguments;
        for (std::string& argument : copies) {
            argv.push_back(argument.data());
        }
        argv.push_back(nullptr);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    Outcome outcome;
    std::array<pollfd, 2> open{pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        poll(open.data(), open.size(), -1);
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (open[i].fd >= 0 && open[i].revents != 0 && !take(open[i].fd, i == 0 ? outcome.out : outcome.err)) {
                close(open[i].fd);
                open[i].fd = -1;
            }
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

nlohmann::json lockstep_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const Outcome outcome = lockstep(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return nlohmann::json::parse(outcome.out);
}

Scratch::Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("no scratch folder");
    }
    path_ = pattern;
}

Scratch::~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::write(std::string_view name, std::string_view text) const {
    const auto file = path_ / name;
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
}

}  // namespace lockstep::test
