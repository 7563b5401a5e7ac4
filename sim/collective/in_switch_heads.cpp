#include "sim/collective/in_switch_heads.h"

#include <utility>
#include <vector>

namespace lockstep::collective {

namespace {

std::vector<RankId> all_ranks(std::uint32_t ranks) {
    std::vector<RankId> all(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        all[rank] = id_at<RankId>(rank);
    }
    return all;
}

std::vector<RankId> heads_of(const HeadPlan& plan) {
    return has_root(plan.operation) ? std::vector{plan.root} : all_ranks(plan.ranks);
}

ChunkIndex part_of(const HeadPlan& plan, RankId head) {
    const std::uint32_t part = has_root(plan.operation) ? 0 : static_cast<std::uint32_t>(head);
    return {.offset = part * plan.pieces, .stride = 1, .modulus = plan.pieces};
}

bool adds_up(Operation operation) {
    return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
           operation == Operation::reduce;
}

bool copies(Operation operation) {
    return operation == Operation::all_reduce || operation == Operation::all_gather ||
           operation == Operation::broadcast;
}

/// Offers all its data to the heads at once, then does its own part as a head. Nothing waits but for sums.
std::vector<Block> offers_and_own_part(const HeadPlan& plan, RankId rank) {
    std::vector<Block> blocks;
    if (adds_up(plan.operation)) {
        Block& offers = blocks.emplace_back(Block{.iterations = plan.pieces});
        for (const RankId head : heads_of(plan)) {
            offers.body.push_back({.verb = Verb::contribute, .peer = head, .chunk = part_of(plan, head)});
        }
    }
    if (!has_root(plan.operation) || rank == plan.root) {
        Block& own = blocks.emplace_back(Block{.iterations = plan.pieces});
        if (adds_up(plan.operation)) {
            own.body.push_back({.verb = Verb::reduce_in_switch, .peer = rank, .chunk = part_of(plan, rank)});
        }
        if (copies(plan.operation)) {
            own.body.push_back({.verb = Verb::multicast, .peer = rank, .chunk = part_of(plan, rank)});
        }
    }
    return blocks;
}

Block copies_from_heads(const HeadPlan& plan) {
    Block block{.iterations = plan.pieces};
    for (const RankId head : heads_of(plan)) {
        block.body.push_back({.verb = Verb::receive_multicast, .peer = head, .chunk = part_of(plan, head)});
    }
    return block;
}

RankProgram program_of(const HeadPlan& plan, RankId rank) {
    RankProgram program;
    if (plan.ranks > 1) {
        program.push_back({.blocks = offers_and_own_part(plan, rank)});
        if (copies(plan.operation)) {
            program.push_back({.blocks = {copies_from_heads(plan)}});
        }
    }
    return program;
}

}  // namespace

Schedule head_schedule(std::string algorithm, const HeadPlan& plan) {
    return {.algorithm = std::move(algorithm),
            .operation = plan.operation,
            .ranks = plan.ranks,
            .chunks = (has_root(plan.operation) ? 1 : plan.ranks) * plan.pieces,
            .root = plan.root,
            .groups = {all_ranks(plan.ranks)},
            .program = [plan](RankId rank) { return program_of(plan, rank); }};
}

}  // namespace lockstep::collective
