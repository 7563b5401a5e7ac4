#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective/binomial.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// How the chunks of blocks that travel in a binomial tree are numbered.
enum class BlockNumbers : std::uint8_t { by_rank, by_place };

/// What `rank` does in a binomial tree whose root is that of the rotation. Messages of one rank follow each other: each
/// is sent when the last has arrived, as a blocking send does.
///
/// Receives chunk 0 from the parent and passes it on, to the largest subtree first.
std::vector<Instruction> binomial_broadcast(const Rotation& rotation, RankId rank);
/// Adds up the children's chunk 0, smallest subtree first, and sends the sum to the parent.
std::vector<Instruction> binomial_reduce(const Rotation& rotation, RankId rank);
/// Receives the blocks of its subtree and passes on those of its children's, largest first.
std::vector<Instruction> binomial_scatter(const Rotation& rotation, RankId rank, BlockNumbers numbers);
/// Takes the blocks of its children's subtrees and sends those of its own to the parent.
std::vector<Instruction> binomial_gather(const Rotation& rotation, RankId rank, BlockNumbers numbers);

}  // namespace lockstep::collective
