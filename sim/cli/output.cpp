#include "sim/cli/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <streambuf>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/diagnostics.h"

namespace lockstep::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail(const std::string& target, int error) {
    throw OutputError(fmt::format("cannot write {}: {}", excerpt(target), reason(error)));
}

/// Which signal arrived while they were held back.
struct Interrupted {
    int signal;
};

/// Holds signals that end the program back, so that there is time to take temporaries away.
class SignalHold {
  public:
    SignalHold() {
        sigset_t held;
        sigemptyset(&held);
        for (const int signal : ending_signals) {
            sigaddset(&held, signal);
        }
        sigprocmask(SIG_BLOCK, &held, &before_);
    }
    ~SignalHold() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

    /// Throws: Interrupted if one is waiting.
    static void check() {
        sigset_t waiting;
        sigpending(&waiting);
        for (const int signal : ending_signals) {
            if (sigismember(&waiting, signal) == 1) {
                throw Interrupted{signal};
            }
        }
    }

  private:
    sigset_t before_{};
};

enum class Interrupts { end_the_program, are_checked };

/// Writes to an open file. Throws OutputError where a write fails, through streams that have badbit among their
/// exceptions.
class FileBuffer : public std::streambuf {
  public:
    FileBuffer(int file, std::string target, Interrupts interrupts)
        : file_(file), target_(std::move(target)), interrupts_(interrupts) {
        setp(buffer_.data(), buffer_.data() + buffer_.size());
    }

    void flush_all() {
        const char* at = pbase();
        while (at < pptr()) {
            if (interrupts_ == Interrupts::are_checked) {
                SignalHold::check();
            }
            const ssize_t written = ::write(file_, at, static_cast<std::size_t>(pptr() - at));
            if (written < 0 && errno != EINTR) {
                fail(target_, errno);
            }
            at += std::max<ssize_t>(written, 0);
        }
        setp(buffer_.data(), buffer_.data() + buffer_.size());
    }

  protected:
    int_type overflow(int_type character) override {
        flush_all();
        if (!traits_type::eq_int_type(character, traits_type::eof())) {
            sputc(traits_type::to_char_type(character));
        }
        return traits_type::not_eof(character);
    }
    int sync() override {
        flush_all();
        return 0;
    }

  private:
    int file_;
    std::string target_;
    Interrupts interrupts_;
    std::array<char, std::size_t{1} << 16> buffer_{};
};

void write_to(int file, const Output& output, Interrupts interrupts) {
    FileBuffer buffer(file, output.target, interrupts);
    std::ostream stream(&buffer);
    stream.exceptions(std::ios::badbit);  // lets what the buffer throws through
    output.write(stream);
    buffer.flush_all();
}

/// The file that a target names, through symbolic links, whether it exists or not.
fs::path place_of(const std::string& target) {
    std::error_code error;
    // Absolute first: of a relative path that does not exist, only the form would be made canonical.
    const fs::path place = fs::weakly_canonical(fs::absolute(target, error), error);
    return error ? fs::path(target) : place;
}

/// Whether the target is written in place: a pipe or a device, which no file may take the place of.
bool is_special(const std::string& target) {
    struct stat status {};
    return ::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

/// A file that takes its name only when it is whole, and is gone otherwise.
class PendingFile {
  public:
    explicit PendingFile(const std::string& target) : target_(target), place_(place_of(target)) {
        struct stat old {};
        const bool exists = ::stat(place_.c_str(), &old) == 0;
        for (int attempt = 0; file_ < 0; ++attempt) {
            temporary_ = (place_.parent_path() / fmt::format(".lockstep-{}-{}.tmp", ::getpid(), attempt)).string();
            file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file_ < 0 && errno != EEXIST) {
                fail(target_, errno);
            }
        }
        if (exists) {
            ::fchmod(file_, old.st_mode & 0777U);
        }
    }
    ~PendingFile() {
        if (file_ >= 0) {
            ::close(file_);
        }
        if (!temporary_.empty()) {
            ::unlink(temporary_.c_str());
        }
    }
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;

    void write(const Output& output) {
        write_to(file_, output, Interrupts::are_checked);
        if (::close(std::exchange(file_, -1)) != 0) {
            fail(target_, errno);
        }
    }

    void take_name() {
        if (std::rename(temporary_.c_str(), place_.c_str()) != 0) {
            fail(target_, errno);
        }
        temporary_.clear();
    }

  private:
    std::string target_;
    fs::path place_;
    std::string temporary_;
    int file_ = -1;
};

/// Writes the files. Returns: the signal that interrupted it, if one did; then nothing has been written.
std::optional<int> write_files(const std::vector<const Output*>& files) {
    const SignalHold hold;
    try {
        std::vector<std::unique_ptr<PendingFile>> pending;
        for (const Output* const output : files) {
            pending.push_back(std::make_unique<PendingFile>(output->target));
            pending.back()->write(*output);
        }
        SignalHold::check();
        for (const auto& file : pending) {
            file->take_name();
        }
    } catch (const Interrupted& interrupted) {
        std::signal(interrupted.signal, SIG_DFL);  // it ends the program as soon as it is no longer held back
        return interrupted.signal;
    }
    return std::nullopt;
}

void write_special(const Output& output) {
    if (is_standard_output(output.target)) {
        write_to(STDOUT_FILENO, {"standard output", output.write}, Interrupts::end_the_program);
        return;
    }
    const int file = ::open(output.target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        fail(output.target, errno);
    }
    const std::unique_ptr<const int, void (*)(const int*)> closer(&file, [](const int* open) { ::close(*open); });
    write_to(file, output, Interrupts::end_the_program);
}

void check_target(const std::string& target) {
    if (target.empty()) {
        throw InputError("an output needs a path, or - for standard output");
    }
    if (is_standard_output(target)) {
        return;
    }
    const auto refuse = [&](std::string_view why) {
        throw InputError(fmt::format("cannot write {}: {}", excerpt(target), why));
    };
    std::error_code error;
    const fs::path place = place_of(target);
    if (target.back() == '/' || fs::is_directory(place, error)) {
        refuse("it is a directory");
    }
    const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error)) {
        refuse(fmt::format("there is no folder {}", excerpt(folder.string())));
    }
    const bool exists = ::access(place.c_str(), F_OK) == 0;
    if (exists && ::access(place.c_str(), W_OK) != 0) {
        refuse(reason(errno));
    }
    if (!is_special(target) && ::access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse(reason(errno));
    }
}

}  // namespace

bool is_standard_output(const std::string& target) { return target == "-" || target == "/dev/stdout"; }

void check_targets(std::span<const std::string> targets) {
    std::vector<fs::path> places;
    for (const std::string& target : targets) {
        check_target(target);
        const fs::path place = is_standard_output(target) ? fs::path("-") : place_of(target);
        // /dev/null takes any number of results
        if (std::ranges::find(places, place) != places.end() && place != "/dev/null") {
            throw InputError(fmt::format("two results cannot both go to {}", excerpt(target)));
        }
        places.push_back(place);
    }
}

void refuse_inputs_as_targets(std::span<const std::string> targets, std::span<const InputPath> inputs) {
    for (const std::string& target : targets) {
        if (is_standard_output(target)) {
            continue;
        }
        for (const InputPath& input : inputs) {
            std::error_code none;  // a file that does not exist is no input
            if (fs::is_regular_file(target, none) && fs::equivalent(target, input.path, none)) {
                throw InputError(
                    fmt::format("cannot write {}: it is the {} that is read", excerpt(target), input.role));
            }
        }
    }
}

void write_outputs(std::span<const Output> outputs) {
    std::vector<const Output*> files;
    std::vector<const Output*> specials;
    for (const Output& output : outputs) {
        const bool is_file = !is_standard_output(output.target) && !is_special(output.target);
        (is_file ? files : specials).push_back(&output);
    }
    if (const auto signal = write_files(files)) {
        throw OutputError(fmt::format("interrupted by signal {}: nothing written", *signal));
    }
    for (const Output* const output : specials) {
        write_special(*output);
    }
}

}  // namespace lockstep::cli
