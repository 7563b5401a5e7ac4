#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"

namespace lockstep::collective {

enum class Operation : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, all_to_all };

std::string_view name_of(Operation operation);
std::span<const Operation> operations();
/// Throws: InputError with the nearest known name.
Operation operation_named(std::string_view name);

/// What one step of a rank's program does. Sends do not wait: they leave in order on their connection (sender,
/// receiver, channel), and the n-th send of a connection is what its n-th receive takes. Receives wait for the last
/// byte.
enum class Verb : std::uint8_t {
    send,               ///< chunks to `peer`
    receive,            ///< chunks from `peer`, stored
    receive_reduce,     ///< chunks from `peer`, added to what is there
    contribute,         ///< offers chunks to an in-switch reduction of `group` that `peer` reads; does not wait
    reduce_in_switch,   ///< reads chunks from every member of `group`, added up by the switch; waits for all to
                        ///< contribute
    multicast,          ///< chunks to every member of `group` (itself included) through the switch; does not wait
    receive_multicast,  ///< chunks from the multicast of `peer`, stored
};

/// Where chunks live. All operations work in place on `data`, except all_to_all, which reads `data` and stores in
/// `received`; there a rank's chunks for itself are in place from the start and need no instruction.
enum class Buffer : std::uint8_t { data, received };

/// A chunk number that moves with the loop: offset + scale * order[(first + stride * iteration) mod modulus], the
/// modulo never negative. Requires: modulus >= 1.
struct ChunkIndex {
    std::uint32_t offset = 0;
    std::uint32_t first = 0;
    std::int32_t stride = 0;
    std::uint32_t modulus = 1;
    std::uint32_t scale = 1;
    /// A permutation of 0 .. modulus - 1: the sequence in which a loop visits blocks that do not lie in order (the
    /// ranks along a ring). None: in order. Shared by all instructions that follow the same sequence, so that it costs
    /// a rank nothing.
    std::shared_ptr<const std::vector<std::uint32_t>> order = nullptr;

    std::uint32_t at(std::uint32_t iteration) const;
};

struct Instruction {
    Verb verb = Verb::send;
    Buffer buffer = Buffer::data;
    RankId peer{};       ///< the other side; of in-switch verbs, the rank that reads or multicasts
    ChunkIndex chunk{};  ///< the first of `count` consecutive chunks
    std::uint32_t count = 1;
    std::uint32_t group = 0;  ///< in-switch verbs: index into Schedule::groups
};

/// A loop: the body, once for each iteration.
struct Block {
    std::uint32_t iterations = 1;
    std::vector<Instruction> body = {};
};

/// Instructions that a rank runs one after the other: the blocks in order, and that `rounds` times, every chunk number
/// moved on by `round_stride` a round. Threads of one rank run side by side and share nothing but the links. Within a
/// channel, at most one thread of a rank sends to a given peer, and at most one receives from it.
struct Thread {
    std::uint32_t channel = 0;
    std::uint32_t rounds = 1;
    std::uint32_t round_stride = 0;
    std::vector<Block> blocks = {};
};

using RankProgram = std::vector<Thread>;

/// A collective's algorithm for one communicator: a program per rank, with loops kept as loops (memory per rank does
/// not grow with the number of steps). The vector (nccl-tests' size: for reduce_scatter, all_gather and all_to_all the
/// total over ranks) is cut into `chunks` pieces of equal size but for rounding; nothing is lost.
struct Schedule {
    std::string algorithm = {};
    Operation operation = Operation::all_reduce;
    std::uint32_t ranks = 1;
    std::uint32_t channels = 1;
    std::uint32_t chunks = 1;
    RankId root{};                              ///< of broadcast
    std::vector<std::vector<RankId>> groups{};  ///< members of in-switch operations
    std::function<RankProgram(RankId)> program{};
};

/// Bytes of `count` chunks from `first` on, of a vector of `total` bytes cut into `chunks`: chunk c ends at floor((c+1)
/// total/chunks).
Bytes chunk_bytes(Bytes total, std::uint32_t chunks, std::uint32_t first, std::uint32_t count);

/// busbw / algbw as nccl-tests defines it: 2(n-1)/n for all_reduce, (n-1)/n for reduce_scatter, all_gather and
/// all_to_all, 1 for broadcast. One rank: 0 for all but broadcast. Source: nccl-tests, doc/PERFORMANCE.md.
double busbw_factor(Operation operation, std::size_t ranks);

}  // namespace lockstep::collective
