// Every algorithm of the table, written as MSCCL XML and read back, does the same: proved, as fast, with as many
// messages and as many bytes on every link. Those that MSCCL cannot say are refused with the reason.

#include <cstdint>
#include <sstream>
#include <string>

#include "tests/collective/fabrics.h"
#include "tests/collective/same_schedule.h"
#include <catch2/catch.hpp>

#include "sim/interop/msccl.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::string written(const Schedule& schedule) {
    std::ostringstream out;
    interop::write_msccl(out, schedule);
    return out.str();
}

bool is_in_switch(Verb verb) {
    switch (verb) {
        case Verb::contribute:
        case Verb::reduce_in_switch:
        case Verb::multicast:
        case Verb::receive_multicast:
        case Verb::contribute_to_all:
        case Verb::receive_sum:
            return true;
        default:
            return false;
    }
}

bool adds_in_switches(const Schedule& schedule) {
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
            for (const Block& block : thread.blocks) {
                for (const Instruction& instruction : block.body) {
                    if (is_in_switch(instruction.verb)) {
                        return true;
                    }
                }
            }
        }
    }
    return false;
}

void check_round_trip(const Communicator& communicator, const Schedule& schedule) {
    if (schedule.operation == Operation::all_to_all_v || schedule.operation == Operation::send_recv ||
        schedule.operation == Operation::permutation || schedule.operation == Operation::barrier) {
        CHECK_THROWS_WITH(written(schedule),
                          Catch::Contains("has no name for " + std::string(name_of(schedule.operation))));
    } else if (adds_in_switches(schedule)) {
        CHECK_THROWS_WITH(written(schedule), Catch::Contains("adds up or copies in switches"));
    } else {
        check_same(communicator, schedule, interop::parse_msccl(written(schedule), "back.xml"));
    }
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("MSCCL: every algorithm comes back as it was, on one switch", "[interop]",
                       ((std::uint32_t ranks), ranks), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) {
    CHECK(for_each_schedule(single_switch(ranks), check_round_trip) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, in a cluster with switches", "[interop]") {
    CHECK(for_each_schedule(dgx_cluster(2, 4, Island::switched), check_round_trip) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, in a cluster whose switches reduce", "[interop]") {
    CHECK(for_each_schedule(dgx_cluster(2, 4, Island::reducing), check_round_trip) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, in a cluster of meshes", "[interop]") {
    CHECK(for_each_schedule(dgx_cluster(3, 2, Island::full_mesh), check_round_trip) > 20);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, on a torus", "[interop]") {
    CHECK(for_each_schedule(grid({4, 3}, Wrap::all), check_round_trip) > 10);
}

TEST_CASE("MSCCL: every algorithm comes back as it was, on a grid", "[interop]") {
    CHECK(for_each_schedule(grid({2, 2, 3}, Wrap::none), check_round_trip) > 10);
}
