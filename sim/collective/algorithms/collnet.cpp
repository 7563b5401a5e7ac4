#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/algorithms/entries.h"
#include "sim/collective/in_switch_heads.h"
#include "sim/collective/node_heads.h"
#include "sim/collective/pipeline.h"
#include "sim/fabric/route_in_switch.h"

// The network adds up: every rank sends its data towards the top of a tree of switches, each of which passes on one sum
// of what comes from below; the total comes down the same links. Each port carries S once per direction, and latency is
// that of the deepest way up and down, however many ranks there are. With several GPUs to a node, each is the head of a
// part: the node's GPUs scatter their data to its heads, the h-th heads of all nodes have the network add up the h-th
// part, and the heads spread the results in the node, all piece by piece. Source: NCCL 2.30, src/device/all_reduce.h
// (CollNetDirect); Graham et al. (2016), "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
// for efficient data reduction".

namespace lockstep::collective {

namespace {

bool has_one_rank_per_node(const Communicator& communicator) {
    return communicator.nodes().size() == communicator.size();
}

/// Three stages work on different pieces at the same time. Alone, the network's is a stream: pieces change nothing.
std::uint32_t pieces_for(const Communicator& communicator, const Request& request) {
    if (request.tuning.pieces) {
        return *request.tuning.pieces;
    }
    if (has_one_rank_per_node(communicator)) {
        return 1;
    }
    const auto heads = static_cast<std::int64_t>(heads_per_node(communicator));
    return pipeline_pieces(Bytes{request.bytes.value / heads}, 3);
}

std::vector<RankId> all_ranks(const Communicator& communicator) {
    std::vector<RankId> all;
    for (std::size_t rank = 0; rank < communicator.size(); ++rank) {
        all.push_back(id_at<RankId>(rank));
    }
    return all;
}

/// Who has the network add up for them together.
std::vector<std::vector<RankId>> network_groups(const Communicator& communicator, const Request& request) {
    if (request.operation == Operation::all_reduce) {
        return head_groups(communicator);
    }
    return {all_ranks(communicator)};
}

/// A quick look before the search for trees.
bool network_reduces(const fabric::Fabric& fabric) {
    for (std::size_t at = 0; at < fabric.vertex_count(); ++at) {
        const fabric::Vertex& vertex = fabric.vertex(id_at<VertexId>(at));
        if (vertex.reduces && !vertex.node) {
            return true;
        }
    }
    return false;
}

std::optional<std::string> obstacle(const Communicator& communicator, const Request& request) {
    if (communicator.size() > 1 && communicator.nodes().size() < 2) {
        return "collnet needs ranks on at least two nodes: it is for the network between them";
    }
    if (request.operation != Operation::all_reduce && !has_one_rank_per_node(communicator)) {
        return fmt::format("collnet does {} with one rank on each node only", name_of(request.operation));
    }
    const fabric::Fabric& fabric = communicator.fabric();
    if (!network_reduces(fabric)) {
        return "collnet needs network switches that can reduce";
    }
    std::vector<std::vector<VertexId>> groups;
    for (const auto& ranks : network_groups(communicator, request)) {
        auto& gpus = groups.emplace_back();
        for (const RankId rank : ranks) {
            gpus.push_back(communicator.gpu(rank));
        }
    }
    const auto tiers = fabric::reducing_tiers(fabric, groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (tiers[g] == fabric::Tier::scale_up) {
            return "collnet is for the network between nodes, and these ranks share the switches of an island";
        }
        if (!tiers[g]) {
            return fmt::format("collnet needs a tree of network switches that can reduce from {} to {}",
                               fabric.vertex(groups[g].front()).name, fabric.vertex(groups[g].back()).name);
        }
    }
    return obstacle_inside_nodes(communicator);
}

/// A head's stages are threads of their own, so that each works on another piece. What it spreads goes on a channel of
/// its own, because its offers to the same ranks need not be over; a signal tells that a sum has come.
RankProgram all_reduce(const NodeHeads& heads, RankId rank, std::uint32_t pieces) {
    constexpr std::uint32_t outward = 0;
    constexpr std::uint32_t inward = 1;
    RankProgram program;
    const auto part = [&](std::uint32_t head) {
        return ChunkIndex{.offset = head * pieces, .stride = 1, .modulus = pieces};
    };
    heads.add_offers(rank, outward, part, program);
    if (const auto head = heads.head_number(rank)) {
        const RankId teller = heads.group_of_heads(*head).front();
        Block up{.iterations = pieces};
        heads.append_taking(rank, part(*head), up.body);
        up.body.push_back({.verb = Verb::contribute_to_all, .peer = teller, .chunk = part(*head), .group = *head});
        program.push_back({.channel = outward, .blocks = {std::move(up)}});
        Block down{.iterations = pieces};
        down.body.push_back({.verb = Verb::receive_sum, .peer = teller, .chunk = part(*head), .group = *head});
        Block spread{.iterations = pieces, .body = {{.verb = Verb::wait}}};
        heads.append_spreading(rank, part(*head), spread.body);
        if (spread.body.size() > 1) {
            down.body.push_back({.verb = Verb::signal});
            program.push_back({.channel = inward, .blocks = {std::move(spread)}});
        }
        program.push_back({.channel = outward, .blocks = {std::move(down)}});
    }
    heads.add_receipts(rank, inward, part, program);
    return program;
}

Schedule make(const Communicator& communicator, const Request& request) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    const std::uint32_t pieces = pieces_for(communicator, request);
    if (request.operation != Operation::all_reduce) {
        return head_schedule("collnet", {request.operation, ranks, pieces, request.root});
    }
    const auto heads = std::make_shared<const NodeHeads>(communicator);
    return {.algorithm = "collnet",
            .operation = request.operation,
            .ranks = ranks,
            .channels = has_one_rank_per_node(communicator) ? 1U : 2U,
            .chunks = heads->count() * pieces,
            .groups = heads->groups(),
            .program = [heads, pieces, ranks](RankId rank) {
                return ranks == 1 ? RankProgram{} : all_reduce(*heads, rank, pieces);
            }};
}

double messages(const Communicator& communicator, const Request& request) {
    const double pieces = pieces_for(communicator, request);
    if (request.operation != Operation::all_reduce) {
        return has_root(request.operation) ? pieces : pieces * static_cast<double>(communicator.size());
    }
    const NodeHeads heads(communicator);
    return pieces * heads.count() * (1 + 2 * heads.messages_inside());
}

Cost cost(const Communicator& communicator, const Request& request) {
    const auto bytes = static_cast<double>(request.bytes.value);
    const char* const source = "Graham et al. 2016 (SHArP); derived";
    if (has_one_rank_per_node(communicator)) {
        return {.alphas = 1, .bytes = bytes, .formula = "α + S/B", .source = source};
    }
    const double heads = heads_per_node(communicator);
    const double pieces = pieces_for(communicator, request);
    return {.alphas = 3,
            .bytes = (2 - 1 / heads + 2 / heads / pieces) * bytes,
            .holds = Cost::Holds::approximately,
            .formula = fmt::format("3α + (2 - 1/g + 2/(gk)) S/B, g = {}, k = {}", heads, pieces),
            .source = source};
}

}  // namespace

Algorithm collnet_algorithm() {
    return {.name = "collnet",
            .summary =
                "network switches add up on the way and send down the sum: data once each way, latency of one "
                "trip up and down",
            .operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather,
                           Operation::broadcast, Operation::reduce},
            .obstacle = obstacle,
            .make = make,
            .messages = messages,
            .cost = cost};
}

}  // namespace lockstep::collective
