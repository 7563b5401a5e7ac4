#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace lockstep::replay {

/// A 128-bit digest of whatever was put into it. Sums of digests are digests of sets: the order does not count.
struct Digest {
    std::uint64_t a = 0;
    std::uint64_t b = 0;

    auto operator<=>(const Digest&) const = default;
    Digest& operator+=(const Digest& other) {
        a += other.a;
        b += other.b;
        return *this;
    }
};

struct DigestHash {
    std::size_t operator()(const Digest& digest) const { return static_cast<std::size_t>(digest.a); }
};

/// Source: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators" (the finaliser, Stafford's
/// variant 13).
constexpr std::uint64_t scrambled(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

/// A digest of both in this order.
constexpr Digest mix(const Digest& first, const Digest& second) {
    return {scrambled(first.a * 0x9E3779B97F4A7C15ULL + second.a + 0x632BE59BD9B4E019ULL),
            scrambled(first.b * 0xD1342543DE82EF95ULL + (second.b ^ 0xA0761D6478BD642FULL))};
}
constexpr Digest mix(const Digest& first, std::uint64_t second) { return mix(first, Digest{second, second}); }

/// Things that are coloured, and ties among them, each of which holds some things together in labelled roles.
/// refine() splits colours until things of one colour have the same roles in ties of the same colours, and ties of one
/// colour hold things of the same colours in the same roles: the coarsest equitable partition that respects the colours
/// given.
class Refinement {
  public:
    /// Makes room, so that memory is asked for once. Of each: roles of a tie, mostly.
    void expect(std::size_t ties, std::size_t of_each);
    /// Returns: its number, from 0.
    std::uint32_t add_thing(const Digest& colour);
    /// Its roles follow. Returns: its number, from 0.
    std::uint32_t add_tie(const Digest& kind);
    /// Of the tie added last. One thing may have several roles in a tie.
    void add_role(std::uint32_t thing, std::uint64_t label);

    struct Role {
        std::uint32_t thing;
        std::uint32_t label;  ///< a number for each that was given
    };

    /// Stops early once the first `watched` things have more than `most` colours. Only what changed is looked at again,
    /// and of a colour that falls apart all parts but the largest.
    /// Returns: how many colours all things have. Cost: O(roles * log(things + ties)).
    /// Source: Hopcroft (1971), "An n log n algorithm for minimizing states in a finite automaton"; with counts instead
    /// of sets, Cardon and Crochemore (1982), "Partitioning a graph in O(|A| log |V|)".
    std::size_t refine(std::size_t watched, std::size_t most);

    const Digest& colour(std::uint32_t thing) const { return colours_[thing]; }
    const Digest& tie_colour(std::uint32_t tie) const { return kinds_[tie]; }
    std::span<const Role> roles(std::uint32_t tie) const;
    std::size_t tie_count() const { return kinds_.size(); }
    std::size_t thing_count() const { return colours_.size(); }

  private:
    class Partition;

    std::vector<Digest> colours_;  ///< by thing
    std::vector<Digest> kinds_;    ///< by tie
    std::vector<std::uint32_t> first_role_;
    std::vector<Role> roles_;
    std::unordered_map<std::uint64_t, std::uint32_t> label_numbers_;
    std::vector<Digest> labels_;  ///< by number
};

/// How many different ones there are.
std::size_t count_different(std::span<const Digest> digests);

}  // namespace lockstep::replay
