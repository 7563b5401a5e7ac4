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
#include "sim/collective/permutation.h"

namespace lockstep::collective {

/// What the ranks want done; as nccl-tests names them, and MPI's barrier.
enum class Operation : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    broadcast,
    reduce,
    all_to_all,
    all_to_all_v,  ///< all_to_all with a size of its own for each pair of ranks
    gather,        ///< the blocks of all ranks, at the root
    scatter,       ///< the blocks of the root's vector, one at each rank
    send_recv,     ///< every rank's vector to the next rank, the last one's to the first
    permutation,  ///< every rank's vector to its partner in a random permutation, which is traffic to test fabrics with
    barrier,      ///< no data: nobody ends before everybody has started
};

std::string_view name_of(Operation operation);
std::span<const Operation> operations();
/// Of broadcast, reduce, gather and scatter one rank is the root.
bool has_root(Operation operation);
/// The result is other ranks' data, apart from the rank's own vector.
bool moves_vectors(Operation operation);
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
    contribute_to_all,  ///< offers chunks to an in-switch reduction whose sum goes to every member of `group`; `peer`
                        ///< tells reductions apart that go on at once, by convention a member; does not wait
    receive_sum,        ///< that sum, stored; waits for all to contribute
    copy,               ///< chunks of the rank's own, from `from_buffer` and `from`; takes no time
    reduce,             ///< the same, added to what is there; takes no time
    signal,             ///< counts `event` of the rank up; does not wait
    wait,               ///< waits until `event` of the rank is above zero and counts it down
    drain,              ///< waits until all that was sent to `peer` on this channel has arrived: what comes next does
                        ///< not share the rank's links with it
};

/// Where chunks live. Every rank starts with its vector in `data` (initial_contents in prover.h says which chunks of
/// it); results are due in Schedule::result. Of all_to_all, all_to_all_v, send_recv and permutation, whose result is
/// not the vector changed in place, that is `received` (moves_vectors); there a rank's chunks for itself are in place
/// from the start and need no instruction.
enum class Buffer : std::uint8_t { data, received, scratch };

/// How many bytes each rank has for each other: of all_to_all_v.
struct SizeMatrix {
    std::uint32_t ranks = 0;
    std::vector<Bytes> bytes = {};  ///< by sender, then receiver

    Bytes at(RankId from, RankId to) const { return bytes[index(from) * ranks + index(to)]; }
};

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
    /// One message of scattered chunks: their numbers, instead of `chunk` and `count`. Only in threads of one round and
    /// blocks of one iteration. The n-th chunk that is sent is the n-th that is taken.
    std::shared_ptr<const std::vector<std::uint32_t>> chunks = nullptr;
    std::uint32_t group = 0;            ///< in-switch verbs: index into Schedule::groups
    Buffer from_buffer = Buffer::data;  ///< of copy and reduce
    ChunkIndex from = {};               ///< of copy and reduce: the first of `count` chunks
    std::uint32_t event = 0;            ///< of signal and wait: a number of the rank's own
};

/// A loop: the body, once for each iteration.
struct Block {
    std::uint32_t iterations = 1;
    std::vector<Instruction> body = {};
};

/// Instructions that a rank runs one after the other: the blocks in order, and that `rounds` times, every chunk number
/// moved on by `round_stride` a round. Threads of one rank run side by side: they share the rank's buffers, its links,
/// and its events, by which one can wait for another. Within a channel, at most one thread of a rank sends to a given
/// peer, and at most one receives from it.
struct Thread {
    std::uint32_t channel = 0;
    std::uint32_t rounds = 1;
    std::uint32_t round_stride = 0;
    std::vector<Block> blocks = {};
};

using RankProgram = std::vector<Thread>;

/// A collective's algorithm for one communicator: a program per rank, with loops kept as loops (memory per rank does
/// not grow with the number of steps). The vector (nccl-tests' size: for reduce_scatter, all_gather, all_to_all, gather
/// and scatter the total over ranks) is cut into `chunks` pieces of equal size but for rounding; nothing is lost. Where
/// the operation has blocks of ranks (those five), block r is the r-th of `ranks` equal runs of chunks, so that `ranks`
/// divides `chunks`. Of all_to_all_v chunk r of a rank is what it has for rank r.
struct Schedule {
    std::string algorithm = {};
    Operation operation = Operation::all_reduce;
    std::uint32_t ranks = 1;
    std::uint32_t channels = 1;
    std::uint32_t chunks = 1;
    std::uint32_t scratch_chunks = 0;                  ///< of each rank; as large as those of the vector
    Buffer result = Buffer::data;                      ///< where the result is due
    RankId root{};                                     ///< where has_root(operation)
    std::vector<std::vector<RankId>> groups{};         ///< members of in-switch operations
    std::shared_ptr<const SizeMatrix> sizes{};         ///< of all_to_all_v
    std::shared_ptr<const Permutation> permutation{};  ///< of permutation
    std::function<RankProgram(RankId)> program{};
};

/// Bytes of `count` chunks from `first` on, of a vector of `total` bytes cut into `chunks`: chunk c ends at floor((c+1)
/// total/chunks).
Bytes chunk_bytes(Bytes total, std::uint32_t chunks, std::uint32_t first, std::uint32_t count);

/// Bytes of `count` chunks from `first` on of what `sender` has for the others.
Bytes message_bytes(const SizeMatrix& sizes, RankId sender, std::uint32_t first, std::uint32_t count);

/// busbw / algbw as nccl-tests defines it: 2(n-1)/n for all_reduce; (n-1)/n for reduce_scatter, all_gather, all_to_all,
/// gather and scatter; 1 for broadcast, reduce, send_recv and permutation; 0 for barrier. all_to_all_v as all_to_all.
/// One rank: 0 where there is an n-1. Source: nccl-tests, doc/PERFORMANCE.md and src/.
double busbw_factor(Operation operation, std::size_t ranks);

}  // namespace lockstep::collective
