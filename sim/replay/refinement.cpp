#include "sim/replay/refinement.h"

#include <algorithm>

namespace lockstep::replay {

namespace {

/// Source: Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators" (the finaliser, Stafford's
/// variant 13).
constexpr std::uint64_t scrambled(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

}  // namespace

Digest mix(const Digest& first, std::uint64_t second) {
    return {scrambled(first.a * 0x9E3779B97F4A7C15ULL + second + 0x632BE59BD9B4E019ULL),
            scrambled(first.b * 0xD1342543DE82EF95ULL + (second ^ 0xA0761D6478BD642FULL))};
}

Digest mix(const Digest& first, const Digest& second) {
    return {scrambled(first.a * 0x9E3779B97F4A7C15ULL + second.a + 0x632BE59BD9B4E019ULL),
            scrambled(first.b * 0xD1342543DE82EF95ULL + (second.b ^ 0xA0761D6478BD642FULL))};
}

std::uint32_t Refinement::add_thing(const Digest& colour) {
    colours_.push_back(colour);
    return static_cast<std::uint32_t>(colours_.size() - 1);
}

std::uint32_t Refinement::add_tie(const Digest& kind) {
    kinds_.push_back(kind);
    first_role_.push_back(static_cast<std::uint32_t>(roles_.size()));
    return static_cast<std::uint32_t>(kinds_.size() - 1);
}

void Refinement::add_role(std::uint32_t thing, std::uint64_t label) { roles_.push_back({thing, label}); }

std::span<const Refinement::Role> Refinement::roles(std::uint32_t tie) const {
    const std::size_t end = tie + 1 < first_role_.size() ? first_role_[tie + 1] : roles_.size();
    return std::span(roles_).subspan(first_role_[tie], end - first_role_[tie]);
}

Digest Refinement::tie_colour(std::uint32_t tie) const {
    Digest members;
    for (const Role& role : roles(tie)) {
        members += mix(colours_[role.thing], role.label);
    }
    return mix(kinds_[tie], members);
}

std::size_t Refinement::refine(std::size_t watched, std::size_t most) {
    std::size_t before = count_different(colours_);
    std::vector<Digest> seen(colours_.size());
    for (;;) {
        std::fill(seen.begin(), seen.end(), Digest{});
        for (std::uint32_t tie = 0; tie < kinds_.size(); ++tie) {
            const Digest colour = tie_colour(tie);
            for (const Role& role : roles(tie)) {
                seen[role.thing] += mix(colour, role.label);
            }
        }
        for (std::size_t thing = 0; thing < colours_.size(); ++thing) {
            colours_[thing] = mix(colours_[thing], seen[thing]);
        }
        // A colour holds the one before, so classes only ever split: as many as before means the same as before.
        const std::size_t now = count_different(colours_);
        if (now == before || count_different(std::span(colours_).first(watched)) > most) {
            return now;
        }
        before = now;
    }
}

std::size_t count_different(std::span<const Digest> digests) {
    std::vector<Digest> sorted(digests.begin(), digests.end());
    std::sort(sorted.begin(), sorted.end());
    return static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
}

}  // namespace lockstep::replay
