// What is wrong with a schedule file is said with its place, what was read, what was expected, and the nearest word.
// Absurd files end with an error, not with a crash or without memory.

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/load_schedule.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::string error_of(const std::string& text, const ScheduleUse& use = {.ranks = 4}) {
    try {
        load_schedule(YamlFile::parse(text, "my.yaml"), use);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

/// A head of four lines, so that what is added begins in line 5.
std::string with_steps(std::string_view rest) {
    return fmt::format("operation: all_reduce\nranks: 4\nchunks: 8\nscratch: 2\n{}", rest);
}

struct Case {
    std::string text;
    std::string message;
};

void check(const std::vector<Case>& cases) {
    for (const Case& each : cases) {
        CAPTURE(each.text);
        CHECK(error_of(each.text) == each.message);
    }
}

}  // namespace

TEST_CASE("schedule files: what is wrong with the head", "[collective][error]") {
    check({
        {"chunks: 1\n", "my.yaml:1:1: missing key `operation`"},
        {"name: \"a\\nb\"\n", "my.yaml:1:7: name: expected one line without control characters, got `a\\nb`"},
        {"summary: \"\\e[31mred\"\n",
         "my.yaml:1:10: summary: expected one line without control characters, got `\\x1b[31mred`"},
        {"operation: allreduce\n",
         "my.yaml:1:12: operation: expected one of all_reduce, reduce_scatter, all_gather, broadcast, reduce, "
         "all_to_all, all_to_all_v, gather, scatter, send_recv, barrier, got `allreduce` — did you mean `all_reduce`?"},
        {"operation: all_reduce\nranks: 8\n",
         "my.yaml:2:8: ranks: `my` is for 8 ranks and 4 take part: let 8 take part (`--ranks`, or `ranks` of a "
         "workload), or change the schedule"},
        {"operation: all_reduce\nranks: {from: 8, to: 16}\n",
         "my.yaml:2:8: ranks: `my` is for 8 to 16 ranks and 4 take part: let as many take part (`--ranks`, or `ranks` "
         "of a workload), or change the schedule"},
        {"operation: all_reduce\nranks: 0\n",
         "my.yaml:2:8: ranks: expected a number of ranks (or `any`) from 1 to 65536, got `0`"},
        {"operation: all_reduce\nranks: any\nroot: 0\n", "my.yaml:3:7: root: all_reduce has no root"},
        {"operation: broadcast\nranks: any\nchunks: 1\n", "my.yaml:1:1: missing key `root`"},
        {"operation: broadcast\nranks: any\nroot: 4\n",
         "my.yaml:3:7: root: expected a rank (or `any`) from 0 to 3, got `4`"},
        {"operation: all_gather\nranks: any\nchunks: 6\n",
         "my.yaml:3:9: chunks: all_gather has a block of chunks for each rank: expected a multiple of 4, got 6"},
        {"operation: barrier\nranks: any\nchunks: 2\n",
         "my.yaml:3:9: chunks: a barrier has one chunk, of no bytes, got 2"},
        {"operation: all_reduce\nranks: any\nchunks: $(rank)\n",
         "my.yaml:3:9: chunks: unknown name `rank` — did you mean `ranks`?"},
        {"operation: all_reduce\nranks: any\nchunks: 100000000\n",
         "my.yaml:3:9: chunks: expected a number of chunks from 1 to 16777216, got `100000000`"},
        {with_steps("result: scratch\n"), "my.yaml:5:9: result: expected one of data, received, got `scratch`"},
        {with_steps("step:\n  - {send: 0, to: 1}\n"),
         "my.yaml:1:1: expected one of `steps` (of every rank), `threads` (of every rank) and `programs` (for some "
         "ranks each), got none"},
        {with_steps("steps: []\nstep: []\n"), "my.yaml:6:1: unknown key `step` — did you mean `steps`?"},
        {with_steps("parameters: {rank: {default: 1, help: x}}\nsteps: []\n"),
         "my.yaml:5:14: `rank` has a meaning of its own here: take another name"},
        {with_steps("lists: {rank: [0, 1]}\nsteps: []\n"),
         "my.yaml:5:9: `rank` has a meaning of its own here: take another name"},
        {with_steps("let: {max: 1}\nsteps: []\n"), "my.yaml:5:7: `max` is the name of a function"},
        {with_steps("let: {chunks: 1}\nsteps: []\n"), "my.yaml:5:7: the name `chunks` is taken"},
        {with_steps("let: {next: $(rank + ranky)}\nsteps: []\n"),
         "my.yaml:5:13: let.next: unknown name `ranky` — did you mean `rank`?"},
        {with_steps("groups: [[0, 1], [2, 2]]\nsteps: []\n"), "my.yaml:5:22: groups[1][1]: rank 2 is listed twice"},
        {with_steps("groups: [[]]\nsteps: []\n"), "my.yaml:5:10: groups[0]: expected at least one rank"},
    });
    CHECK(error_of("operation: all_reduce\nranks: any\n", {}) ==
          "my.yaml:2:8: ranks: `my` is for any number of ranks: say how many there are with `--ranks`");
    CHECK(error_of("operation: all_gather\n", {.operation = Operation::all_reduce}) ==
          "my.yaml:1:12: operation: `my` does all_gather, not all_reduce: ask for that operation, or take another "
          "schedule");
    CHECK(error_of("operation: broadcast\nranks: 4\nroot: 1\n", {.root = id_at<RankId>(2)}) ==
          "my.yaml:3:7: root: `my` has rank 1 as root, not 2: ask for that one (`--root 1`), or change the schedule");
}

TEST_CASE("schedule files: what is wrong with a step", "[collective][error]") {
    check({
        {with_steps("steps: [{sent: 0, to: 1}]\n"), "my.yaml:5:10: unknown key `sent` — did you mean `send`?"},
        {with_steps("steps: [{send: 0}]\n"), "my.yaml:5:9: steps[0]: missing key `to`"},
        {with_steps("steps: [{send: 0, from: 1}]\n"), "my.yaml:5:9: steps[0]: missing key `to`"},
        {with_steps("steps: [{send: 0, to: 1, receive: 0, from: 1}]\n"),
         "my.yaml:5:35: steps[0].receive: a step does one thing, and this one has `send` already"},
        {with_steps("steps: [{to: 1}]\n"),
         "my.yaml:5:10: unknown key `to`; known: when, send, receive, "
         "receive_reduce, copy, reduce, signal, wait, drain, contribute, "
         "reduce_in_switch, multicast, …"},
        {with_steps("steps: [{when: 1}]\n"),
         "my.yaml:5:9: steps[0]: expected a step, such as `send: 0` with `to: 1`, or `repeat: 3` with `steps`"},
        {with_steps("steps: [{send: 8, to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:16: steps[0].send: expected a chunk from 0 to 7, got `8`"},
        {with_steps("steps: [{send: 6, count: 3, to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:16: steps[0].send: expected a chunk from 0 to 5, got `6`"},
        {with_steps("steps: [{send: {scratch: 2}, to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:26: steps[0].send.scratch: expected a chunk of scratch from 0 to 1, got `2`"},
        {with_steps("steps: [{send: {scrap: 2}, to: 1}]\n"),
         "my.yaml:5:17: unknown key `scrap`; known: data, received, scratch"},
        {with_steps("steps: [{send: 0, to: $(rank + 1)}]\n"),
         "my.yaml:5:23: steps[0].to: expected a rank from 0 to 3, got `$(rank + 1)`, which is 4 at rank 3"},
        {with_steps("steps: [{send: 0, to: 2}]\n"),
         "my.yaml:5:23: steps[0].to: rank 2 has itself as peer: `copy` and `reduce` work within a rank"},
        {with_steps("steps: [{send: $(rank / 2), to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:16: steps[0].send: expected a chunk, a whole number, got `$(rank / 2)`, which is 0.5 at rank 1"},
        {with_steps("steps: [{send: [0, 1], count: 2, to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:31: steps[0].count: a list of chunks says how many there are: leave out `count`"},
        {with_steps("steps: [{copy: [0, 1], into: 2}]\n"),
         "my.yaml:5:16: steps[0].copy: `copy` takes consecutive chunks: the first here, how many with `count`"},
        {with_steps("steps: [{send: [], to: 1}]\n"), "my.yaml:5:16: steps[0].send: expected at least one chunk"},
        {with_steps("steps: [{repeat: 2, steps: [{send: $(step + 7), to: $((rank + 1) % ranks)}]}]\n"),
         "my.yaml:5:36: steps[0].steps[0].send: expected a chunk from 0 to 7, got `$(step + 7)`, which is 8 at rank 0, "
         "step 1"},
        {with_steps("steps: [{repeat: 2, steps: [{repeat: 2, steps: []}]}]\n"),
         "my.yaml:5:38: steps[0].steps[0].repeat: `step` counts a loop around this one: give this one's counter a name "
         "of its own with `as`"},
        {with_steps("steps: [{repeat: 2, send: 0, to: 1}]\n"),
         "my.yaml:5:9: steps[0]: `repeat` and `send` are two steps: write an item for each"},
        {with_steps("steps: [{multicast: 0}]\n"),
         "my.yaml:5:9: steps[0]: `multicast` needs a group: list the ranks in `groups`"},
        {with_steps("groups: [[0, 1]]\nsteps: [{multicast: 0}]\n"),
         "my.yaml:6:9: steps[0]: `multicast`: rank 2 is not in group 0"},
        {with_steps("groups: [all]\nsteps: [{multicast: 0, group: 1}]\n"),
         "my.yaml:6:31: steps[0].group: expected a group: there is only 0, got `1`"},
        {with_steps("steps: [{send: $(1 / (rank - 2)), to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:16: steps[0].send: expected a chunk, a whole number, got `$(1 / (rank - 2))`, which is -0.5 at "
         "rank 0"},
        {with_steps("steps: [{send: $(8 / (rank - 0)), to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:5:16: steps[0].send: `8 / (rank - 0)` has no finite value at rank 0"},
        {with_steps("steps: [{send: $(max(0, 9)), to: 1}]\n"),
         "my.yaml:5:16: steps[0].send: `$(max(0` lacks a closing parenthesis; inside of {...} and [...] a comma ends "
         "the value: there, put arithmetic with a comma in quotes, \"$(max(a, b))\""},
        {with_steps("steps: [{send: $(step = 3), to: 1}]\n"),
         "my.yaml:5:16: steps[0].send: arithmetic has + - * / ^ %, comparisons, parentheses and min, max, ceil, floor, "
         "round, log2, xor, got `= 3`"},
        {with_steps("steps: {send: 0, to: 1}\n"), "my.yaml:5:8: steps: expected a list, got a mapping"},
    });
}

TEST_CASE("schedule files: what is wrong with programs and threads", "[collective][error]") {
    check({
        {with_steps("programs:\n  - {ranks: 0, steps: []}\n  - {ranks: {from: 0, to: 2}, steps: []}\n"),
         "my.yaml:7:13: programs[1].ranks: rank 0 has a program already"},
        {with_steps("programs: [{ranks: others, steps: []}, {ranks: others, steps: []}]\n"),
         "my.yaml:5:48: programs[1].ranks: the other ranks have a program already"},
        {with_steps("programs: [{ranks: $rank, steps: []}]\n"),
         "my.yaml:5:20: programs[0].ranks: unknown name `rank` — did you mean `ranks`?"},
        {with_steps("programs: [{ranks: 0}]\n"),
         "my.yaml:5:12: programs[0]: expected `steps`, or `threads` with steps each"},
        {with_steps("steps: []\nthreads: []\n"),
         "my.yaml:1:1: expected one of `steps` (of every rank), `threads` (of every rank) and `programs` (for some "
         "ranks each), got more"},
        {with_steps("threads: [{channel: 1, steps: []}]\n"),
         "my.yaml:5:21: threads[0].channel: expected a channel: there is only 0, got `1`"},
        {with_steps("threads: [{rounds: 2, steps: []}]\n"), "my.yaml:5:11: threads[0]: missing key `round_stride`"},
        {with_steps("threads: [{rounds: 3, round_stride: 4, steps: [{send: 0, to: $((rank + 1) % ranks)}]}]\n"),
         "my.yaml:5:55: threads[0].steps[0].send: the last of 3 rounds would be 8 chunks further on, past the last of "
         "the "
         "8 that there are"},
        {with_steps("threads: [{rounds: 2, round_stride: 4, steps: [{send: [0], to: $((rank + 1) % ranks)}]}]\n"),
         "my.yaml:5:48: threads[0].steps[0]: a list of chunks cannot move on in `rounds`: write a loop with `repeat` "
         "instead"},
        {with_steps("threads:\n  - steps: [{send: 0, to: $((rank + 1) % ranks)}]\n"
                    "  - steps: [{send: 1, to: $((rank + 1) % ranks)}]\n"),
         "my.yaml:7:5: threads[1]: two threads of rank 0 send to rank 1 on channel 0: give one of them another "
         "channel"},
    });
}

namespace {

void check_refused(const std::string& text, const std::string& why) {
    CAPTURE(text);
    CHECK_THAT(error_of(text), Catch::Contains(why));
}

const std::string next_rank = "to: $((rank + 1) % ranks)";

}  // namespace

TEST_CASE("schedule files: absurd numbers end with an error", "[collective][error]") {
    check_refused(with_steps("steps: [{repeat: 1000000000, steps: [{send: $(step % 8), " + next_rank + "}]}]\n"),
                  "can move over 16777216 iterations");
    check_refused(with_steps("steps: [{repeat: 1000000000, steps: [{send: 0, " + next_rank + "}]}]\n"),
                  "more than two billion instructions");
    check_refused(
        with_steps("threads: [{rounds: 1000000000, round_stride: 0, steps: [{send: 0, " + next_rank + "}]}]\n"),
        "more than two billion instructions");
    check_refused(with_steps("steps: [{repeat: 1000000001, steps: []}]\n"), "from 0 to 1000000000");
    check_refused(with_steps("steps: [{repeat: 1e30, steps: []}]\n"), "expected a whole number");
    check_refused(with_steps("steps: [{repeat: $(10^300), steps: []}]\n"), "a whole number");
    check_refused(with_steps("steps: [{signal: 99999999}]\n"), "expected an event from 0 to 1048575");
    check_refused(with_steps("steps: [{send: -1, " + next_rank + "}]\n"), "expected a chunk from 0 to 7, got `-1`");
    check_refused(with_steps("steps: [{send: 99999999999999999999, " + next_rank + "}]\n"), "expected a whole number");
}

TEST_CASE("schedule files: an absurd loop whose peers change ends with an error", "[collective][error]") {
    check_refused(
        with_steps("steps: [{repeat: 1000000000, steps: [{send: 0, to: \"$((rank + 1 + step % 2) % ranks)\"}]}]\n"),
        "more than a million instructions");
}

TEST_CASE("schedule files: an absurd loop with lists of chunks ends with an error", "[collective][error]") {
    check_refused(with_steps("steps: [{repeat: 1000000000, steps: [{send: [0, 1], " + next_rank + "}]}]\n"),
                  "more than a million instructions");
}

TEST_CASE("schedule files: absurd loops in loops end with an error", "[collective][error]") {
    std::string nested = "[]";
    for (int depth = 0; depth < 20; ++depth) {
        nested = fmt::format("[{{repeat: 2, as: i{}, steps: {}}}]", depth, nested);
    }
    check_refused(with_steps("steps: " + nested + "\n"), "loops lie in each other at most 8 deep");
    std::string idle = "[]";
    for (int depth = 0; depth < 8; ++depth) {
        idle = fmt::format("[{{repeat: 1000000, as: i{}, steps: {}}}]", depth, idle);
    }
    check_refused(with_steps("steps: " + idle + "\n"), "more than twenty million numbers");
}
