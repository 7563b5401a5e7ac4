#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What is spoilt in one place of one rank's program (of `wait_first`, in every thread).
enum class Mutation : std::uint8_t {
    drop_take,       ///< what a rank takes from a peer, a switch or an event
    drop_give,       ///< a message, contribution, multicast or signal
    drop_local,      ///< a copy or an addition of the rank's own
    duplicate_give,  ///< twice instead of once
    swap_chunks,     ///< of two instructions of a thread that both give or both take
    change_chunk,    ///< to the next
    store_for_add,   ///< receive instead of receive_reduce, copy instead of reduce
    add_for_store,   ///< the other way round
    wrong_peer,      ///< the next rank
    wait_first,      ///< the first thing that each thread waits for, before everything else
};
std::string_view name_of(Mutation mutation);

/// All ranks' programs without loops: each instruction that is carried out stands there once.
std::vector<RankProgram> unrolled(const Schedule& schedule);

/// The schedule with these programs.
Schedule with_programs(const Schedule& schedule, std::vector<RankProgram> programs);

/// An instruction in unrolled programs.
struct Site {
    std::size_t rank = 0;
    std::size_t thread = 0;
    std::size_t at = 0;
};
std::vector<Site> sites_of(const std::vector<RankProgram>& programs);

/// The programs spoilt in one place; none where the mutation does not apply there or would change nothing.
std::optional<std::vector<RankProgram>> mutated(const Schedule& schedule, const std::vector<RankProgram>& programs,
                                                Mutation mutation, const Site& site);

}  // namespace lockstep::collective
