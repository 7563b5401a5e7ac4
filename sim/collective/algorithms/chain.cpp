#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/pipeline.h"
#include "sim/collective/ring_programs.h"

// The data moves down a chain of all ranks in pieces: a rank passes a piece on while it takes the next. A reduce goes
// the same way, adding up. An all-reduce reduces up the chain and broadcasts each finished piece back down it; the two
// streams overlap. The order of the chain is the communicator's first ring, cut open. Source: Chan, Heimlich,
// Purkayastha and van de Geijn (2007), "Collective communication: theory, practice, and experience", on pipelined
// algorithms on linear arrays.

namespace lockstep::collective {

namespace {

/// What programs need to know; it outlives the communicator.
struct Chains {
    RingPrograms rings;
    std::uint32_t pieces = 1;
    Operation operation = Operation::broadcast;
    RankId root{};
};

std::uint32_t pieces_for(const Communicator& communicator, const Request& request) {
    const std::size_t hops = communicator.size() - 1;
    const std::size_t depth = request.operation == Operation::all_reduce ? 2 * hops : hops;
    const auto part = request.bytes.value / static_cast<std::int64_t>(chosen_rings(communicator, request).size());
    return request.tuning.pieces.value_or(pipeline_pieces(Bytes{part}, depth));
}

/// The hop that closes the ring is not part of the chain.
struct Cut {
    std::optional<RankId> first = {};  ///< where the chain starts
    std::optional<RankId> last = {};   ///< where it ends
};

ChainPlace down(const Chains& chains, std::uint32_t channel, RankId rank, const Cut& cut) {
    const RingPlace place = chains.rings.place(channel, rank);
    ChainPlace chain{.piece = {.offset = channel * chains.pieces}, .pieces = chains.pieces};
    if (rank != cut.first && place.previous != cut.last) {
        chain.from = place.previous;
    }
    if (rank != cut.last && place.next != cut.first) {
        chain.to = place.next;
    }
    return chain;
}

/// All-reduce: pieces come up the chain of one channel and go back down the same chain. Where the chain starts, one
/// thread turns them round; elsewhere the streams need a thread and a channel each.
void add_all_reduce(const Chains& chains, std::uint32_t ring, RankId rank, RankProgram& program) {
    const auto first = id_at<RankId>(chains.rings.ring(ring).ranks.front());
    const ChainPlace way_down = down(chains, ring, rank, {.first = first});
    const ChainPlace way_up{
        .from = way_down.to, .to = way_down.from, .piece = way_down.piece, .pieces = way_down.pieces};
    if (rank == first) {
        Block turn = chain_program(way_up, Verb::receive_reduce);
        turn.body.push_back(chain_program(way_down, Verb::receive).body.front());
        program.push_back({.channel = ring, .blocks = {std::move(turn)}});
        return;
    }
    program.push_back({.channel = ring, .blocks = {chain_program(way_up, Verb::receive_reduce)}});
    program.push_back({.channel = ring, .blocks = {chain_program(way_down, Verb::receive)}});
}

RankProgram program_of(const Chains& chains, RankId rank) {
    RankProgram program;
    for (std::uint32_t ring = 0; chains.rings.size() > 1 && ring < chains.rings.channels(); ++ring) {
        switch (chains.operation) {
            case Operation::broadcast:
                program.push_back(
                    {.channel = ring,
                     .blocks = {chain_program(down(chains, ring, rank, {.first = chains.root}), Verb::receive)}});
                break;
            case Operation::reduce:
                program.push_back(
                    {.channel = ring,
                     .blocks = {chain_program(down(chains, ring, rank, {.last = chains.root}), Verb::receive_reduce)}});
                break;
            default:
                add_all_reduce(chains, ring, rank, program);
        }
    }
    return program;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    const RingSpan rings = chosen_rings(communicator, request);
    if (auto too_fine = chunk_obstacle(rings.size(), pieces_for(communicator, request))) {
        return too_fine;
    }
    switch (request.operation) {
        case Operation::broadcast:
            return ring_obstacle(communicator, rings, std::nullopt, request.root);
        case Operation::reduce:
            return ring_obstacle(communicator, rings, request.root, std::nullopt);
        default:
            break;
    }
    for (std::size_t ring = 0; ring < rings.size(); ++ring) {
        auto unjoined = ring_obstacle(communicator, rings.subspan(ring, 1), std::nullopt, rings[ring].front());
        if (unjoined) {
            return unjoined;
        }
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const std::uint32_t pieces = pieces_for(communicator, request);
    const auto chains =
        std::make_shared<const Chains>(Chains{.rings = RingPrograms(chosen_rings(communicator, request), 1),
                                              .pieces = pieces,
                                              .operation = request.operation,
                                              .root = request.root});
    return {.algorithm = "chain",
            .operation = request.operation,
            .ranks = chains->rings.size(),
            .channels = chains->rings.channels(),
            .chunks = chains->rings.channels() * pieces,
            .root = request.root,
            .program = [chains](RankId rank) { return program_of(*chains, rank); }};
}

double messages(const Communicator& communicator, const Request& request) {
    const double hops = static_cast<double>(communicator.size()) - 1;
    return hops * pieces_for(communicator, request) * static_cast<double>(chosen_rings(communicator, request).size()) *
           (request.operation == Operation::all_reduce ? 2 : 1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const RingSpan rings = chosen_rings(communicator, request);
    const double at_once = rings_at_once(communicator, rings);
    const std::string rate = at_once > 1 ? fmt::format("({}B)", at_once) : "B";
    const double bytes = static_cast<double>(request.bytes.value) / at_once;
    const double pieces = pieces_for(communicator, request);
    if (request.operation == Operation::all_reduce) {
        // Inner ranks send every piece twice: on its way up and on its way down.
        const double port = n > 2 ? 2 : 1;
        return {.alphas = 2 * (n - 1),
                .bytes = (port + (2 * n - 3 - port) / pieces) * bytes,
                .holds = Cost::Holds::approximately,
                .formula = fmt::format("2(n-1)α + (2 + (2n-5)/k) S/{}, k = {}", rate, pieces),
                .source = "docs/collectives/chain.md"};
    }
    return {.alphas = n - 1,
            .bytes = (1 + (n - 2) / pieces) * bytes,
            .formula = fmt::format("(n-1)α + (1 + (n-2)/k) S/{}, k = {}", rate, pieces),
            .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007"};
}

}  // namespace

Algorithm chain_algorithm() {
    return {.name = "chain",
            .summary = "pieces move down a chain of all ranks, each passed on while the next arrives: large broadcasts",
            .operations = {Operation::broadcast, Operation::reduce, Operation::all_reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
