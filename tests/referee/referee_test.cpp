#include <array>
#include <string>

#include "tests/referee/contests.h"
#include "tests/referee/smpi.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::literals;
using referee::Contest;
using referee::lockstep_time;
using referee::Machine;
using referee::Smpi;

namespace {

// Of single-switch as it stands.
constexpr Bandwidth rate{50e9};
constexpr Seconds latency{20e-9};

constexpr double rounding = 1e-9;

Machine single_switch(std::size_t ranks) { return {"single-switch", {fmt::format("gpus={}", ranks)}, ranks}; }

/// Demands that SMPI takes as long as Lockstep within a hundredth, and exactly as long once the headers of its messages
/// are counted.
void check_agreement(const Contest& contest, Seconds ours, Seconds theirs) {
    CAPTURE(contest.operation, contest.algorithm, contest.smpi.front(), ours.value, theirs.value);
    CHECK(theirs.value == Approx(ours.value).epsilon(0.01));
    CHECK(theirs.value == Approx((ours + referee::time_of_envelopes(contest, rate)).value).epsilon(rounding));
}

}  // namespace

TEST_CASE("referee: all-reduces of 1 MiB take as long under SMPI, and are right there", "[referee]") {
    const auto ranks = GENERATE(as<std::size_t>{}, 8, 16);
    CAPTURE(ranks);
    const Machine machine = single_switch(ranks);
    const Smpi smpi(machine);
    for (const Contest& contest : referee::all_reduces(ranks)) {
        check_agreement(contest, lockstep_time(machine, contest, 1_MiB), smpi.run(contest, 1_MiB));
    }
}

TEMPLATE_TEST_CASE_SIG("referee: all-reduces of 256 MiB take as long under SMPI", "[referee]",
                       ((std::size_t Ranks), Ranks), 8, 16) {
    constexpr std::size_t ranks = Ranks;
    CAPTURE(ranks);
    const Machine machine = single_switch(ranks);
    const Smpi smpi(machine);
    for (const Contest& contest : referee::all_reduces(ranks)) {
        check_agreement(contest, lockstep_time(machine, contest, 256_MiB), smpi.replay(contest, 256_MiB));
    }
}

TEST_CASE("referee: all-reduces among 9 ranks, which do not halve", "[referee]") {
    const Machine machine = single_switch(9);
    const Smpi smpi(machine);
    const Bytes bytes{9 << 17};
    for (const Contest& contest : referee::all_reduces(9)) {
        check_agreement(contest, lockstep_time(machine, contest, bytes), smpi.run(contest, bytes));
    }
}

// A case for each number of ranks and KiB, so that they run side by side.
TEMPLATE_TEST_CASE_SIG("referee: all-gather, reduce-scatter, all-to-all and broadcast take as long under SMPI",
                       "[referee]", ((std::size_t Ranks, std::int64_t KiB), Ranks, KiB), (8, 128), (8, 1024), (16, 128),
                       (16, 1024)) {
    constexpr std::size_t ranks = Ranks;
    constexpr Bytes bytes{KiB << 10};
    CAPTURE(ranks, bytes.value);
    const Machine machine = single_switch(ranks);
    const Smpi smpi(machine);
    for (const Contest& contest : referee::others(ranks, bytes)) {
        check_agreement(contest, lockstep_time(machine, contest, bytes), smpi.run(contest, bytes));
    }
}

TEST_CASE("referee: short vectors differ by the headers of SMPI's messages alone", "[referee]") {
    const Machine machine = single_switch(8);
    const Smpi smpi(machine);
    for (const Contest& contest : referee::all_reduces(8)) {
        const Seconds ours = lockstep_time(machine, contest, 1024_B);
        const Seconds theirs = smpi.run(contest, 1024_B);
        CAPTURE(contest.algorithm, ours.value, theirs.value);
        CHECK(theirs.value > ours.value);
        CHECK(theirs.value == Approx((ours + referee::time_of_envelopes(contest, rate)).value).epsilon(rounding));
    }
}

TEST_CASE("referee: SMPI's pipeline pays the latency of each piece, Lockstep's that of the first", "[referee]") {
    // The rule of Open MPI that SMPI follows cuts 1 MiB into pieces of 16 KiB for 8 ranks and of 128 KiB for 16, and a
    // rank waits until one has arrived before it sends the next.
    const auto [ranks, pieces] = GENERATE(table<std::size_t, std::size_t>({{8, 64}, {16, 8}}));
    CAPTURE(ranks, pieces);
    const Machine machine = single_switch(ranks);
    const std::size_t in_line = pieces + ranks - 2;  // what the last rank's last piece waits for
    const Contest contest{"broadcast", "chain", {"bcast:ompi_pipeline"}, in_line, pieces};
    const Seconds ours = lockstep_time(machine, contest, 1_MiB);
    const Seconds theirs = Smpi(machine).run(contest, 1_MiB);
    // (n - 1) latency + (pieces + n - 2) (1 MiB / pieces) / rate
    const Seconds by_hand =
        static_cast<double>(ranks - 1) * latency + Bytes{static_cast<std::int64_t>((in_line << 20) / pieces)} / rate;
    CHECK(ours.value == Approx(by_hand.value).epsilon(rounding));
    CHECK(theirs.value ==
          Approx((ours + static_cast<double>(pieces - 1) * latency + referee::time_of_envelopes(contest, rate)).value)
              .epsilon(rounding));
}

TEST_CASE("referee: replaying a call takes as long as making it", "[referee]") {
    const Machine machine = single_switch(8);
    const Smpi smpi(machine);
    for (const Contest& contest : referee::all_reduces(8)) {
        CAPTURE(contest.algorithm);
        CHECK(smpi.replay(contest, 1_MiB).value == Approx(smpi.run(contest, 1_MiB).value).epsilon(rounding));
    }
}

TEMPLATE_TEST_CASE_SIG("referee: SMPI runs on exported topologies and takes as long as Lockstep", "[referee]",
                       ((std::size_t Half), Half), 0, 1) {
    // Eight GPUs of islands with planes of switches, of a mesh, of a tree and of a dragonfly. By halving and doubling
    // every rank talks to one at a time, so that flows of unlike latency, whose shares SimGrid weighs, hardly meet.
    constexpr std::array<std::array<const char*, 4>, 2> topologies{
        {{"dgx-a100", "dgx-b200", "dgx-h100", "gb200-nvl72"}, {"mi300x", "fat-tree", "dragonfly", "pcie-8gpu"}}};
    const std::string topology = GENERATE_COPY(from_range(topologies.at(Half).begin(), topologies.at(Half).end()));
    const Machine machine{topology};
    const Smpi smpi(machine);
    const Contest contest = referee::all_reduces(8).at(2);
    const Seconds ours = lockstep_time(machine, contest, 256_MiB);
    const Seconds theirs = smpi.replay(contest, 256_MiB);
    CAPTURE(topology, ours.value, theirs.value);
    CHECK(theirs.value == Approx(ours.value).epsilon(1e-5));
}

TEST_CASE("referee: on fabrics where steps get in each other's way, what differs is whether ranks wait for their sends",
          "[referee]") {
    // MPI_Sendrecv ends when both messages have arrived. Lockstep's ranks go on when theirs has come, so that on links
    // that are shared one step runs into the next. Told to wait, they take as long.
    const cli::testing::Shell shell;
    shell.write("ring.yaml", R"(
operation: all_reduce
ranks: any
chunks: $ranks
let: {next: $((rank + 1) % ranks), previous: $((rank - 1) % ranks)}
steps:
  - repeat: $(ranks - 1)
    steps:
      - {send: $((rank - step) % ranks), to: $next}
      - {receive_reduce: $((rank - step - 1) % ranks), from: $previous}
      - {drain: $next}
  - repeat: $(ranks - 1)
    steps:
      - {send: $((rank + 1 - step) % ranks), to: $next}
      - {receive: $((rank - step) % ranks), from: $previous}
      - {drain: $next}
)");
    shell.write("doubling.yaml", R"(
operation: all_reduce
ranks: 8
chunks: 1
steps:
  - repeat: 3
    steps:
      - {send: 0, to: '$(xor(rank, 2^step))'}
      - {receive_reduce: 0, from: '$(xor(rank, 2^step))'}
      - {drain: '$(xor(rank, 2^step))'}
)");
    const auto [topology, file, algorithm, smpi] = GENERATE(table<std::string, std::string, std::string, std::string>(
        {{"pcie-8gpu", "ring.yaml", "ring", "allreduce:lr"},
         {"dragonfly", "ring.yaml", "ring", "allreduce:lr"},
         {"torus-3d", "doubling.yaml", "recursive-doubling", "allreduce:rdb"}}));
    CAPTURE(topology, algorithm);
    const Machine machine{topology};
    const Contest waiting{"all_reduce", (shell.folder() / file).string(), {smpi}};
    const Contest going_on{"all_reduce", algorithm, {smpi}};
    const Seconds theirs = Smpi(machine).replay(waiting, 256_MiB);
    CHECK(theirs.value == Approx(lockstep_time(machine, waiting, 256_MiB).value).epsilon(1e-5));
    CHECK(theirs.value != Approx(lockstep_time(machine, going_on, 256_MiB).value).epsilon(1e-5));
}

TEST_CASE("referee: links that flows cross with unlike shares, and cables side by side", "[referee]") {
    // Two planes of unlike width, on which GPUs 0 and 1 are, and GPU 2 on the first only; GPU 3 on two cables of which
    // static routing takes one. All exchange with all at once, so that flows of unlike shares meet on links.
    const cli::testing::Shell shell;
    shell.write("planes.yaml", R"(
summary: planes that not all GPUs are on, and cables side by side
vertices:
  - {name: gpu, kind: gpu, count: 4, node: m}
  - {name: plane, kind: switch, count: 2, node: m}
links:
  - {between: ["gpu[0-1]", plane0], bandwidth: 30 GB/s, latency: 1 us, kind: nvlink}
  - {between: ["gpu[0-1]", plane1], bandwidth: 10 GB/s, latency: 1 us, kind: nvlink}
  - {between: [gpu2, plane0], bandwidth: 30 GB/s, latency: 1 us, kind: nvlink}
  - {between: [gpu3, plane0], bandwidth: 15 GB/s, latency: 1 us, kind: nvlink, cables: 2, striped: false}
)");
    const Machine machine{(shell.folder() / "planes.yaml").string(), {}, 4};
    const Contest contest{"all_to_all", "direct", {"alltoall:basic_linear"}};
    const Seconds ours = lockstep_time(machine, contest, 256_MiB);
    CHECK(Smpi(machine).replay(contest, 256_MiB).value == Approx(ours.value).epsilon(1e-5));
}

TEST_CASE("referee: a program that fails is noticed", "[referee]") {
    const Smpi smpi(single_switch(8));
    CHECK_THROWS_WITH(smpi.run({"all_redoce", "ring", {"allreduce:lr"}}, 1024_B), Catch::Contains("all_redoce"));
    CHECK_THROWS_WITH(smpi.run({"all_reduce", "ring", {"allreduce:rl"}}, 1024_B), Catch::Contains("rl"));
}
