#include "sim/collective/ring_programs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/direct_links.h"
#include "sim/collective/reach.h"

namespace lockstep::collective {

RingSpan chosen_rings(const Communicator& communicator, const Request& request) {
    const RingSpan all(communicator.rings());
    return all.first(std::min<std::size_t>(all.size(), request.tuning.channels.value_or(all.size())));
}

double rings_at_once(const Communicator& communicator, RingSpan rings) {
    const DirectLinks links(communicator.fabric(), communicator.gpus());
    std::map<std::pair<RankId, RankId>, std::size_t> uses;
    std::size_t most = 1;
    for (const auto& ring : rings) {
        for (std::size_t p = 0; p < ring.size(); ++p) {
            const RankId next = ring[(p + 1) % ring.size()];
            if (!links.joins(index(ring[p]), index(next))) {
                return 1;
            }
            most = std::max(most, ++uses[{ring[p], next}]);
        }
    }
    return static_cast<double>(rings.size()) / static_cast<double>(most);
}

RingPrograms::RingPrograms(RingSpan rings, std::uint32_t pieces)
    : size_(static_cast<std::uint32_t>(rings.front().size())), pieces_(pieces) {
    // Blocks in the order in which they pass a rank, which is against the ring, each with its pieces.
    const auto piece_by_piece = [&](const std::vector<std::uint32_t>& blocks) {
        std::vector<std::uint32_t> order;
        order.reserve(std::size_t{size_} * pieces_);
        for (std::uint32_t step = 0; step < size_; ++step) {
            for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
                order.push_back(blocks[(size_ - step) % size_] * pieces_ + piece);
            }
        }
        return std::make_shared<const std::vector<std::uint32_t>>(std::move(order));
    };
    for (const auto& ranks : rings) {
        Ring& ring = rings_.emplace_back();
        ring.position.resize(ranks.size());
        for (const RankId rank : ranks) {
            ring.position[index(rank)] = static_cast<std::uint32_t>(ring.ranks.size());
            ring.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
        if (pieces_ > 1) {
            ring.order = piece_by_piece(ring.ranks);
        } else if (!std::is_sorted(ring.ranks.begin(), ring.ranks.end())) {
            ring.order = std::make_shared<const std::vector<std::uint32_t>>(ring.ranks);
        }
    }
    if (pieces_ > 1) {
        std::vector<std::uint32_t> positions(size_);
        std::iota(positions.begin(), positions.end(), 0U);
        by_position_ = piece_by_piece(positions);
    }
}

RingPlace RingPrograms::place(std::uint32_t channel, RankId rank) const {
    const Ring& ring = rings_[channel];
    const std::uint32_t position = ring.position[index(rank)];
    return {.channel = channel,
            .position = position,
            .previous = id_at<RankId>(ring.ranks[(position + size_ - 1) % size_]),
            .next = id_at<RankId>(ring.ranks[(position + 1) % size_])};
}

/// One time round with blocks in one piece: n-1 steps, in the first of which the rank sends the block `ahead` positions
/// further on than its own and takes the block before that, which it sends in the next.
Block RingPrograms::pass(const RingPlace& place, std::uint32_t ahead, Verb take, ChunkIndex block) const {
    block.stride = -1;
    block.modulus = size_;
    block.first = (place.position + ahead) % size_;
    ChunkIndex before = block;
    before.first = (block.first + size_ - 1) % size_;
    return {.iterations = size_ - 1,
            .body = {{.verb = Verb::send, .peer = place.next, .chunk = block},
                     {.verb = take, .peer = place.previous, .chunk = before}}};
}

/// The same piece by piece: the pieces of the first block leave at once, every other is passed on as it comes.
std::vector<Block> RingPrograms::relay(const RingPlace& place, std::uint32_t ahead, Passes passes,
                                       ChunkIndex sequence) const {
    const std::uint32_t start = (2 * size_ - place.position - ahead) % size_ * pieces_;
    sequence.stride = 1;
    sequence.modulus = size_ * pieces_;
    std::vector<Block> blocks;
    std::uint32_t done = 0;
    const auto add = [&](std::uint32_t iterations, std::vector<Verb> verbs) {
        if (iterations == 0) {
            return;
        }
        ChunkIndex chunk = sequence;
        chunk.first = (start + done) % sequence.modulus;
        Block& block = blocks.emplace_back();
        block.iterations = iterations;
        for (const Verb verb : verbs) {
            block.body.push_back(
                {.verb = verb, .peer = verb == Verb::send ? place.next : place.previous, .chunk = chunk});
        }
        done += iterations;
    };
    add(pieces_, {Verb::send});
    const Verb last = passes.storing > 0 ? Verb::receive : Verb::receive_reduce;
    (passes.storing > 0 ? passes.storing : passes.adding) -= 1;  // what is taken last goes no further
    add(passes.adding * pieces_, {Verb::receive_reduce, Verb::send});
    add(passes.storing * pieces_, {Verb::receive, Verb::send});
    add(pieces_, {last});
    return blocks;
}

ChunkIndex RingPrograms::block_of_rank(const RingPlace& place) const {
    return {.offset = place.channel, .scale = channels(), .order = rings_[place.channel].order};
}

std::vector<Block> RingPrograms::all_reduce(const RingPlace& place) const {
    // Which rank completes which block does not matter, so blocks are numbered by position. After the first pass a rank
    // has completed the block one position on.
    const ChunkIndex block{.offset = place.channel * size_ * pieces_, .order = by_position_};
    if (pieces_ > 1) {
        return relay(place, 0, {.adding = size_ - 1, .storing = size_ - 1}, block);
    }
    return {pass(place, 0, Verb::receive_reduce, block), pass(place, 1, Verb::receive, block)};
}

std::vector<Block> RingPrograms::reduce_scatter(const RingPlace& place) const {
    // From one position back, so that the last block taken is the rank's own.
    const ChunkIndex block = block_of_rank(place);
    if (pieces_ > 1) {
        return relay(place, size_ - 1, {.adding = size_ - 1}, block);
    }
    return {pass(place, size_ - 1, Verb::receive_reduce, block)};
}

std::vector<Block> RingPrograms::all_gather(const RingPlace& place) const {
    const ChunkIndex block = block_of_rank(place);
    if (pieces_ > 1) {
        return relay(place, 0, {.storing = size_ - 1}, block);
    }
    return {pass(place, 0, Verb::receive, block)};
}

Block chain_program(const ChainPlace& place, Verb take) {
    ChunkIndex piece = place.piece;
    piece.stride = 1;
    piece.modulus = place.pieces;
    Block block{.iterations = place.pieces};
    if (place.from) {
        block.body.push_back({.verb = take, .peer = *place.from, .chunk = piece});
    }
    if (place.to) {
        block.body.push_back({.verb = Verb::send, .peer = *place.to, .chunk = piece});
    }
    return block;
}

std::optional<std::string> chunk_obstacle(std::uint64_t blocks, std::uint32_t pieces) {
    constexpr std::uint64_t most_chunks = 1 << 24;  // a simulation of so many would not end in an hour
    if (pieces <= 1 || blocks * pieces <= most_chunks) {
        return std::nullopt;
    }
    return fmt::format("{} pieces make {} chunks of the data; at most {} are possible, so {} pieces here", pieces,
                       blocks * pieces, most_chunks, std::max<std::uint64_t>(1, most_chunks / blocks));
}

std::optional<std::string> ring_obstacle(const Communicator& communicator, RingSpan rings,
                                         std::optional<RankId> skipped_from, std::optional<RankId> skipped_to) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (const auto& ring : rings) {
        for (std::size_t p = 0; p < ring.size(); ++p) {
            const RankId next = ring[(p + 1) % ring.size()];
            if (ring[p] != skipped_from && next != skipped_to && !reach.joins(ring[p], next)) {
                return reach.complaint(ring[p], next);
            }
        }
    }
    return std::nullopt;
}

}  // namespace lockstep::collective
