#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "sim/collective/prover.h"

namespace lockstep::collective {

/// A content in a ContentStore. Equal ids, equal contents.
enum class ContentId : std::uint32_t {};

/// What a place holds of which nothing is known.
constexpr ContentId nothing{};

/// Whether it counts how often a contribution is in a chunk.
enum class Multiplicity : std::uint8_t { counted, ignored };

/// All contents that come up while a schedule is played, each kept once: a chunk number and, for each rank, how often
/// its contribution to that chunk is in it. Counts are held in planes of bits, plane b having bit b of every rank's
/// count, so that adding two contents is a ripple-carry addition of words, and a single plane does where nothing is
/// doubled. Counts stop at 255.
class ContentStore {
  public:
    ContentStore(std::uint32_t ranks, Multiplicity multiplicity);
    ContentStore(const ContentStore&) = delete;
    ContentStore& operator=(const ContentStore&) = delete;
    ~ContentStore() = default;

    /// One contribution.
    ContentId one(std::uint32_t rank, std::uint32_t chunk);
    /// One contribution of every rank.
    ContentId all(std::uint32_t chunk);
    /// Both together. Requires: neither is `nothing`, and they are of one chunk.
    ContentId sum(ContentId a, ContentId b);

    /// Requires: not `nothing`.
    std::uint32_t chunk_of(ContentId content) const { return entries_[index_of(content)].chunk; }
    std::uint32_t times(ContentId content, std::uint32_t rank) const;
    /// Whether `whole` has every contribution that `part` has, of the same chunk.
    bool has_all_of(ContentId whole, ContentId part) const;
    /// The first rank in the content. Requires: not `nothing`.
    std::uint32_t first_rank(ContentId content) const;
    /// As Content; for `nothing` no ranks and chunk 0.
    Content content(ContentId content) const;

    /// Memory in use, roughly.
    std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t) + entries_.size() * bytes_per_entry; }

  private:
    struct Entry {
        std::size_t first_word = 0;
        std::uint32_t chunk = 0;
        std::uint32_t planes = 0;
    };
    struct Hash {
        const ContentStore* store;
        std::size_t operator()(ContentId content) const;
    };
    struct Equal {
        const ContentStore* store;
        bool operator()(ContentId a, ContentId b) const;
    };
    static constexpr std::size_t bytes_per_entry = 64;

    static std::size_t index_of(ContentId content) { return static_cast<std::size_t>(content); }
    std::span<const std::uint64_t> words(ContentId content) const;
    /// Makes the words from `first_word` on an entry, or drops them if there is one like it.
    ContentId keep(std::uint32_t chunk, std::size_t first_word);

    std::uint32_t ranks_;
    Multiplicity multiplicity_;
    std::size_t words_per_plane_;
    std::vector<Entry> entries_;
    std::vector<std::uint64_t> words_;
    std::unordered_set<ContentId, Hash, Equal> known_;
};

}  // namespace lockstep::collective
