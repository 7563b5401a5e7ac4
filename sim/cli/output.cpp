#include "sim/cli/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
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
#include "sim/cli/targets.h"

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

/// A file that takes its name only when it is whole, and is gone otherwise.
class PendingFile {
  public:
    PendingFile(const std::string& target, fs::path place) : target_(target), place_(std::move(place)) {
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

/// A file to be replaced by a result.
struct Replacement {
    const Output* output;  ///< never null
    fs::path place;
};

/// Writes the files. Returns: the signal that interrupted it, if one did; then none has been replaced.
std::optional<int> write_files(const std::vector<Replacement>& files) {
    const SignalHold hold;
    try {
        std::vector<std::unique_ptr<PendingFile>> pending;
        for (const Replacement& file : files) {
            pending.push_back(std::make_unique<PendingFile>(file.output->target, file.place));
            pending.back()->write(*file.output);
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

void write_in_place(const Output& output, const fs::path& place) {
    const int file = ::open(place.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        fail(output.target, errno);
    }
    try {
        write_to(file, output, Interrupts::end_the_program);
    } catch (...) {
        ::close(file);
        throw;
    }
    if (::close(file) != 0) {
        fail(output.target, errno);
    }
}

}  // namespace

void write_outputs(std::span<const Output> outputs) {
    std::vector<Replacement> files;
    for (const Output& output : outputs) {
        Target target = resolve_target(output.target);
        if (target.kind == TargetKind::file) {
            files.push_back({&output, std::move(target.place)});
        } else if (target.kind == TargetKind::in_place) {
            write_in_place(output, target.place);
        } else {
            const bool is_standard = target.descriptor == STDOUT_FILENO;
            write_to(target.descriptor, {is_standard ? "standard output" : output.target, output.write},
                     Interrupts::end_the_program);
        }
    }
    if (const auto signal = write_files(files)) {
        throw OutputError(fmt::format("interrupted by signal {}: no file written", *signal));
    }
}

void say(std::string_view line) noexcept {
    // Not by fmt::print, which throws where nothing can be written: then nobody can be told.
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fputc('\n', stderr);
    std::fflush(stderr);
}

}  // namespace lockstep::cli
