// Prints the tables of docs/referee.md.

#include <array>
#include <iostream>
#include <string>
#include <vector>

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

constexpr std::array<std::size_t, 2> ranks{8, 16};
constexpr Bytes most_of_real_data{std::int64_t{1} << 20};

/// A row for each contest: what both say, in microseconds, and how much SMPI takes longer.
template <class Contests>
void print_table(const std::string& title, Bytes bytes, Contests contests) {
    std::vector<std::string> rows;
    for (const std::size_t count : ranks) {
        const Machine machine{"single-switch", {fmt::format("gpus={}", count)}, count};
        const Smpi smpi(machine);
        std::size_t at = 0;
        for (const Contest& contest : contests(count)) {
            const Seconds ours = lockstep_time(machine, contest, bytes);
            const Seconds theirs = bytes > most_of_real_data ? smpi.replay(contest, bytes) : smpi.run(contest, bytes);
            if (rows.size() == at) {
                rows.push_back(fmt::format("| {} | {} | `{}` |", contest.operation, contest.algorithm,
                                           fmt::join(contest.smpi, "` `")));
            }
            rows[at++] += fmt::format(" {:.7g} | {:.7g} | {:+.4f} % |", ours.value * 1e6, theirs.value * 1e6,
                                      (theirs / ours - 1) * 100);
        }
    }
    std::cout << fmt::format("\n{}, times in us:\n\n| operation | algorithm | SMPI's |", title);
    for (const std::size_t count : ranks) {
        std::cout << fmt::format(" {} ranks | SMPI | |", count);
    }
    std::cout << fmt::format("\n|---|---|---|---|---|---|---|---|---|\n{}\n", fmt::join(rows, "\n"));
}

}  // namespace

int main() {
    print_table("1 KiB", 1024_B, referee::all_reduces);
    print_table("1 MiB", 1_MiB, referee::all_reduces);
    print_table("256 MiB", 256_MiB, referee::all_reduces);
    print_table("Other collectives of 1 MiB", 1_MiB, [](std::size_t count) { return referee::others(count, 1_MiB); });
}
