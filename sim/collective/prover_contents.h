#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/collective/prover.h"

namespace lockstep::collective {

/// A content in a ContentStore.
enum class ContentId : std::uint32_t {};

/// What a place holds of which nothing is known.
constexpr ContentId nothing{};

/// Whether it counts how often a contribution is in a chunk.
enum class Multiplicity : std::uint8_t { counted, ignored };

/// All contents that come up while a schedule is played; they are never changed, so that messages and places share
/// them. A content is a chunk number and, for each rank, how often its contribution to that chunk is in it. Counts are
/// held in planes of bits, plane b having bit b of every rank's count, so that adding two contents is a ripple-carry
/// addition of words, and a single plane does where nothing is doubled. Counts stop at 255.
class ContentStore {
  public:
    ContentStore(std::uint32_t ranks, Multiplicity multiplicity);
    /// One contribution.
    ContentId one(std::uint32_t rank, std::uint32_t chunk);
    /// Both together. Requires: neither is `nothing`, and they are of one chunk.
    ContentId sum(ContentId a, ContentId b);

    /// Requires: not `nothing`.
    std::uint32_t chunk_of(ContentId content) const { return entries_[index_of(content)].chunk; }
    std::uint32_t times(ContentId content, std::uint32_t rank) const;
    /// Whether it is one contribution of `rank` and nothing else. Requires: not `nothing`.
    bool is_one_of(ContentId content, std::uint32_t rank) const;
    /// Whether it is one contribution of every rank. Requires: not `nothing`.
    bool is_one_of_each(ContentId content) const;
    /// Whether `whole` has every contribution that `part` has, of the same chunk.
    bool has_all_of(ContentId whole, ContentId part) const;
    /// The first rank in the content. Requires: not `nothing`.
    std::uint32_t first_rank(ContentId content) const;
    /// As Content; for `nothing` no ranks and chunk 0.
    Content content(ContentId content) const;

    /// Memory in use, roughly.
    std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t) + entries_.size() * sizeof(Entry); }

  private:
    struct Entry {
        std::size_t first_word = 0;
        std::uint32_t chunk = 0;
        std::uint32_t planes = 0;
    };
    static std::size_t index_of(ContentId content) { return static_cast<std::size_t>(content); }
    std::span<const std::uint64_t> words(ContentId content) const;
    /// Makes the words from `first_word` on a content.
    ContentId add(std::uint32_t chunk, std::size_t first_word);

    std::uint32_t ranks_;
    Multiplicity multiplicity_;
    std::size_t words_per_plane_;
    std::vector<Entry> entries_;
    std::vector<std::uint64_t> words_;
};

}  // namespace lockstep::collective
