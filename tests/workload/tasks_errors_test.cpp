#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

namespace {

void check_refused(const std::string& yaml, const std::string& message) {
    CAPTURE(yaml);
    CHECK_THROWS_AS(load(yaml, cluster(4)), InputError);
    CHECK_THROWS_WITH(load(yaml, cluster(4)), Catch::Contains(message));
}

/// A job of one task, which stands in line 4 from column 9.
std::string task(const std::string& text) {
    return "programs:\n"
           "  - ranks: all\n"
           "    tasks:\n"
           "      - {" +
           text + "}\n";
}

}  // namespace

TEST_CASE("tasks: what a task cannot be is said at its place", "[workload][error]") {
    CHECK_NOTHROW(load(task("compute: a, time: 1 ms"), cluster(4)));
    check_refused(task("compute: a"), "job.yaml:4:9: ");
    check_refused(task("compute: a, time: 1"), "job.yaml:4:28: ");
    check_refused(task("time: 1 ms"), "expected a task: compute, all_reduce");
    check_refused(task("all_redcue: a, bytes: 1 MB"), "did you mean `all_reduce`?");
    check_refused(task("compute: a, all_reduce: b, time: 1 ms"), "this one has `compute` already");
    check_refused(task("compute: a, time: 1 ms, bytes: 1 MB"), "unknown key `bytes`");
    check_refused(task("all_reduce: a"), "missing key `bytes`");
    check_refused(task("all_reduce: a, bytes: 1 MB, time: 1 ms"), "unknown key `time`");
    check_refused(task("barrier: a, bytes: 0 B"), "a barrier moves no data");
    check_refused(task("all_to_all_v: a, bytes: 1 MB"), "unknown key `all_to_all_v`");
    check_refused(task("all_reduce: a, bytes: 1 MB, root: 1"), "all_reduce has no root");
    check_refused(task("broadcast: a, bytes: 1 MB, root: 4"), "job.yaml:4:43: ");
    check_refused(task("all_reduce: a, bytes: 1 MB, algorithm: rign"), "did you mean `ring`?");
    check_refused(task("all_reduce: a, bytes: 1 MB, algorithm: pairwise"), "pairwise");
    check_refused(task("all_reduce: a, bytes: 1 MB, algorithm: nvls"), "job.yaml:4:49: ");
    check_refused(task("all_reduce: a, bytes: 1 MB, group: wide"), "`wide`");
    check_refused(task("all_reduce: a, bytes: 1 MB, kind: dpp"), "did you mean `dp`?");
    check_refused(task("compute: a, time: 1 ms, stream: computer"), "did you mean `compute`?");
    check_refused(task("compute: a, time: 1 ms, after: b"), "no task `b` stands above this one");
    check_refused(task("compute: a, time: 1 ms, after: a"), "no task `a` stands above this one");
    check_refused(task("compute: a, time: 2000000 s"), "a GPU computes 2000000 s in a step");
    check_refused(task("compute: a, time: 0 s"), "a step neither computes nor communicates");
}

TEST_CASE("tasks: every rank has one program", "[workload][error]") {
    const std::string work = "tasks: [{compute: a, time: 1 ms}]";
    check_refused("programs:\n  - {ranks: [0, 1, 2], " + work + "}\n", "rank 3 has no program");
    check_refused("programs:\n  - {ranks: all, " + work + "}\n  - {ranks: 2, " + work + "}\n",
                  "job.yaml:3:13: programs[1].ranks: rank 2 has a program already");
    check_refused("programs:\n  - {ranks: all, " + work + "}\n  - {ranks: others, " + work + "}\n",
                  "no ranks are left");
    check_refused("programs:\n  - {ranks: [0, 0], " + work + "}\n", "listed twice");
    check_refused("programs:\n  - {ranks: [0, 4], " + work + "}\n", "job.yaml:2:17: ");
    check_refused("programs:\n  - {ranks: {from: 3, to: 1}, " + work + "}\n", "at least one rank");
    check_refused("programs:\n  - {ranks: all, tasks: []}\n", "at least one task");
    check_refused("programs: []\n", "rank 0 has no program");
    check_refused("programs:\n  - {ranks: all, " + work + ", stream: a}\n", "unknown key `stream`");
    check_refused("ranks: 5\nprograms:\n  - {ranks: all, " + work + "}\n", "needs 5 GPUs");
    check_refused("programs:\n  - {ranks: all, " + work + "}\noptimizer: {time: 1 s}\n", "unknown key `optimizer`");
}

TEST_CASE("tasks: groups and streams that cannot be", "[workload][error]") {
    const std::string rest =
        "programs:\n  - {ranks: [0, 1], tasks: [{barrier: a, group: pair}]}\n  - {ranks: others, tasks: [{compute: b, "
        "time: 1 s}]}\n";
    CHECK_NOTHROW(load("groups: {pair: [0, 1]}\n" + rest, cluster(4)));
    check_refused("groups: {pair: [0, 2]}\n" + rest,
                  "rank 1 runs this program and is not in group `pair`, which has ranks 0, 2");
    check_refused("groups: {pair: [0, 4]}\n" + rest, "job.yaml:1:20: ");
    check_refused("groups: {pair: [1, 1]}\n" + rest, "listed twice");
    check_refused("groups: {pair: []}\n" + rest, "a group has at least one rank");
    check_refused("groups: {pair: [0, 1], all: [0, 1]}\n" + rest, "the group of all ranks");
    check_refused("groups: {apir: [0, 1]}\n" + rest, "`pair`");
    check_refused("streams: []\n" + task("compute: a, time: 1 s"), "the compute stream first");
    check_refused("streams: [a, a]\n" + task("compute: a, time: 1 s"), "is there already");
    const std::string rooted =
        "groups: {pair: [0, 1]}\nprograms:\n  - {ranks: [0, 1], tasks: [{broadcast: a, bytes: 1 B, group: pair, root: "
        "2}]}\n";
    check_refused(rooted, "rank 2 is not in group `pair`, which has ranks 0, 1");
}
