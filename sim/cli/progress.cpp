#include "sim/cli/progress.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace lockstep::cli {

namespace {

constexpr std::chrono::seconds patience{1};
constexpr std::chrono::milliseconds pause{200};

/// 4.2 M
std::string with_prefix(double value) {
    if (value >= 1e9) {
        return fmt::format("{:.2f} G", value / 1e9);
    }
    if (value >= 1e6) {
        return fmt::format("{:.2f} M", value / 1e6);
    }
    return value >= 1e3 ? fmt::format("{:.1f} k", value / 1e3) : fmt::format("{:.0f}", value);
}

}  // namespace

Progress::Progress(Verbosity verbosity) : is_on_(verbosity == Verbosity::normal && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (is_shown_) {
        std::fputs("\r\033[K", stderr);
    }
}

void Progress::show(Seconds now, std::uint64_t messages) {
    if (!is_on_) {
        return;
    }
    if (messages < messages_) {
        messages_before_ += messages_;
    }
    messages_ = messages;
    const Clock::time_point time = Clock::now();
    if (time - begin_ < patience || time - last_ < pause) {
        return;
    }
    last_ = time;
    is_shown_ = true;
    const auto all = static_cast<double>(messages_before_ + messages_);
    const double elapsed = std::chrono::duration<double>(time - begin_).count();
    const std::string line = fmt::format("\r\033[Klockstep: {} simulated, {} messages, {} messages/s", to_text(now),
                                         with_prefix(all), with_prefix(all / elapsed));
    std::fputs(line.c_str(), stderr);
}

}  // namespace lockstep::cli
