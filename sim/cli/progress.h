#pragma once

#include <chrono>
#include <cstdint>

#include "sim/base/units.h"

namespace lockstep::cli {

enum class Verbosity { normal, quiet };

/// A line on standard error that says how far a simulation is, rewritten a few times a second once it has taken longer
/// than a second. Nothing is written if standard error is no terminal, or when quiet. Taken away again at the end.
class Progress {
  public:
    explicit Progress(Verbosity verbosity);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// now: simulated time. messages: simulated so far.
    void show(Seconds now, std::uint64_t messages);

  private:
    using Clock = std::chrono::steady_clock;

    bool is_on_;
    bool is_shown_ = false;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point last_ = begin_;
    std::uint64_t messages_before_ = 0;  ///< of simulations that have ended, where several run one after the other
    std::uint64_t messages_ = 0;
};

}  // namespace lockstep::cli
