// Runs the commands that a page of documentation shows.
// Usage: run-documented-commands LOCKSTEP SOURCE_FOLDER PAGE
// In blocks fenced as ```console, lines that begin with `$ lockstep` (or `$ build/release/bin/lockstep`) are commands,
// continued where they end in a backslash. They run one after the other in a scratch folder in which the shipped
// folders can be reached by the same relative paths as in the source folder. After `console` may stand `exact` (the
// lines up to the next command are compared with what it prints) and `exit=N` (the exit code expected; 0 if absent).
// A block fenced as ```yaml NAME is a file of that name, there for the commands below it.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

enum class Comparison { none, exact };

struct Command {
    std::string text;  ///< for the shell
    int line = 0;
    int exit_code = 0;
    Comparison comparison = Comparison::none;
    std::string output;  ///< as the page shows it
    std::string file;    ///< no command but a file of that name; `text` is what is in it
};

constexpr std::string_view fence = "```";
constexpr std::string_view prompt = "$ ";
constexpr std::string_view long_name = "build/release/bin/lockstep";

/// The command of a line that shows one, with the built program under its plain name.
bool is_command(std::string_view line) {
    return line.starts_with("$ lockstep ") || line.starts_with(fmt::format("{}{} ", prompt, long_name));
}

std::string without_prompt(std::string_view line) {
    line.remove_prefix(prompt.size());
    if (line.starts_with(long_name)) {
        return fmt::format("lockstep{}", line.substr(long_name.size()));
    }
    return std::string(line);
}

/// Reads what stands behind the fence's `console`.
Command model_of(const std::string& words) {
    Command model;
    std::istringstream in(words);
    for (std::string word; in >> word;) {
        if (word == "exact") {
            model.comparison = Comparison::exact;
        } else if (word.starts_with("exit=")) {
            model.exit_code = std::stoi(word.substr(5));
        } else {
            throw std::runtime_error(fmt::format("unknown word {} behind ```console", word));
        }
    }
    return model;
}

std::vector<Command> commands_of(const std::string& page) {
    std::ifstream in(page);
    if (!in) {
        throw std::runtime_error(fmt::format("cannot read {}", page));
    }
    constexpr std::string_view opening = "```console";
    constexpr std::string_view file_opening = "```yaml ";
    std::vector<Command> commands;
    Command model;
    bool in_block = false;
    bool in_command = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (!in_block && line.starts_with(file_opening)) {
            Command& file = commands.emplace_back();
            file.file = line.substr(file_opening.size());
            for (file.line = number; std::getline(in, line) && !line.starts_with(fence); ++number) {
                file.text += line + '\n';
            }
            ++number;
            continue;
        }
        if (!in_block) {
            in_block = line.starts_with(opening);
            if (in_block) {
                model = model_of(line.substr(opening.size()));
            }
            continue;
        }
        if (line.starts_with(fence)) {
            in_block = false;
            in_command = false;
        } else if (is_command(line)) {
            commands.push_back(model);
            commands.back().text = without_prompt(line);
            commands.back().line = number;
            in_command = true;
        } else if (line.starts_with(prompt)) {
            in_command = false;
        } else if (in_command && commands.back().text.ends_with('\\') && commands.back().output.empty()) {
            commands.back().text.back() = ' ';
            commands.back().text += line;
        } else if (in_command) {
            commands.back().output += line + '\n';
        }
    }
    return commands;
}

struct Outcome {
    int exit_code = 0;
    std::string output;
};

Outcome outcome_of(const std::string& command) {
    std::FILE* const pipe = ::popen(fmt::format("{{ {}\n}} 2>&1", command).c_str(), "r");
    if (pipe == nullptr) {
        throw std::runtime_error("cannot start a shell");
    }
    Outcome outcome;
    std::array<char, 4096> buffer{};
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        outcome.output.append(buffer.data(), count);
    }
    const int status = ::pclose(pipe);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return outcome;
}

/// A folder with the shipped folders in it, gone at the end; the current one in the meantime.
class Scratch {
  public:
    explicit Scratch(const fs::path& source) : before_(fs::current_path()) {
        std::string name = (fs::temp_directory_path() / "lockstep-docs-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("cannot make a scratch folder");
        }
        path_ = name;
        for (const char* const folder : {"topologies", "workloads", "models", "docs", "tests"}) {
            fs::create_directory_symlink(source / folder, path_ / folder);
        }
        fs::current_path(path_);
    }
    ~Scratch() {
        std::error_code ignored;
        fs::current_path(before_, ignored);
        fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

  private:
    fs::path before_;
    fs::path path_;
};

/// Returns: what is wrong with the outcome, empty if nothing.
std::string complaint(const Command& command, const Outcome& outcome) {
    if (outcome.exit_code != command.exit_code) {
        return fmt::format("exit code {} instead of {}:\n{}", outcome.exit_code, command.exit_code, outcome.output);
    }
    if (command.comparison == Comparison::exact && outcome.output != command.output) {
        return fmt::format("the page shows\n{}but it prints\n{}", command.output, outcome.output);
    }
    return {};
}

int check_page(const std::string& lockstep, const std::string& source, const std::string& page) {
    const fs::path folder = fs::absolute(lockstep).parent_path();
    const char* const path = std::getenv("PATH");
    ::setenv("PATH", fmt::format("{}:{}", folder.string(), path == nullptr ? "" : path).c_str(), 1);
    const std::vector<Command> commands = commands_of(page);
    const Scratch scratch(fs::absolute(source));
    int wrong = 0;
    for (const Command& command : commands) {
        if (!command.file.empty()) {
            std::ofstream(command.file) << command.text;
            continue;
        }
        const std::string problem = complaint(command, outcome_of(command.text));
        fmt::print("{} {}:{}: {}\n", problem.empty() ? "ok   " : "WRONG", page, command.line, command.text);
        if (!problem.empty()) {
            fmt::print("{}\n", problem);
            ++wrong;
        }
    }
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 4) {
        std::cerr << "usage: run-documented-commands LOCKSTEP SOURCE_FOLDER PAGE\n";
        return 2;
    }
    try {
        return check_page(arguments[1], arguments[2], arguments[3]);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
