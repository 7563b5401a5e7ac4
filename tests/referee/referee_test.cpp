#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "tests/referee/smpi.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::literals;
using referee::Contest;
using referee::lockstep_time;
using referee::Machine;
using referee::Smpi;

namespace {

/// Of single-switch as it stands.
constexpr Bandwidth rate{50e9};
/// SMPI counts tag, communicator and so on of each message as so many bytes (smpi_request.cpp: `size_ + 16`).
constexpr double envelope = 16;

Machine single_switch(std::size_t ranks) { return {"single-switch", {fmt::format("gpus={}", ranks)}, ranks}; }

std::size_t log2_of(std::size_t ranks) {
    std::size_t steps = 0;
    while (std::size_t{1} << steps < ranks) {
        ++steps;
    }
    return steps;
}

// The algorithms of SMPI are those of its folder src/smpi/colls (SimGrid 3.32).

/// All-reduces that both do alike.
std::vector<Contest> all_reduces(std::size_t ranks) {
    return {{"all_reduce", "ring", {"allreduce:lr"}, 2 * (ranks - 1)},
            {"all_reduce", "halving-doubling", {"allreduce:rab1", "allgather:rdb"}, 2 * log2_of(ranks)},
            {"all_reduce",
             "direct",
             {"allreduce:rab2", "alltoall:basic_linear", "allgather:spreading_simple"},
             2 * (ranks - 1)},
            {"all_reduce", "recursive-doubling", {"allreduce:rdb"}, log2_of(ranks)}};
}

/// Other collectives.
std::vector<Contest> others(std::size_t ranks) {
    return {{"all_reduce", "binomial-tree", {"allreduce:redbcast", "reduce:binomial", "bcast:binomial_tree"}, 2 * log2_of(ranks)},
            {"all_gather", "ring", {"allgather:ring"}, ranks - 1},
            {"all_gather", "recursive-doubling", {"allgather:rdb"}, log2_of(ranks)},
            {"all_gather", "bruck", {"allgather:bruck"}, log2_of(ranks)},
            {"all_gather", "direct", {"allgather:spreading_simple"}, ranks - 1},
            {"all_to_all", "direct", {"alltoall:basic_linear"}, ranks - 1},
            {"all_to_all", "pairwise", {"alltoall:ring"}, ranks - 1},
            {"all_to_all", "pairwise", {"alltoall:pair"}, ranks - 1},
            {"all_to_all", "bruck", {"alltoall:bruck"}, log2_of(ranks)},
            {"broadcast", "binomial-tree", {"bcast:binomial_tree"}, log2_of(ranks)},
            {"broadcast", "scatter-all-gather", {"bcast:scatter_LR_allgather"}, log2_of(ranks) + ranks - 1},
            {"broadcast", "scatter-all-gather", {"bcast:scatter_rdb_allgather"}, 2 * log2_of(ranks)},
            {"broadcast", "chain", {"bcast:ompi_pipeline"}, 0},
            {"broadcast", "direct", {"bcast:flattree"}, ranks - 1},
            {"reduce_scatter", "ring", {"reduce_scatter:ompi_ring"}, ranks - 1},
            {"reduce_scatter", "halving-doubling", {"reduce_scatter:ompi_basic_recursivehalving"}, log2_of(ranks)},
            {"reduce_scatter", "pairwise", {"reduce_scatter:mpich_pair"}, ranks - 1}};
}
}  // namespace

TEST_CASE("referee table", "[.table]") {
    for (const std::size_t ranks : {8, 16}) {
        const Machine machine = single_switch(ranks);
        const Smpi smpi(machine);
        auto contests = all_reduces(ranks);
        for (auto& c : others(ranks)) contests.push_back(c);
        for (const Contest& contest : contests) {
            for (const Bytes bytes : {1024_B, 65536_B, 1_MiB, 256_MiB}) {
                try {
                const Seconds theirs = bytes > 1_MiB ? smpi.replay(contest, bytes) : smpi.run(contest, bytes);
                const Seconds ours = lockstep_time(machine, contest, bytes);
                const double header = static_cast<double>(contest.messages_in_line) * envelope / rate.value;
                std::cout << fmt::format("{:2} {:14} {:20} {:40} {:9} {:12.6g} {:12.6g} {:+.2e} {:+.2e}\n", ranks,
                                         contest.operation, contest.algorithm, contest.smpi.front(), bytes.value,
                                         ours.value*1e6, theirs.value*1e6, theirs / ours - 1,
                                         (theirs.value - header) / ours.value - 1) << std::flush;
                } catch (const std::exception& e) { std::cout << "FAILED " << contest.operation << ' ' << contest.smpi.front() << ' ' << bytes.value << ' ' << e.what() << std::endl; }
            }
        }
    }
}
