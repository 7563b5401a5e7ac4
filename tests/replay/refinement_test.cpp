#include "sim/replay/refinement.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

using namespace lockstep;
using replay::Digest;
using replay::Refinement;

namespace {

struct Tie {
    std::uint64_t kind = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> roles = {};  ///< thing, label
};

struct Input {
    std::vector<std::uint64_t> things = {};  ///< their colours
    std::vector<Tie> ties = {};
};

/// Class numbers in the order in which classes come up.
template <typename Colour>
std::vector<std::size_t> numbered(const std::vector<Colour>& colours) {
    std::map<Colour, std::size_t> numbers;
    std::vector<std::size_t> result;
    for (const Colour& colour : colours) {
        result.push_back(numbers.try_emplace(colour, numbers.size()).first->second);
    }
    return result;
}

/// By the definition: rounds in which each tie sees all its things and each thing all its ties, until nothing changes.
std::vector<std::size_t> by_rounds(const Input& input) {
    std::vector<std::size_t> things = numbered(input.things);
    for (;;) {
        using Seen = std::pair<std::size_t, std::vector<std::pair<std::size_t, std::uint64_t>>>;
        std::vector<Seen> in_ties;
        for (const Tie& tie : input.ties) {
            in_ties.push_back({tie.kind, {}});
            for (const auto& [thing, label] : tie.roles) {
                in_ties.back().second.emplace_back(things[thing], label);
            }
            std::sort(in_ties.back().second.begin(), in_ties.back().second.end());
        }
        const auto ties = numbered(in_ties);
        std::vector<Seen> in_things;
        for (const std::size_t thing : things) {
            in_things.push_back({thing, {}});
        }
        for (std::size_t tie = 0; tie < ties.size(); ++tie) {
            for (const auto& [thing, label] : input.ties[tie].roles) {
                in_things[thing].second.emplace_back(ties[tie], label);
            }
        }
        for (Seen& seen : in_things) {
            std::sort(seen.second.begin(), seen.second.end());
        }
        const auto now = numbered(in_things);
        if (now == things) {
            return now;
        }
        things = now;
    }
}

Refinement built(const Input& input) {
    Refinement refinement;
    for (const std::uint64_t colour : input.things) {
        refinement.add_thing(mix(Digest{}, colour));
    }
    for (const Tie& tie : input.ties) {
        refinement.add_tie(mix(Digest{}, tie.kind));
        for (const auto& [thing, label] : tie.roles) {
            refinement.add_role(thing, label);
        }
    }
    return refinement;
}

std::vector<std::size_t> classes_of_things(const Refinement& refinement) {
    std::vector<Digest> colours;
    for (std::uint32_t thing = 0; thing < refinement.thing_count(); ++thing) {
        colours.push_back(refinement.colour(thing));
    }
    return numbered(colours);
}

}  // namespace

TEST_CASE("refinement: classes are those of refining round by round", "[replay]") {
    std::mt19937_64 random(1);
    std::size_t folded = 0;
    for (int trial = 0; trial < 400; ++trial) {
        CAPTURE(trial);
        const auto below = [&](std::uint64_t n) { return random() % n; };
        // Several copies of one small structure, sometimes with a flaw, so that there are classes of more than one.
        const std::uint64_t things = 1 + below(8);
        const std::uint64_t copies = 1 + below(5);
        Input input;
        std::vector<Tie> ties(below(10));
        for (Tie& tie : ties) {
            tie.kind = below(2);
            for (std::uint64_t role = 0; role < below(5); ++role) {
                tie.roles.emplace_back(below(things), below(2));
            }
        }
        for (std::uint64_t copy = 0; copy < copies; ++copy) {
            for (std::uint64_t thing = 0; thing < things; ++thing) {
                input.things.push_back(thing % 2);
            }
            for (const Tie& tie : ties) {
                input.ties.push_back(tie);
                for (auto& role : input.ties.back().roles) {
                    role.first += static_cast<std::uint32_t>(copy * things);
                }
            }
        }
        for (std::uint64_t flaw = 0; flaw < below(3) && !input.ties.empty(); ++flaw) {
            auto& roles = input.ties[below(input.ties.size())].roles;
            if (!roles.empty()) {
                roles[below(roles.size())].first = static_cast<std::uint32_t>(below(input.things.size()));
            }
        }
        Refinement refinement = built(input);
        const std::size_t count = refinement.refine(0, input.things.size());
        const auto expected = by_rounds(input);
        REQUIRE(classes_of_things(refinement) == expected);
        CHECK(count == *std::max_element(expected.begin(), expected.end()) + 1);
        folded += count < input.things.size() ? 1 : 0;
    }
    CHECK(folded > 100);
}

TEST_CASE("refinement: ties have colours of their own, and refining ends early once too much is different",
          "[replay]") {
    // A path of 9 things: both ends are alike, their neighbours, and so on: 5 classes of things, 4 of ties.
    Input path{.things = std::vector<std::uint64_t>(9), .ties = {}};
    for (std::uint32_t at = 0; at + 1 < 9; ++at) {
        path.ties.push_back({.roles = {{at, 1}, {at + 1, 1}}});
    }
    Refinement whole = built(path);
    CHECK(whole.refine(9, 9) == 5);
    CHECK(whole.colour(0) == whole.colour(8));
    CHECK(whole.colour(3) == whole.colour(5));
    CHECK(whole.colour(4) != whole.colour(3));
    CHECK(whole.tie_colour(0) == whole.tie_colour(7));
    CHECK(whole.tie_colour(0) != whole.tie_colour(1));
    CHECK(whole.tie_colour(3) == whole.tie_colour(4));
    Refinement cut = built(path);
    CHECK(cut.refine(9, 2) == 3);
    // Ends told apart by their labels, there is nothing alike.
    for (Tie& tie : path.ties) {
        tie.roles.back().second = 2;
    }
    CHECK(built(path).refine(9, 9) == 9);
}
