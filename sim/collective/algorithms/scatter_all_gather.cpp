#include <bit>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/binomial_programs.h"
#include "sim/collective/halving.h"
#include "sim/collective/peers.h"

// A broadcast of a long vector in two parts: scatter it, so that every rank has one block, and all-gather the blocks.
// The root sends everything only once, and the other ports help; a binomial tree sends whole vectors log2 n times.
// Reduce is the same backwards: reduce-scatter, then gather at the root. As MPICH does it, the all-gather is by
// recursive doubling where the number of ranks is a power of two and the vector under 512 KiB (few latencies), else
// round a ring (neighbours only). Source: Barnett, Gupta, Payne, Shuler, van de Geijn and Watts (1994),
// "Interprocessor collective communication library (InterCom)"; Thakur, Rabenseifner and Gropp (2005), section 3.2.

namespace lockstep::collective {

namespace {

enum class Spread : std::uint8_t { by_doubling, round_ring };

Spread spread_of(std::size_t ranks, const Request& request) {
    constexpr std::int64_t long_message = 512 << 10;
    return std::has_single_bit(ranks) && request.bytes.value < long_message ? Spread::by_doubling : Spread::round_ring;
}

/// Once round the ring of places. Blocks are numbered by place. first: what this place sends first.
Block pass(const Rotation& rotation, std::uint32_t place, std::uint32_t first, Verb take) {
    const std::uint32_t n = rotation.ranks;
    const auto block = [&](std::uint32_t from) { return ChunkIndex{.first = from % n, .stride = -1, .modulus = n}; };
    return {.iterations = n - 1,
            .body = {{.verb = Verb::send, .peer = rotation.rank_at((place + 1) % n), .chunk = block(first)},
                     {.verb = take, .peer = rotation.rank_at((place + n - 1) % n), .chunk = block(first + n - 1)}}};
}

CubeExchange cube_over(const Rotation& rotation) { return {.cube = Hypercube(rotation.ranks), .rotation = rotation}; }

/// The children have their blocks before the all-gather begins: it should not share the port with them.
void drain_last(std::vector<Instruction>& steps) {
    if (!steps.empty() && steps.back().verb == Verb::send) {
        steps.push_back({.verb = Verb::drain, .peer = steps.back().peer});
    }
}

std::vector<Block> broadcast(const Rotation& rotation, RankId rank, Spread spread) {
    const std::uint32_t place = rotation.place_of(rank);
    Block scatter{.body = binomial_scatter(rotation, rank, BlockNumbers::by_place)};
    drain_last(scatter.body);
    return {scatter, spread == Spread::round_ring ? pass(rotation, place, place, Verb::receive)
                                                  : Block{.body = cube_over(rotation).doubling(place)}};
}

std::vector<Block> reduce(const Rotation& rotation, RankId rank, Spread spread) {
    const std::uint32_t place = rotation.place_of(rank);
    const Block gather{.body = binomial_gather(rotation, rank, BlockNumbers::by_place)};
    // From one place back, so that the last block taken is the place's own.
    return {spread == Spread::round_ring ? pass(rotation, place, place + rotation.ranks - 1, Verb::receive_reduce)
                                         : Block{.body = cube_over(rotation).halving(place)},
            gather};
}

Schedule make(const Communicator& communicator, const Request& request) {
    const Rotation rotation{static_cast<std::uint32_t>(communicator.size()), request.root};
    const Spread spread = spread_of(communicator.size(), request);
    return {.algorithm = "scatter-all-gather",
            .operation = request.operation,
            .ranks = rotation.ranks,
            .chunks = rotation.ranks,
            .root = request.root,
            .program = [rotation, spread, operation = request.operation](RankId rank) {
                if (rotation.ranks == 1) {
                    return RankProgram{};
                }
                return RankProgram{{.blocks = operation == Operation::broadcast ? broadcast(rotation, rank, spread)
                                                                                : reduce(rotation, rank, spread)}};
            }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const double steps = spread_of(ranks, request) == Spread::round_ring ? ranks - 1.0 : ceil_log2(ranks);
    return ranks - 1.0 + steps * ranks;
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const double n = ranks;
    const bool rings = spread_of(ranks, request) == Spread::round_ring;
    // A gather's subtrees that lack ranks are early, as in binomial_tree.cpp.
    const bool exact = request.operation == Operation::broadcast || std::has_single_bit(ranks);
    return {.alphas = ceil_log2(ranks) + (rings ? n - 1 : ceil_log2(ranks)),
            .bytes = 2 * (n - 1) / n * static_cast<double>(request.bytes.value),
            .holds = exact ? Cost::Holds::exactly : Cost::Holds::approximately,
            .formula = rings ? "(⌈log2 n⌉ + n-1)α + 2(n-1)/n S/B" : "2 log2(n) α + 2(n-1)/n S/B",
            .source = "Barnett et al. 1994; Thakur, Rabenseifner and Gropp 2005"};
}

}  // namespace

Algorithm scatter_all_gather_algorithm() {
    return {.name = "scatter-all-gather",
            .summary =
                "a long broadcast as a scatter and an all-gather, a reduce the same backwards: twice the data, "
                "not log2 n times",
            .operations = {Operation::broadcast, Operation::reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
