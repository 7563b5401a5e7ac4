#include "tests/referee/smpi.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lockstep::referee {

using cli::testing::Outcome;
using cli::testing::Shell;

namespace {

/// What makes SimGrid's model of the network that of Lockstep, and MPI cost nothing: no factors on latency and
/// bandwidth, no acknowledgements, no windows, no time per message or call, none for what the program computes, and no
/// message that leaves before its receiver is ready (thresholds of 0 bytes: of a collective, both sides come at once).
constexpr std::array options{"network/model:CM02",
                             "network/bandwidth-factor:1",
                             "network/latency-factor:1",
                             "network/crosstraffic:0",
                             "network/TCP-gamma:0",
                             "smpi/bw-factor:1",
                             "smpi/lat-factor:1",
                             "smpi/os:0:0:0",
                             "smpi/or:0:0:0",
                             "smpi/ois:0:0:0",
                             "smpi/wtime:0",
                             "smpi/test:0",
                             "smpi/iprobe:0",
                             "smpi/async-small-thresh:0",
                             "smpi/send-is-detached-thresh:0",
                             "smpi/simulate-computation:no",
                             "smpi/host-speed:1Gf"};

std::string arguments_of(const Machine& machine) {
    std::string text = fmt::format("'{}' --ranks {}", machine.topology, machine.ranks);
    for (const std::string& setting : machine.settings) {
        text += fmt::format(" --set '{}'", setting);
    }
    return text;
}

Outcome succeed(const Shell& shell, const std::string& line) {
    Outcome outcome = shell.run(line);
    if (outcome.exit_code != 0) {
        throw std::runtime_error(
            fmt::format("{}\nended with {}: {}{}", line, outcome.exit_code, outcome.out, outcome.err));
    }
    return outcome;
}

/// The call as a trace for SMPI's replay spells it, whose sizes are bytes.
std::string action(const Contest& contest, std::size_t ranks, Bytes bytes) {
    const auto block = bytes.value / static_cast<std::int64_t>(ranks);
    if (contest.operation == "all_reduce") {
        return fmt::format("allreduce {} 0", bytes.value);
    }
    if (contest.operation == "all_gather") {
        return fmt::format("allgather {0} {0}", block);
    }
    if (contest.operation == "all_to_all") {
        return fmt::format("alltoall {0} {0}", block);
    }
    if (contest.operation == "broadcast") {
        return fmt::format("bcast {} 0", bytes.value);
    }
    if (contest.operation == "reduce_scatter") {
        return fmt::format("reducescatter {} 0", fmt::join(std::vector(ranks, block), " "));
    }
    throw std::invalid_argument("no action for " + contest.operation);
}

}  // namespace

Smpi::Smpi(const Machine& machine) : ranks_(machine.ranks) {
    succeed(shell_, fmt::format("lockstep topology export {} --format simgrid -o platform.xml", arguments_of(machine)));
    // Without a file of hosts SMPI places ranks in an order of its own.
    succeed(shell_,
            fmt::format("lockstep collective {} --show-placement | sed 's/ *#.*//' > hosts", arguments_of(machine)));
}

std::string Smpi::command(const Contest& contest) const {
    std::string line = fmt::format(
        "'{}' -np {} -platform platform.xml -hostfile hosts --log=smpi_coll.thresh:warning "
        "--log=xbt_cfg.thresh:warning",
        SMPIRUN, ranks_);
    for (const std::string option : options) {
        line += " --cfg=" + option;
    }
    for (const std::string& option : contest.smpi) {
        line += " --cfg=smpi/" + option;
    }
    return line;
}

/// Runs the line and reads the number behind the last `mark` that it prints.
Seconds Smpi::seconds_after(const std::string& mark, const std::string& line) const {
    const Outcome outcome = succeed(shell_, line + " 2>&1");
    const std::size_t at = outcome.out.rfind(mark);
    if (at == std::string::npos) {
        throw std::runtime_error(fmt::format("{}\nsays no time: {}", line, outcome.out));
    }
    return {std::stod(outcome.out.substr(at + mark.size()))};
}

Seconds Smpi::run(const Contest& contest, Bytes bytes) const {
    return seconds_after(
        "seconds ", fmt::format("{} {} {} {}", command(contest), SMPI_COLLECTIVES, contest.operation, bytes.value));
}

Seconds Smpi::replay(const Contest& contest, Bytes bytes) const {
    std::string list;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::string file = fmt::format("trace{}.txt", rank);
        shell_.write(file, fmt::format("{0} init\n{0} {1}\n{0} finalize\n", rank, action(contest, ranks_, bytes)));
        list += file + "\n";
    }
    shell_.write("traces", list);
    // Its last line is a summary with six digits; the date that stands before it can have more.
    return seconds_after("at:",
                         fmt::format("{} -replay traces '--log=smpi_replay.fmt:at:%.15r:%m%n'", command(contest)));
}

Seconds lockstep_time(const Machine& machine, const Contest& contest, Bytes bytes) {
    const std::string pieces = contest.pieces ? fmt::format(" --pieces {}", *contest.pieces) : "";
    const Outcome outcome =
        succeed(Shell(), fmt::format("lockstep collective {0} --op {1} --algorithm {2}{3} -b {4} -e {4} --json -",
                                     arguments_of(machine), contest.operation, contest.algorithm, pieces, bytes.value));
    return {nlohmann::json::parse(outcome.out).at("rows").at(0).at("time_s").get<double>()};
}

}  // namespace lockstep::referee
