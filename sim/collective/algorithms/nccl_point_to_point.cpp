#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/exchange_load.h"
#include "sim/collective/peers.h"

// NCCL has no all-to-all of its own: it is a group of sends and receives, as are gather and scatter, which NCCL carries
// out in a fixed order of n rounds. Ranks form groups of up to eight; a round is a step from group to group and one
// inside: all ranks send that far ahead and receive from that far behind. Group steps follow the triangular numbers
// 0, 1, 3, 6, ... modulo a power of two, which visits all of them in an order that spreads load over the network. Up to
// eight rounds are under way at once. Source: NCCL 2.30, src/init.cc (the schedule of peers) and src/enqueue.cc.

namespace lockstep::collective {

namespace {

constexpr std::uint32_t most_at_once = 8;
constexpr std::uint32_t largest_group = 8;

/// How far ahead a round sends: in groups, and in places of the group.
struct Step {
    std::uint32_t groups;
    std::uint32_t places;
};

struct Rounds {
    std::uint32_t ranks = 1;
    std::uint32_t group_size = 1;
    std::vector<Step> steps = {};

    RankId to(RankId rank, const Step& step) const { return shifted(rank, step.groups, step.places); }
    RankId from(RankId rank, const Step& step) const {
        return shifted(rank, ranks / group_size - step.groups, group_size - step.places);
    }

  private:
    RankId shifted(RankId rank, std::uint32_t groups, std::uint32_t places) const {
        const auto number = static_cast<std::uint32_t>(rank);
        const std::uint32_t group = (number / group_size + groups) % (ranks / group_size);
        return id_at<RankId>(group * group_size + (number % group_size + places) % group_size);
    }
};

/// As many as divide every node's ranks, at most eight.
std::uint32_t group_size_of(const Communicator& communicator) {
    std::uint32_t size = largest_group;
    for (const auto& node : communicator.nodes()) {
        size = std::gcd(size, static_cast<std::uint32_t>(node.size()));
    }
    return size;
}

std::shared_ptr<const Rounds> rounds_of(const Communicator& communicator) {
    auto rounds = std::make_shared<Rounds>();
    rounds->ranks = static_cast<std::uint32_t>(communicator.size());
    rounds->group_size = group_size_of(communicator);
    const std::uint32_t groups = rounds->ranks / rounds->group_size;
    const std::uint32_t modulus = std::bit_ceil(groups);
    std::uint32_t ahead = 0;
    for (std::uint32_t k = 0; k < modulus; ++k) {
        ahead = (ahead + k) % modulus;
        for (std::uint32_t places = 0; ahead < groups && places < rounds->group_size; ++places) {
            rounds->steps.push_back({ahead, places});
        }
    }
    return rounds;
}

/// Carries out `rounds` in batches of eight: all sends of a batch, then its receives, then on when the sends have
/// arrived, too. send, receive: whether this rank does, with that peer; a round with itself is empty.
template <class Sends, class Receives>
std::vector<Instruction> in_batches(const Rounds& rounds, RankId rank, Sends sends, Receives receives) {
    std::vector<Instruction> steps;
    std::vector<RankId> under_way;
    for (std::size_t first = 0; first < rounds.steps.size(); first += most_at_once) {
        const std::size_t end = std::min<std::size_t>(first + most_at_once, rounds.steps.size());
        std::vector<RankId> receivers;
        for (std::size_t r = first; r < end; ++r) {
            const RankId to = rounds.to(rank, rounds.steps[r]);
            if (to != rank && sends(to)) {
                receivers.push_back(to);
            }
        }
        for (const RankId to : receivers.empty() ? std::vector<RankId>() : std::exchange(under_way, receivers)) {
            steps.push_back({.verb = Verb::drain, .peer = to});
        }
        for (const RankId to : receivers) {
            steps.push_back({.verb = Verb::send, .peer = to, .chunk = {.offset = static_cast<std::uint32_t>(to)}});
        }
        for (std::size_t r = first; r < end; ++r) {
            const RankId from = rounds.from(rank, rounds.steps[r]);
            if (from != rank && receives(from)) {
                steps.push_back(
                    {.verb = Verb::receive, .peer = from, .chunk = {.offset = static_cast<std::uint32_t>(from)}});
            }
        }
    }
    return steps;
}

std::vector<Instruction> steps_of(const Rounds& rounds, RankId rank, const Request& request) {
    const auto nobody = [](RankId /*peer*/) { return false; };
    const auto everybody = [](RankId /*peer*/) { return true; };
    const auto root = [&](RankId peer) { return peer == request.root; };
    const bool is_root = rank == request.root;
    std::vector<Instruction> steps;
    switch (request.operation) {
        case Operation::gather:
            steps = is_root ? in_batches(rounds, rank, nobody, everybody) : in_batches(rounds, rank, root, nobody);
            break;
        case Operation::scatter:
            steps = is_root ? in_batches(rounds, rank, everybody, nobody) : in_batches(rounds, rank, nobody, root);
            break;
        default:
            steps = in_batches(rounds, rank, everybody, everybody);
            for (Instruction& step : steps) {
                step.buffer = step.verb == Verb::receive ? Buffer::received : Buffer::data;
            }
            return steps;
    }
    // Rooted: what passes between a rank and the root is the rank's block.
    for (Instruction& step : steps) {
        step.chunk = {.offset = static_cast<std::uint32_t>(is_root ? step.peer : rank)};
    }
    return steps;
}

std::vector<Instruction> to_next(std::uint32_t rank, std::uint32_t ranks) {
    return {{.verb = Verb::send, .peer = id_at<RankId>((rank + 1) % ranks)},
            {.verb = Verb::receive, .buffer = Buffer::received, .peer = id_at<RankId>((rank + ranks - 1) % ranks)}};
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto rounds = rounds_of(communicator);
    const std::uint32_t ranks = rounds->ranks;
    const bool to_one = request.operation == Operation::send_recv;
    return {
        .algorithm = "nccl-point-to-point",
        .operation = request.operation,
        .ranks = ranks,
        .chunks = to_one ? 1 : ranks,
        .result = has_root(request.operation) ? Buffer::data : Buffer::received,
        .root = request.root,
        .sizes = request.sizes,
        .program = [rounds, request, to_one](RankId rank) {
            if (rounds->ranks == 1) {
                return RankProgram{};
            }
            return RankProgram{{.blocks = {{.body = to_one ? to_next(static_cast<std::uint32_t>(rank), rounds->ranks)
                                                           : steps_of(*rounds, rank, request)}}}};
        }};
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    return unjoined_peers(communicator, make(communicator, request));
}

double messages(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    if (request.operation == Operation::send_recv) {
        return n == 1 ? 0 : n;
    }
    return has_root(request.operation) ? n - 1 : n * (n - 1);
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto n = static_cast<double>(communicator.size());
    const double batches = static_cast<double>((communicator.size() + most_at_once - 1) / most_at_once);
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "derived from NCCL 2.30's order";
    switch (request.operation) {
        case Operation::send_recv:
            return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = source};
        case Operation::gather:
            // Nobody asks the senders to wait for their turn.
            return {.alphas = 1, .bytes = (n - 1) / n * bytes, .formula = "α + (n-1)/n S/B", .source = source};
        case Operation::all_to_all_v:
            return {.alphas = batches,
                    .bytes = static_cast<double>(busiest_port(*request.sizes).value),
                    .holds = is_even(*request.sizes) ? Cost::Holds::exactly : Cost::Holds::approximately,
                    .formula = "⌈n/8⌉α + (most that a rank sends or receives)/B",
                    .source = source};
        default:
            return {
                .alphas = batches, .bytes = (n - 1) / n * bytes, .formula = "⌈n/8⌉α + (n-1)/n S/B", .source = source};
    }
}

}  // namespace

Algorithm nccl_point_to_point_algorithm() {
    return {.name = "nccl-point-to-point",
            .summary = "sends and receives in NCCL's order: eight at a time, spread over groups of eight ranks",
            .operations = {Operation::all_to_all, Operation::all_to_all_v, Operation::gather, Operation::scatter,
                           Operation::send_recv},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
