#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/fabric/route_in_switch.h"

// Switches that can add up and copy do so. Rank h (head h) reads its part of the data as the switch's sum over all
// ranks, and writes it to all through the switch. Each rank sends its whole vector once and one more part, so S(n+1)/n
// per direction instead of the 2 S(n-1)/n of a ring. The parts are cut into pieces: the sum of one is read while the
// one before is written. Source: NCCL 2.30, src/device/all_reduce.h (NVLS); Klenk et al. (2020), "An in-network
// architecture for accelerating shared-memory multiprocessor collectives".

namespace lockstep::collective {

namespace {

/// Pieces per head. Data of time T = S/B on a GPU's link takes, in k pieces, about (n+1)/n T + (n-1)/n T/k + 2(k+1)L:
/// the first sum and the last copy use one direction only, and each piece waits for two link latencies. The least is at
/// k = sqrt((n-1)/n T / 2L).
std::uint32_t pieces_per_head(const Communicator& communicator, const Request& request) {
    constexpr double most = 64;
    if (request.operation != Operation::all_reduce) {
        return 1;  // one direction only: nothing overlaps
    }
    const fabric::Fabric& fabric = communicator.fabric();
    const auto planes = fabric::shared_reducers(fabric, communicator.gpus());
    Bandwidth rate;
    Seconds latency;
    for (const LinkId link : fabric.links_out_of(communicator.gpu(RankId{0}))) {
        if (std::find(planes.begin(), planes.end(), fabric.to(link)) != planes.end()) {
            rate += fabric.link(link).bandwidth;
            latency = std::max(latency, fabric.link(link).latency);
        }
    }
    const double overlapping = busbw_factor(Operation::all_gather, communicator.size()) * (request.bytes / rate).value;
    const double best = latency > Seconds{0} ? std::sqrt(overlapping / (2 * latency.value)) : most;
    return static_cast<std::uint32_t>(std::clamp(std::round(best), 1.0, most));
}

ChunkIndex pieces_of(RankId head, std::uint32_t pieces) {
    return {.offset = static_cast<std::uint32_t>(head) * pieces, .stride = 1, .modulus = pieces};
}

/// What the rank does for others' reductions and as the head of its own part.
Block head_block(RankId rank, std::uint32_t ranks, std::uint32_t pieces, Operation operation) {
    Block block{.iterations = pieces};
    const ChunkIndex own = pieces_of(rank, pieces);
    if (operation != Operation::all_gather) {
        for (std::uint32_t h = 0; h < ranks; ++h) {
            const auto head = id_at<RankId>(h);
            block.body.push_back({.verb = Verb::contribute, .peer = head, .chunk = pieces_of(head, pieces)});
        }
        block.body.push_back({.verb = Verb::reduce_in_switch, .peer = rank, .chunk = own});
    }
    if (operation != Operation::reduce_scatter) {
        block.body.push_back({.verb = Verb::multicast, .peer = rank, .chunk = own});
    }
    return block;
}

Block receiving_block(std::uint32_t ranks, std::uint32_t pieces) {
    Block block{.iterations = pieces};
    for (std::uint32_t h = 0; h < ranks; ++h) {
        const auto head = id_at<RankId>(h);
        block.body.push_back({.verb = Verb::receive_multicast, .peer = head, .chunk = pieces_of(head, pieces)});
    }
    return block;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& /*request*/) {
    std::vector<RankId> all(communicator.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        all[rank] = id_at<RankId>(rank);
    }
    if (!communicator.can_reduce_in_switch(all)) {
        return "nvls needs a switch that can reduce and that all ranks are cabled to";
    }
    return std::nullopt;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const std::uint32_t pieces = ranks == 1 ? 1 : pieces_per_head(communicator, request);
    std::vector<RankId> all(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        all[rank] = id_at<RankId>(rank);
    }
    return {.algorithm = "nvls",
            .operation = request.operation,
            .ranks = ranks,
            .chunks = ranks * pieces,
            .groups = {std::move(all)},
            .program = [ranks, pieces, operation = request.operation](RankId rank) {
                RankProgram program;
                if (ranks > 1) {
                    program.push_back({.blocks = {head_block(rank, ranks, pieces, operation)}});
                    if (operation != Operation::reduce_scatter) {
                        program.push_back({.blocks = {receiving_block(ranks, pieces)}});
                    }
                }
                return program;
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const double flows = request.operation == Operation::all_reduce ? 2 : 1;
    return flows * static_cast<double>(communicator.size()) * pieces_per_head(communicator, request);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto bytes = static_cast<double>(request.bytes.value);
    if (request.operation != Operation::all_reduce) {
        return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = "derived from NCCL 2.30's kernels"};
    }
    const double pieces = pieces_per_head(communicator, request);
    return {.alphas = pieces + 1,
            .bytes = ((n + 1) / n + (n - 1) / n / pieces) * bytes,
            .formula = fmt::format("(k+1)α + ((n+1)/n + (n-1)/(nk)) S/B, k = {}", pieces),
            .source = "derived from NCCL 2.30's kernels"};
}

}  // namespace

Algorithm nvls_algorithm() {
    return {.name = "nvls",
            .summary =
                "switches add up and copy: each rank sends its data once and a part more; needs switches that reduce",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
