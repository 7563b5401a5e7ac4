#include "sim/collective/binomial_programs.h"

#include <optional>

#include "sim/collective/block_run.h"

namespace lockstep::collective {

namespace {

/// The blocks of a subtree, to or from `peer`.
Instruction subtree_message(const Rotation& rotation, Verb verb, std::uint32_t peer, const Subtree& tree,
                            BlockNumbers numbers) {
    const Instruction message{.verb = verb, .peer = rotation.rank_at(peer)};
    const std::uint32_t first =
        numbers == BlockNumbers::by_place ? tree.place : static_cast<std::uint32_t>(rotation.rank_at(tree.place));
    return for_circular_run(message, first, tree.size, rotation.ranks);
}

/// Sends one after the other.
void send_in_turn(std::vector<Instruction>& steps, std::optional<RankId>& last, Instruction message) {
    if (last) {
        steps.push_back({.verb = Verb::drain, .peer = *last});
    }
    last = message.peer;
    steps.push_back(std::move(message));
}

}  // namespace

std::vector<Instruction> binomial_broadcast(const Rotation& rotation, RankId rank) {
    std::vector<Instruction> steps;
    const BinomialPlace place = binomial_place(rotation.place_of(rank), rotation.ranks);
    if (place.parent) {
        steps.push_back({.verb = Verb::receive, .peer = rotation.rank_at(*place.parent)});
    }
    std::optional<RankId> last;
    for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
        send_in_turn(steps, last, {.verb = Verb::send, .peer = rotation.rank_at(child->place)});
    }
    return steps;
}

std::vector<Instruction> binomial_reduce(const Rotation& rotation, RankId rank) {
    std::vector<Instruction> steps;
    const BinomialPlace place = binomial_place(rotation.place_of(rank), rotation.ranks);
    for (const Subtree& child : place.children) {
        steps.push_back({.verb = Verb::receive_reduce, .peer = rotation.rank_at(child.place)});
    }
    if (place.parent) {
        steps.push_back({.verb = Verb::send, .peer = rotation.rank_at(*place.parent)});
    }
    return steps;
}

std::vector<Instruction> binomial_scatter(const Rotation& rotation, RankId rank, BlockNumbers numbers) {
    std::vector<Instruction> steps;
    const std::uint32_t here = rotation.place_of(rank);
    const BinomialPlace place = binomial_place(here, rotation.ranks);
    if (place.parent) {
        steps.push_back(subtree_message(rotation, Verb::receive, *place.parent, {here, place.size}, numbers));
    }
    std::optional<RankId> last;
    for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
        send_in_turn(steps, last, subtree_message(rotation, Verb::send, child->place, *child, numbers));
    }
    return steps;
}

std::vector<Instruction> binomial_gather(const Rotation& rotation, RankId rank, BlockNumbers numbers) {
    std::vector<Instruction> steps;
    const std::uint32_t here = rotation.place_of(rank);
    const BinomialPlace place = binomial_place(here, rotation.ranks);
    for (const Subtree& child : place.children) {
        steps.push_back(subtree_message(rotation, Verb::receive, child.place, child, numbers));
    }
    if (place.parent) {
        steps.push_back(subtree_message(rotation, Verb::send, *place.parent, {here, place.size}, numbers));
    }
    return steps;
}

}  // namespace lockstep::collective
