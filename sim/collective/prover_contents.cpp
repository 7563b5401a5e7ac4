#include "sim/collective/prover_contents.h"

#include <algorithm>
#include <bit>

namespace lockstep::collective {

namespace {

constexpr std::size_t bits_per_word = 64;
constexpr std::size_t most_planes = 8;

}  // namespace

ContentStore::ContentStore(std::uint32_t ranks, Multiplicity multiplicity)
    : ranks_(ranks),
      multiplicity_(multiplicity),
      words_per_plane_((ranks + bits_per_word - 1) / bits_per_word),
      entries_(1) {}

std::span<const std::uint64_t> ContentStore::words(ContentId content) const {
    const Entry& entry = entries_[index_of(content)];
    return std::span(words_).subspan(entry.first_word, entry.planes * words_per_plane_);
}

ContentId ContentStore::add(std::uint32_t chunk, std::size_t first_word) {
    const auto planes = static_cast<std::uint32_t>((words_.size() - first_word) / words_per_plane_);
    entries_.push_back({.first_word = first_word, .chunk = chunk, .planes = planes});
    return static_cast<ContentId>(entries_.size() - 1);
}

ContentId ContentStore::one(std::uint32_t rank, std::uint32_t chunk) {
    const std::size_t first_word = words_.size();
    words_.resize(first_word + words_per_plane_);
    words_[first_word + rank / bits_per_word] |= std::uint64_t{1} << (rank % bits_per_word);
    return add(chunk, first_word);
}

ContentId ContentStore::sum(ContentId a, ContentId b) {
    const std::size_t planes_a = entries_[index_of(a)].planes;
    const std::size_t planes_b = entries_[index_of(b)].planes;
    const std::size_t from_a = entries_[index_of(a)].first_word;
    const std::size_t from_b = entries_[index_of(b)].first_word;
    const std::size_t first_word = words_.size();
    if (multiplicity_ == Multiplicity::ignored) {
        words_.resize(first_word + words_per_plane_);
        for (std::size_t w = 0; w < words_per_plane_; ++w) {
            words_[first_word + w] = words_[from_a + w] | words_[from_b + w];
        }
        return add(chunk_of(a), first_word);
    }
    const std::size_t planes = std::min(std::max(planes_a, planes_b) + 1, most_planes);
    words_.resize(first_word + planes * words_per_plane_);
    bool top_is_used = false;
    for (std::size_t w = 0; w < words_per_plane_; ++w) {
        std::uint64_t carry = 0;
        for (std::size_t p = 0; p < planes; ++p) {
            const std::uint64_t x = p < planes_a ? words_[from_a + p * words_per_plane_ + w] : 0;
            const std::uint64_t y = p < planes_b ? words_[from_b + p * words_per_plane_ + w] : 0;
            words_[first_word + p * words_per_plane_ + w] = x ^ y ^ carry;
            carry = (x & y) | (carry & (x ^ y));
        }
        for (std::size_t p = 0; carry != 0 && p < planes; ++p) {
            words_[first_word + p * words_per_plane_ + w] |= carry;
        }
        top_is_used = top_is_used || words_[first_word + (planes - 1) * words_per_plane_ + w] != 0;
    }
    if (!top_is_used) {
        words_.resize(words_.size() - words_per_plane_);
    }
    return add(chunk_of(a), first_word);
}

std::uint32_t ContentStore::times(ContentId content, std::uint32_t rank) const {
    const auto all = words(content);
    std::uint32_t count = 0;
    for (std::size_t p = 0; p * words_per_plane_ < all.size(); ++p) {
        const std::uint64_t word = all[p * words_per_plane_ + rank / bits_per_word];
        count |= static_cast<std::uint32_t>((word >> (rank % bits_per_word)) & 1U) << p;
    }
    return count;
}

bool ContentStore::is_one_of(ContentId content, std::uint32_t rank) const {
    const auto all = words(content);
    for (std::size_t w = 0; w < all.size(); ++w) {
        if (all[w] != (w == rank / bits_per_word ? std::uint64_t{1} << (rank % bits_per_word) : 0)) {
            return false;
        }
    }
    return true;
}

bool ContentStore::is_one_of_each(ContentId content) const {
    const auto all = words(content);
    const std::uint64_t last = ~std::uint64_t{0} >> ((bits_per_word - ranks_ % bits_per_word) % bits_per_word);
    return all.size() == words_per_plane_ && all.back() == last &&
           std::all_of(all.begin(), all.end() - 1, [](std::uint64_t word) { return word == ~std::uint64_t{0}; });
}

bool ContentStore::has_all_of(ContentId whole, ContentId part) const {
    if (whole == part || part == nothing) {
        return true;
    }
    if (whole == nothing || chunk_of(whole) != chunk_of(part)) {
        return false;
    }
    const auto in = [&](ContentId content, std::size_t w) {
        const auto all = words(content);
        std::uint64_t any = 0;
        for (std::size_t at = w; at < all.size(); at += words_per_plane_) {
            any |= all[at];
        }
        return any;
    };
    for (std::size_t w = 0; w < words_per_plane_; ++w) {
        if ((in(part, w) & ~in(whole, w)) != 0) {
            return false;
        }
    }
    return true;
}

std::uint32_t ContentStore::first_rank(ContentId content) const {
    std::uint32_t rank = 0;
    while (times(content, rank) == 0) {
        ++rank;
    }
    return rank;
}

Content ContentStore::content(ContentId content) const {
    Content made;
    if (content == nothing) {
        return made;
    }
    made.chunk = chunk_of(content);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (const std::uint32_t count = times(content, rank); count > 0) {
            made.ranks.emplace_back(rank, count);
        }
    }
    return made;
}

}  // namespace lockstep::collective
