// Every algorithm of the table, written in Lockstep's own format and read back, does the same: proved, as fast, with as
// many messages and as many bytes on every link.

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/collective/fabrics.h"
#include "tests/collective/same_schedule.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/load_schedule.h"
#include "sim/collective/write_schedule.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::string written(const Schedule& schedule) {
    std::ostringstream out;
    write_schedule(out, schedule, "written by a test");
    return out.str();
}

/// How often each loop of a rank's program goes round.
std::vector<std::uint32_t> loops_of(const Schedule& schedule, std::uint32_t rank) {
    std::vector<std::uint32_t> loops;
    for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
        for (const Block& block : thread.blocks) {
            if (block.iterations > 1 && !block.body.empty()) {
                loops.push_back(block.iterations);
            }
        }
    }
    return loops;
}

void check_round_trip(const Communicator& communicator, const Schedule& schedule) {
    if (schedule.operation == Operation::permutation) {
        CHECK_THROWS_WITH(written(schedule), Catch::Contains("have no place in a file"));
        return;
    }
    const std::string text = written(schedule);
    const Schedule back = load_schedule(YamlFile::parse(text, "back.yaml"), {.sizes = schedule.sizes});
    check_same(communicator, schedule, back);
    CHECK(back.scratch_chunks == schedule.scratch_chunks);
    CHECK(back.groups == schedule.groups);
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        CHECK(loops_of(back, rank) == loops_of(schedule, rank));
    }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("schedule files: every algorithm comes back as it was, on one switch", "[collective]",
                       ((std::uint32_t ranks), ranks), 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16) {
    CHECK(for_each_schedule(single_switch(ranks), check_round_trip) > 20);
}

TEST_CASE("schedule files: every algorithm comes back as it was, in a cluster with switches", "[collective]") {
    CHECK(for_each_schedule(dgx_cluster(2, 4, Island::switched), check_round_trip) > 20);
}

TEST_CASE("schedule files: every algorithm comes back as it was, in a cluster whose switches reduce", "[collective]") {
    CHECK(for_each_schedule(dgx_cluster(2, 4, Island::reducing), check_round_trip) > 20);
}

TEST_CASE("schedule files: every algorithm comes back as it was, in a cluster of meshes", "[collective]") {
    CHECK(for_each_schedule(dgx_cluster(3, 2, Island::full_mesh), check_round_trip) > 20);
}

TEST_CASE("schedule files: every algorithm comes back as it was, on a torus", "[collective]") {
    CHECK(for_each_schedule(grid({4, 3}, Wrap::all), check_round_trip) > 10);
}

TEST_CASE("schedule files: every algorithm comes back as it was, on a grid", "[collective]") {
    CHECK(for_each_schedule(grid({2, 2, 3}, Wrap::none), check_round_trip) > 10);
}

TEST_CASE("schedule files: a ring of five hundred ranks is written in a few lines", "[collective]") {
    const fabric::Fabric fabric = single_switch(500);
    const Communicator communicator = everybody(fabric);
    const Schedule ring = algorithm_named("ring").make(communicator, {.bytes = Bytes{1 << 20}});
    const std::string text = written(ring);
    CHECK(std::count(text.begin(), text.end(), '\n') == 14);
    const Schedule back = load_schedule(YamlFile::parse(text, "back.yaml"), {});
    for (const std::uint32_t rank : {0U, 1U, 250U, 499U}) {
        const RankProgram program = back.program(id_at<RankId>(rank));
        REQUIRE(program.size() == 1);
        CHECK(program[0].blocks.size() == 2);
        CHECK(program[0].blocks[0].iterations == 499);
    }
}

TEST_CASE("written schedules: none that would be too large to be read", "[collective][error]") {
    // A million and 200,000 instructions: each of 800 ranks sends to and receives from 799 others.
    const auto fabric = single_switch(800);
    const Schedule many =
        algorithm_named("direct").make(everybody(fabric), {.operation = Operation::all_gather, .bytes = {1 << 20}});
    CHECK_THROWS_WITH(written(many),
                      "`direct` on 800 ranks is larger than schedule files may be (a million "
                      "instructions with its loops)");
    // 4 instructions in loops of 2999 rounds at each of 3000 ranks: 36 million numbers.
    const auto ring = single_switch(3000);
    CHECK_THROWS_WITH(written(algorithm_named("ring").make(everybody(ring),
                                                           {.operation = Operation::all_reduce, .bytes = {1 << 20}})),
                      Catch::Contains("twenty million numbers"));
}
