#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

using RingSpan = std::span<const std::vector<RankId>>;

/// The rings of the communicator that the request wants used: all, or the first Tuning::channels of them.
RingSpan chosen_rings(const Communicator& communicator, const Request& request);

/// How many rings' worth of data the rings move at the same time. Where every hop of them is a direct link: all, over
/// the number of rings that share the most used link. Else one, because they share the GPUs' ports.
double rings_at_once(const Communicator& communicator, RingSpan rings);

/// One ring as programs see it.
struct Ring {
    std::vector<std::uint32_t> ranks;     ///< by position
    std::vector<std::uint32_t> position;  ///< by rank
    /// The order in which a loop visits blocks, as ChunkIndex wants it; none if they simply count.
    std::shared_ptr<const std::vector<std::uint32_t>> order = nullptr;
};

/// A rank's place on one ring.
struct RingPlace {
    std::uint32_t channel = 0;
    std::uint32_t position = 0;
    RankId previous{};
    RankId next{};
};

/// Rings over the same ranks, one per channel, on which the data travels in blocks of `pieces` chunks each: what
/// programs need to know, as they outlive the communicator.
///
/// With one piece, a rank passes a block on when it has all of it: n-1 steps of a message each, by the book. With more,
/// a piece is passed on while the next arrives, which hides latency.
class RingPrograms {
  public:
    /// pieces: into which each block is cut; at least 1. Requires: every ring visits the same ranks once.
    RingPrograms(RingSpan rings, std::uint32_t pieces);

    std::uint32_t size() const { return size_; }
    std::uint32_t channels() const { return static_cast<std::uint32_t>(rings_.size()); }
    const Ring& ring(std::uint32_t channel) const { return rings_[channel]; }
    RingPlace place(std::uint32_t channel, RankId rank) const;

    /// Chunks of the vector of all_reduce, reduce_scatter and all_gather.
    std::uint32_t chunks() const { return size_ * channels() * pieces_; }
    std::vector<Block> all_reduce(const RingPlace& place) const;
    std::vector<Block> reduce_scatter(const RingPlace& place) const;
    std::vector<Block> all_gather(const RingPlace& place) const;

    /// The ring's chunk of the block of each rank, in vectors of `channels` chunks for each; `first` counts positions.
    ChunkIndex block_of_rank(const RingPlace& place) const;

  private:
    /// A loop over passes round the ring: which verb takes how many blocks.
    struct Passes {
        std::uint32_t adding = 0;   ///< blocks taken with receive_reduce
        std::uint32_t storing = 0;  ///< blocks taken with receive, after that
    };
    Block pass(const RingPlace& place, std::uint32_t ahead, Verb take, ChunkIndex block) const;
    std::vector<Block> relay(const RingPlace& place, std::uint32_t ahead, Passes passes, ChunkIndex sequence) const;
    ChunkIndex piece_sequence(const RingPlace& place, const std::vector<std::uint32_t>* order) const;

    std::uint32_t size_ = 0;
    std::uint32_t pieces_ = 1;
    std::vector<Ring> rings_;
    std::shared_ptr<const std::vector<std::uint32_t>> by_position_ = nullptr;  ///< the order of pieces, for all_reduce
};

/// What moves down a chain of ranks, or up it, in pieces: a stretch of consecutive chunks, the first first.
struct ChainPlace {
    std::optional<RankId> from{};  ///< none at the start of the chain
    std::optional<RankId> to{};    ///< none at its end
    ChunkIndex piece{};
    std::uint32_t pieces = 1;
};

/// Every piece is taken (`take`: receive, or receive_reduce) and then passed on.
Block chain_program(const ChainPlace& place, Verb take);

/// Why a vector cannot be cut so finely, if that many chunks (`blocks` of `pieces` each) are more than programs number.
std::optional<std::string> chunk_obstacle(std::uint64_t blocks, std::uint32_t pieces);

/// The complaint about the first hop of a ring that no path joins; hops out of `skipped_from` or into `skipped_to` are
/// not used.
std::optional<std::string> ring_obstacle(const Communicator& communicator, RingSpan rings,
                                         std::optional<RankId> skipped_from, std::optional<RankId> skipped_to);

}  // namespace lockstep::collective
