#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

/// A digest of both in this order.
Digest mix(const Digest& first, std::uint64_t second);
Digest mix(const Digest& first, const Digest& second);

/// Things that are coloured, and ties among them, each of which holds some things together in labelled roles.
/// refine() splits colours until things of one colour have the same ties to the same colours: the coarsest equitable
/// partition that respects the colours given.
class Refinement {
  public:
    /// Returns: its number, from 0.
    std::uint32_t add_thing(const Digest& colour);
    /// Its roles follow. Returns: its number, from 0.
    std::uint32_t add_tie(const Digest& kind);
    /// Of the tie added last. One thing may have several roles in a tie.
    void add_role(std::uint32_t thing, std::uint64_t label);

    struct Role {
        std::uint32_t thing;
        std::uint64_t label;
    };

    /// Stops early once the first `watched` things have more than `most` colours.
    /// Returns: how many colours all things have. Cost: O(roles) a round.
    std::size_t refine(std::size_t watched, std::size_t most);

    const Digest& colour(std::uint32_t thing) const { return colours_[thing]; }
    /// Of a tie: what it is, and the colours it holds together.
    Digest tie_colour(std::uint32_t tie) const;
    std::span<const Role> roles(std::uint32_t tie) const;
    std::size_t tie_count() const { return kinds_.size(); }
    std::size_t thing_count() const { return colours_.size(); }

  private:
    std::vector<Digest> colours_;
    std::vector<Digest> kinds_;
    std::vector<std::uint32_t> first_role_;
    std::vector<Role> roles_;
};

/// How many different ones there are.
std::size_t count_different(std::span<const Digest> digests);

}  // namespace lockstep::replay
