// Prints the tables of docs/referee.md.

#include <iostream>

#include "tests/referee/contests.h"
#include "tests/referee/smpi.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace lockstep;
using namespace lockstep::literals;
using referee::Contest;
using referee::Machine;
using referee::Smpi;

namespace {

constexpr Bytes most_of_real_data{std::int64_t{1} << 20};

void print_row(const Machine& machine, const Smpi& smpi, const Contest& contest, Bytes bytes) {
    const Seconds ours = lockstep_time(machine, contest, bytes);
    const Seconds theirs = bytes > most_of_real_data ? smpi.replay(contest, bytes) : smpi.run(contest, bytes);
    const Seconds headers = referee::time_of_envelopes(contest, {50e9});
    std::cout << fmt::format("| {} | {} | {} | {} | {} | {:.6g} | {:.6g} | {:+.4f} % | {:+.0e} |\n", contest.operation,
                             contest.algorithm, fmt::format("`{}`", fmt::join(contest.smpi, "`, `")), machine.ranks,
                             to_text(bytes), ours.value * 1e6, theirs.value * 1e6, (theirs / ours - 1) * 100,
                             (theirs - headers) / ours - 1)
              << std::flush;
}

}  // namespace

int main() {
    for (const std::size_t ranks : {8, 16}) {
        const Machine machine{"single-switch", {fmt::format("gpus={}", ranks)}, ranks};
        const Smpi smpi(machine);
        for (const Contest& contest : referee::all_reduces(ranks)) {
            for (const Bytes bytes : {1024_B, 65536_B, 1_MiB, 256_MiB}) {
                print_row(machine, smpi, contest, bytes);
            }
        }
        for (const Contest& contest : referee::others(ranks, 1_MiB)) {
            print_row(machine, smpi, contest, 1_MiB);
        }
    }
}
