#include "tests/referee/contests.h"

#include <bit>

namespace lockstep::referee {

namespace {

/// SMPI adds 16 bytes to each message, for tag, destination and communicator. Source: SimGrid 3.32,
/// src/smpi/mpi/smpi_request.cpp, Request::start.
constexpr double envelope_bytes = 16;

/// Up to this size Lockstep and MPICH end a broadcast by scatter and all-gather with the all-gather of fewest steps.
constexpr Bytes short_vector{std::int64_t{512} << 10};

std::size_t log2_of(std::size_t ranks) { return static_cast<std::size_t>(std::bit_width(ranks)) - 1; }

}  // namespace

// The algorithms of SMPI are those of its folder src/smpi/colls.

std::vector<Contest> all_reduces(std::size_t ranks) {
    std::vector<Contest> contests{{"all_reduce", "ring", {"allreduce:lr"}, 2 * (ranks - 1)},
                                  {"all_reduce",
                                   "direct",
                                   {"allreduce:rab2", "alltoall:basic_linear", "allgather:spreading_simple"},
                                   2 * (ranks - 1)}};
    if (std::has_single_bit(ranks)) {
        const std::size_t steps = log2_of(ranks);
        contests.push_back({"all_reduce", "halving-doubling", {"allreduce:rab1", "allgather:rdb"}, 2 * steps});
        contests.push_back({"all_reduce", "recursive-doubling", {"allreduce:rdb"}, steps});
        contests.push_back({"all_reduce",
                            "binomial-tree",
                            {"allreduce:redbcast", "reduce:binomial", "bcast:binomial_tree"},
                            2 * steps});
    }
    return contests;
}

std::vector<Contest> others(std::size_t ranks, Bytes bytes) {
    const std::size_t steps = log2_of(ranks);
    return {{"all_gather", "ring", {"allgather:ring"}, ranks - 1},
            {"all_gather", "direct", {"allgather:spreading_simple"}, ranks - 1},
            {"all_gather", "recursive-doubling", {"allgather:rdb"}, steps},
            {"all_gather", "bruck", {"allgather:bruck"}, steps},
            {"reduce_scatter", "ring", {"reduce_scatter:ompi_ring"}, ranks - 1},
            {"reduce_scatter", "pairwise", {"reduce_scatter:mpich_pair"}, ranks - 1},
            {"reduce_scatter", "halving-doubling", {"reduce_scatter:ompi_basic_recursivehalving"}, steps},
            {"all_to_all", "direct", {"alltoall:basic_linear"}, ranks - 1},
            {"all_to_all", "pairwise", {"alltoall:ring"}, ranks - 1},
            {"all_to_all", "bruck", {"alltoall:bruck"}, steps},
            {"broadcast", "binomial-tree", {"bcast:binomial_tree"}, steps},
            {"broadcast", "direct", {"bcast:flattree"}, ranks - 1},
            bytes < short_vector
                ? Contest{"broadcast", "scatter-all-gather", {"bcast:scatter_rdb_allgather"}, 2 * steps}
                : Contest{"broadcast", "scatter-all-gather", {"bcast:scatter_LR_allgather"}, steps + ranks - 1}};
}

Seconds time_of_envelopes(const Contest& contest, Bandwidth rate) {
    return {static_cast<double>(contest.envelopes) * envelope_bytes / rate.value};
}

}  // namespace lockstep::referee
