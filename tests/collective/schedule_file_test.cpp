// Schedules written by hand in Lockstep's own format do what an algorithm of the table does.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/base/data_files.h"
#include "sim/base/diagnostics.h"
#include "sim/collective/chunk_sequence.h"
#include "sim/collective/load_schedule.h"
#include "sim/collective/prover.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

Schedule loaded(std::string_view text, const ScheduleUse& use = {}) {
    return load_schedule(YamlFile::parse(text, "my.yaml"), use);
}

/// Both orders of turns: a sound schedule does not care.
std::vector<std::string> faults(const Schedule& schedule) {
    std::vector<std::string> texts;
    for (const Turns turns : {Turns::forward, Turns::backward}) {
        for (const Finding& finding : prove(schedule, Bytes{1 << 20}, turns).findings) {
            texts.push_back(finding.text);
        }
    }
    return texts;
}

constexpr std::string_view ring = R"(
name: my-ring
summary: a ring
operation: all_reduce
ranks: any
chunks: $ranks
let:
  next: $((rank + 1) % ranks)
  previous: $((rank - 1) % ranks)
steps:
  - repeat: $(ranks - 1)
    steps:
      - {send: $((rank - step) % ranks), to: $next}
      - {receive_reduce: $((rank - step - 1) % ranks), from: $previous}
  - repeat: $(ranks - 1)
    steps:
      - {send: $((rank + 1 - step) % ranks), to: $next}
      - {receive: $((rank - step) % ranks), from: $previous}
)";

}  // namespace

TEST_CASE("schedule files: a ring relative to the rank is proved for any number of ranks", "[collective]") {
    const std::uint32_t ranks = GENERATE(1U, 2U, 3U, 5U, 8U, 13U, 64U);
    CAPTURE(ranks);
    const Schedule schedule = loaded(ring, {.ranks = ranks});
    CHECK(schedule.algorithm == "my-ring");
    CHECK(schedule.operation == Operation::all_reduce);
    CHECK(schedule.ranks == ranks);
    CHECK(schedule.chunks == ranks);
    CHECK(faults(schedule).empty());
    // 2(n-1) messages from each of n ranks.
    CHECK(prove(schedule, Bytes{1 << 20}).messages == std::uint64_t{2} * ranks * (ranks - 1));
}

TEST_CASE("schedule files: loops stay loops", "[collective]") {
    const Schedule schedule = loaded(ring, {.ranks = 500});
    const RankProgram program = schedule.program(id_at<RankId>(417));
    REQUIRE(program.size() == 1);
    REQUIRE(program[0].blocks.size() == 2);
    CHECK(program[0].blocks[0].iterations == 499);
    REQUIRE(program[0].blocks[0].body.size() == 2);
    CHECK(program[0].blocks[0].body[0].chunk.at(0) == 417);
    CHECK(program[0].blocks[0].body[0].chunk.at(418) == 499);  // (417 - 418) mod 500
    CHECK(program[0].blocks[1].body[1].chunk.at(498) == 419);  // (417 - 498) mod 500
}

TEST_CASE("schedule files: a peer that moves with the step writes the loop out", "[collective]") {
    const std::uint32_t ranks = GENERATE(1U, 2U, 4U, 16U);
    CAPTURE(ranks);
    const Schedule schedule = loaded(R"(
operation: all_reduce
ranks: any
chunks: 1
steps:
  - repeat: $(log2(ranks))
    steps:
      - {send: 0, to: '$(xor(rank, 2^step))'
}
      - {receive_reduce: 0, from: '$(xor(rank, 2^step))'}
)",
                                     {.ranks = ranks});
    CHECK(schedule.algorithm == "my");  // the file's name, where it gives none
    CHECK(faults(schedule).empty());
}

TEST_CASE("schedule files: programs for some ranks each, a root that is chosen, and others", "[collective]") {
    constexpr std::string_view chain = R"(
operation: broadcast
ranks: {from: 2, to: 16}
root: any
parameters: {pieces: {default: 4, min: 1, max: 64, help: pieces}}
chunks: $pieces
let:
  place: $((rank - root) % ranks)
programs:
  - ranks: ["$root"]
    steps:
      - {repeat: $pieces, steps: [{send: $step, to: $((rank + 1) % ranks)}]}
  - ranks: [$((root - 1) % ranks)]
    steps:
      - {repeat: $pieces, steps: [{receive: $step, from: $((rank - 1) % ranks)}]}
  - ranks: others
    steps:
      - repeat: $pieces
        steps:
          - {receive: $step, from: $((rank - 1) % ranks)}
          - {send: $step, to: $((rank + 1) % ranks)}
)";
    const std::uint32_t ranks = GENERATE(2U, 3U, 7U, 16U);
    const std::uint32_t root = GENERATE(0U, 1U);
    const Schedule schedule = loaded(
        chain,
        {.operation = Operation::broadcast, .ranks = ranks, .root = id_at<RankId>(root), .tuning = {.pieces = 3}});
    CHECK(schedule.chunks == 3);
    CHECK(index(schedule.root) == root);
    CHECK(faults(schedule).empty());
    CHECK(prove(schedule, Bytes{3}).messages == std::uint64_t{3} * (ranks - 1));
}

TEST_CASE("schedule files: every buffer, scattered chunks, copies and sums of one's own", "[collective]") {
    // Both ranks send their second and first half in one message and add what comes, in two ways.
    const Schedule schedule = loaded(R"(
operation: all_reduce
ranks: 2
chunks: 4
scratch: 4
result: received
steps:
  - {send: [3, 0, 2, 1], to: $(1 - rank)}
  - {receive: {scratch: [3, 0, 2, 1]}, from: $(1 - rank)}
  - {copy: 0, into: {received: 0}, count: 4}
  - {reduce: {scratch: 0}, into: {received: 0}, count: 2}
  - repeat: 2
    as: half
    steps:
      - {reduce: {scratch: $(2 + half)}, into: {received: $(2 + half)}}
)");
    CHECK(schedule.result == Buffer::received);
    CHECK(faults(schedule).empty());
    CHECK(prove(schedule, Bytes{400}).messages == 2);
}

TEST_CASE("schedule files: threads, channels, rounds and events", "[collective]") {
    // Two channels with a half of the vector each, in two rounds; a third thread closes up behind both.
    const Schedule schedule = loaded(R"(
operation: all_reduce
ranks: 2
channels: 3
chunks: 8
threads:
  - channel: all
    rounds: 2
    round_stride: 4
    steps:
      - {send: $channel, to: $(1 - rank), when: $(channel < 2)}
      - {receive_reduce: $channel, from: $(1 - rank), when: $(channel < 2)}
      - {signal: $channel, when: $(channel < 2)}
  - channel: 2
    steps:
      - {repeat: 2, steps: [{wait: 0}, {wait: 1}]}
      - {send: 2, to: $(1 - rank), count: 2}
      - {receive_reduce: 2, from: $(1 - rank), count: 2}
      - {send: 6, to: $(1 - rank), count: 2}
      - {receive_reduce: 6, from: $(1 - rank), count: 2}
      - {drain: $(1 - rank)}
)");
    CHECK(schedule.program(RankId{0}).size() == 3);
    CHECK(faults(schedule).empty());
    CHECK(prove(schedule, Bytes{8}).messages == 12);  // 2 ranks * (2 channels * 2 rounds + 2)
}

TEST_CASE("schedule files: sums and copies in the switch", "[collective]") {
    const Schedule schedule = loaded(R"(
operation: all_reduce
ranks: 4
chunks: 4
groups: [all]
threads:
  - steps:
      - {repeat: 4, as: head, steps: [{contribute: $head, to: $head}]}
      - {reduce_in_switch: $rank}
      - {multicast: $rank}
  - channel: 0
    steps:
      - {repeat: 4, as: head, steps: [{receive_multicast: $head, from: $head, group: 0}]}
)");
    CHECK(faults(schedule).empty());
    const Schedule sums = loaded(R"(
operation: all_reduce
ranks: 4
chunks: 2
groups: [[3, 1, 0, 2]]
steps:
  - {contribute_to_all: 0, count: 2}
  - {receive_sum: 0, count: 2}
)");
    CHECK(sums.program(RankId{2})[0].blocks[0].body[0].peer == RankId{3});  // the group's first tells sums apart
    CHECK(faults(sums).empty());
}

TEST_CASE("schedule files: a ring in another order than the numbers, from a list", "[collective]") {
    const Schedule schedule = loaded(R"(
operation: all_gather
ranks: 5
chunks: 5
lists:
  ring: [0, 3, 1, 4, 2]   # rank by place
  place: [0, 2, 4, 1, 3]  # place by rank
let:
  next: $(ring((place(rank) + 1) % ranks))
  previous: $(ring((place(rank) - 1) % ranks))
steps:
  - repeat: $(ranks - 1)
    steps:
      - {send: $(ring((place(rank) - step) % ranks)), to: $next}
      - {receive: $(ring((place(rank) - step - 1) % ranks)), from: $previous}
)");
    CHECK(faults(schedule).empty());
}

TEST_CASE("schedule files: loops in loops, and one that does nothing", "[collective]") {
    // Everybody to everybody: distance by distance, and each block in two halves.
    const Schedule schedule = loaded(R"(
operation: all_to_all
ranks: 3
chunks: 6
steps:
  - repeat: $(ranks - 1)
    as: d
    steps:
      - repeat: 2
        as: half
        steps:
          - {send: $((rank + d + 1) % ranks * 2 + half), to: $((rank + d + 1) % ranks)}
          - {receive: {received: $((rank - d - 1) % ranks * 2 + half)}, from: $((rank - d - 1) % ranks)}
  - {repeat: 0, steps: [{send: 99, to: 99}]}
)");
    CHECK(schedule.result == Buffer::received);
    CHECK(faults(schedule).empty());
    CHECK(schedule.program(RankId{0})[0].blocks.size() == 2);  // the inner loops stay
}

TEST_CASE("schedule files: the shipped ones are proved and tell where they are from", "[collective]") {
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    const std::vector<std::string> names = data.names("schedules");
    REQUIRE_FALSE(names.empty());
    for (const std::string& name : names) {
        CAPTURE(name);
        const YamlFile file = YamlFile::load(data.resolve("schedules", name));
        CHECK_NOTHROW(file.root().require("source").text());
        CHECK_NOTHROW(file.root().require("summary").text());
        for (const std::uint32_t ranks : {2U, 4U, 8U, 16U}) {
            CAPTURE(ranks);
            try {
                CHECK(faults(load_schedule(file, {.ranks = ranks})).empty());
            } catch (const InputError& error) {  // a file for another number of ranks
                CHECK_THAT(error.what(), Catch::Contains("--ranks"));
            }
        }
    }
}

TEST_CASE("index_of_sequence: takes exactly the values it was made from", "[collective]") {
    const auto takes = [](std::vector<std::uint32_t> values, std::uint32_t limit) {
        const auto index = index_of_sequence(values, limit);
        REQUIRE(index);
        for (std::uint32_t at = 0; at < values.size(); ++at) {
            CHECK(index->at(at) == values[at]);
        }
        // No iteration leaves the buffer, as the player requires: the largest number is offset + modulus - 1.
        CHECK(index->offset + index->modulus - 1 < limit);
    };
    takes({7}, 8);
    takes({3, 3, 3}, 4);
    takes({0, 1, 2, 3}, 4);
    takes({3, 2, 1, 0}, 4);
    takes({1, 0, 3, 2}, 4);        // down, round 4
    takes({5, 7, 4, 6, 8, 5}, 9);  // by 2 round 5, from 4 on
    takes({10, 13, 16}, 17);
    takes({2, 4, 1, 3}, 5);
    CHECK_FALSE(index_of_sequence(std::vector<std::uint32_t>{0, 1, 3}, 4));  // 0 + 1, + 2: modulus 1 cannot be
    CHECK_FALSE(index_of_sequence(std::vector<std::uint32_t>{0, 1, 2, 4, 8}, 9));
    CHECK_FALSE(index_of_sequence(std::vector<std::uint32_t>{0, 5, 1}, 6));  // round 9, beyond the buffer
    CHECK_FALSE(index_of_sequence(std::vector<std::uint32_t>{0, 9}, 9));
}
