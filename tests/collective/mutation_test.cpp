#include <algorithm>
#include <set>

#include "tests/collective/fabrics.h"
#include "tests/collective/mutants.h"
#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::collective;

// That the prover can fail: every algorithm of the table, for every operation, spoilt in one place after the other.

namespace {

/// Schedules of the whole table, small enough to be spoilt in many places.
std::vector<std::pair<std::string, Schedule>> small_schedules(Draw& draw) {
    std::vector<fabric::Fabric> fabrics;
    fabrics.push_back(reducing_switch(6));
    fabrics.push_back(dgx_cluster(2, 3, Island::reducing));
    fabrics.push_back(grid({3, 2}, Wrap::all));
    fabrics.push_back(reducing_switch(8));
    fabrics.push_back(dgx_cluster(2, 4, Island::reducing));
    fabrics.push_back(grid({4, 2}, Wrap::all));
    std::vector<std::pair<std::string, Schedule>> schedules;
    for (const Algorithm& algorithm : algorithms()) {
        for (const Operation operation : algorithm.operations) {
            std::size_t found = 0;
            for (const fabric::Fabric& fabric : fabrics) {
                const Communicator communicator = everybody(fabric);
                const auto ranks = static_cast<std::uint32_t>(communicator.size());
                Request request =
                    plain_request(operation, ranks, {24'000}, RankId{has_root(operation) ? draw.below(ranks) : 0});
                request.tuning.pieces = 2;
                if (found < 2 && !algorithm.obstacle(communicator, request)) {
                    schedules.emplace_back(
                        fmt::format("{} {} on {}", algorithm.name, name_of(operation), fabric.name()),
                        algorithm.make(communicator, request));
                    ++found;
                }
            }
            CHECK(found > 0);
        }
    }
    return schedules;
}

/// What the prover finds in a mutant, in one order of turns or the other.
std::vector<Finding> findings_in(const Schedule& mutant) {
    const Proof forward = prove(mutant, {24'000});
    return forward.holds() ? prove(mutant, {24'000}, Turns::backward).findings : forward.findings;
}

/// Of all mutants of one kind.
struct Outcome {
    std::size_t mutants = 0;
    std::vector<std::string> survivors = {};  ///< which the prover took for sound
    std::set<Fault> faults = {};              ///< that were found
};

/// A barrier is made of who waits for whom. Whether what a message says is stored or added changes nothing of that, so
/// that such a mutant of a barrier is a barrier.
bool is_equivalent(Operation operation, Mutation mutation) {
    return operation == Operation::barrier &&
           (mutation == Mutation::store_for_add || mutation == Mutation::add_for_store);
}

Outcome outcome_of(Mutation mutation, std::size_t sites_per_schedule) {
    Draw draw(static_cast<std::uint64_t>(mutation) + 1);
    Outcome outcome;
    for (const auto& [name, schedule] : small_schedules(draw)) {
        if (is_equivalent(schedule.operation, mutation)) {
            continue;
        }
        const std::vector<RankProgram> programs = unrolled(schedule);
        std::vector<Site> sites = sites_of(programs);
        for (std::size_t made = 0; made < sites_per_schedule && !sites.empty();) {
            std::swap(sites[draw.below(static_cast<std::uint32_t>(sites.size()))], sites.back());
            const Site site = sites.back();
            sites.pop_back();
            const auto spoilt = mutated(schedule, programs, mutation, site);
            if (!spoilt) {
                continue;
            }
            ++made;
            ++outcome.mutants;
            const std::vector<Finding> findings = findings_in(with_programs(schedule, *spoilt));
            for (const Finding& finding : findings) {
                outcome.faults.insert(finding.fault);
            }
            if (findings.empty()) {
                outcome.survivors.push_back(
                    fmt::format("{}: rank {}, thread {}, instruction {}", name, site.rank, site.thread, site.at));
            }
        }
    }
    return outcome;
}

/// No mutant of the kind survives, and the faults given are among those that were found.
void check_caught(Mutation mutation, std::size_t least_mutants, const std::set<Fault>& faults) {
    const Outcome outcome = outcome_of(mutation, mutation == Mutation::wait_first ? 1 : 12);
    CAPTURE(name_of(mutation), outcome.mutants);
    CHECK(outcome.survivors == std::vector<std::string>{});
    CHECK(outcome.mutants >= least_mutants);
    CHECK(std::ranges::includes(outcome.faults, faults));
}

}  // namespace

TEST_CASE("mutants: programs without loops do the same", "[collective][mutation]") {
    Draw draw(0);
    for (const auto& [name, schedule] : small_schedules(draw)) {
        CAPTURE(name);
        const Proof looped = prove(schedule, {24'000});
        const Proof straight = prove(with_programs(schedule, unrolled(schedule)), {24'000});
        CHECK(texts(straight) == std::vector<std::string>{});
        CHECK(straight.messages == looped.messages);
        CHECK(straight.steps == looped.steps);
        CHECK(straight.bytes_out == looped.bytes_out);
        CHECK(straight.depth == looped.depth);
    }
}

TEST_CASE("mutants: what is not taken is found", "[collective][mutation]") {
    check_caught(Mutation::drop_take, 1000, {Fault::untaken});
}

TEST_CASE("mutants: what is not given is found", "[collective][mutation]") {
    check_caught(Mutation::drop_give, 1000, {Fault::deadlock});
}

TEST_CASE("mutants: what is given twice is found", "[collective][mutation]") {
    check_caught(Mutation::duplicate_give, 1000, {Fault::untaken});
}

TEST_CASE("mutants: what a rank fails to copy or add for itself is found", "[collective][mutation]") {
    check_caught(Mutation::drop_local, 20, {Fault::missing});
}

TEST_CASE("mutants: swapped chunks are found", "[collective][mutation]") {
    check_caught(Mutation::swap_chunks, 1000, {Fault::misplaced, Fault::absent});
}

TEST_CASE("mutants: wrong chunks are found, by a race where another thread puts them right in time or not",
          "[collective][mutation]") {
    check_caught(Mutation::change_chunk, 1000, {Fault::misplaced, Fault::missing, Fault::absent, Fault::race});
}

TEST_CASE("mutants: what is stored instead of added is found", "[collective][mutation]") {
    check_caught(Mutation::store_for_add, 500, {Fault::missing});
}

TEST_CASE("mutants: what is added instead of stored is found", "[collective][mutation]") {
    check_caught(Mutation::add_for_store, 500, {Fault::doubled, Fault::absent});
}

TEST_CASE("mutants: wrong peers are found", "[collective][mutation]") {
    check_caught(Mutation::wrong_peer, 1000, {Fault::deadlock, Fault::malformed});
}

TEST_CASE("mutants: a circle of ranks that all wait first is found", "[collective][mutation]") {
    check_caught(Mutation::wait_first, 50, {Fault::deadlock});
}
