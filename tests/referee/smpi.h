#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/cli/shell.h"

#include "sim/base/units.h"

namespace lockstep::referee {

/// A topology and how many of its GPUs take part.
struct Machine {
    std::string topology;
    std::vector<std::string> settings = {};  ///< of --set
    std::size_t ranks = 8;
};

/// The same collective for both: what Lockstep calls it, and what makes SMPI do it.
struct Contest {
    std::string operation;                   ///< `all_reduce`
    std::string algorithm;                   ///< `ring`
    std::vector<std::string> smpi;           ///< of --cfg, below `smpi/`: `allreduce:lr`
    std::size_t envelopes = 0;               ///< messages that cross the busiest port, or follow on one another
    std::optional<std::size_t> pieces = {};  ///< of --pieces
};

/// Runs collectives on a machine by SMPI, SimGrid's own MPI, on the platform that `lockstep topology export` writes,
/// with every overhead of its model of MPI set to zero.
class Smpi {
  public:
    /// Throws: std::runtime_error if the platform cannot be exported.
    explicit Smpi(const Machine& machine);

    /// Runs collectives.c: real data, and the result is checked. Throws: std::runtime_error with what smpirun says.
    Seconds run(const Contest& contest, Bytes bytes) const;
    /// Replays the call without data, for sizes that would fill the memory. Throws: as run.
    Seconds replay(const Contest& contest, Bytes bytes) const;

  private:
    std::string command(const Contest& contest) const;
    Seconds seconds_after(const std::string& mark, const std::string& line) const;

    cli::testing::Shell shell_;
    std::size_t ranks_;
};

/// The same by `lockstep collective`. Throws: std::runtime_error with what it says.
Seconds lockstep_time(const Machine& machine, const Contest& contest, Bytes bytes);

}  // namespace lockstep::referee
