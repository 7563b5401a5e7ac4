#include <algorithm>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/in_switch_heads.h"
#include "sim/fabric/route_in_switch.h"

// Switches that can add up and copy do so. Rank h (head h) reads its part of the data as the switch's sum over all
// ranks, and writes it to all through the switch. Each rank sends its whole vector once and one more part, so S(n+1)/n
// per direction instead of the 2 S(n-1)/n of a ring. The parts are cut into pieces: while one is written, later ones
// are read. With a root, that rank reads or writes everything. Source: NCCL 2.30, src/device/all_reduce.h (NVLS); Klenk
// et al. (2020), "An in-network architecture for accelerating shared-memory multiprocessor collectives".

namespace lockstep::collective {

namespace {

/// What a rank's links to the switches carry together, one direction, and the time a message takes through them.
struct Port {
    Bandwidth rate{};
    Seconds alpha{};
};

Port port_of(const Communicator& communicator) {
    const fabric::Fabric& fabric = communicator.fabric();
    const auto planes = fabric::shared_reducers(fabric, communicator.gpus());
    Port port;
    for (const LinkId link : fabric.links_out_of(communicator.gpu(RankId{0}))) {
        if (std::find(planes.begin(), planes.end(), fabric.to(link)) != planes.end()) {
            port.rate += fabric.link(link).bandwidth;
            port.alpha = std::max(port.alpha, 2 * fabric.link(link).latency);
        }
    }
    return port;
}

/// Pieces per head of an all-reduce. The first sums and the last copies use one direction only, which costs (n-1)/n S/B
/// over the number of pieces; their latencies overlap. So the more the better, until there are more to simulate than
/// that is worth, or a piece is smaller than what arrives during the latency, which then is what counts. Other
/// operations use one direction from beginning to end and gain nothing.
std::uint32_t pieces_per_head(const Communicator& communicator, const Request& request) {
    constexpr std::int64_t smallest = 16 << 10;
    constexpr std::int64_t all_heads_together = 2048;
    constexpr std::int64_t always_worth_it = 32;
    if (request.tuning.pieces) {
        return *request.tuning.pieces;
    }
    if (request.operation != Operation::all_reduce) {
        return 1;
    }
    const auto ranks = static_cast<std::int64_t>(communicator.size());
    const std::int64_t most = std::max(all_heads_together / ranks, always_worth_it);
    return static_cast<std::uint32_t>(std::clamp(request.bytes.value / ranks / smallest, std::int64_t{1}, most));
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
    const HeadPlan plan{.operation = request.operation,
                        .ranks = static_cast<std::uint32_t>(communicator.size()),
                        .pieces = pieces_per_head(communicator, request),
                        .root = request.root};
    return head_schedule("nvls", plan);
}

double messages(const Communicator& communicator, const Request& request) {
    const double flows = request.operation == Operation::all_reduce ? 2 : 1;
    const double heads = has_root(request.operation) ? 1 : static_cast<double>(communicator.size());
    return flows * heads * pieces_per_head(communicator, request);
}

/// Of an all-reduce: while the first piece is on its way to and from its head (α and 1/(nk) of n S/B, then α again),
/// the other sums go on at B, and what is added up by then is written alone at the end: (n-1)/n of the port's time is
/// lost on one piece and on what one α carries. Where even all sums take less than that, they are over before the
/// first copy moves.
Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "derived from NCCL 2.30's kernels";
    if (request.operation != Operation::all_reduce) {
        return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = source};
    }
    const double pieces = pieces_per_head(communicator, request);
    const Port port = port_of(communicator);
    if (port.alpha.value >= (1 - 1 / pieces) * (request.bytes / port.rate).value) {
        return {.alphas = 2,
                .bytes = (1 + 1 / pieces) * bytes,
                .formula = fmt::format("2α + (1 + 1/k) S/B, k = {}", pieces),
                .source = source};
    }
    return {.alphas = 2 - 1 / n,
            .bytes = ((n + 1) / n + (n - 1) / n / pieces) * bytes,
            .formula = fmt::format("(2-1/n)α + ((n+1)/n + (n-1)/(nk)) S/B, k = {}", pieces),
            .source = source};
}

}  // namespace

Algorithm nvls_algorithm() {
    return {.name = "nvls",
            .summary =
                "switches add up and copy: each rank sends its data once and a part more; needs switches that reduce",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather,
                           Operation::broadcast, Operation::reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
