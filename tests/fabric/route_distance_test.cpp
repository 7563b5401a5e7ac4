#include "sim/fabric/route_distance.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace lockstep::fabric {
namespace {

constexpr std::uint32_t far = 1000;

/// Slots in a few groups, each cabled to what the groups of its own are: most have twins.
std::vector<std::vector<bool>> cables_with_twins(std::mt19937_64& random, std::uint32_t slots) {
    const std::uint32_t groups = 2 + static_cast<std::uint32_t>(random() % 6);
    std::vector<std::vector<bool>> between(groups, std::vector<bool>(groups));
    for (std::uint32_t a = 0; a < groups; ++a) {
        for (std::uint32_t b = a + 1; b < groups; ++b) {
            between[a][b] = between[b][a] = random() % 2 == 0;
        }
    }
    std::vector<std::uint32_t> group(slots);
    for (std::uint32_t& one : group) {
        one = static_cast<std::uint32_t>(random() % groups);
    }
    std::vector<std::vector<bool>> cabled(slots, std::vector<bool>(slots));
    for (std::uint32_t a = 0; a < slots; ++a) {
        for (std::uint32_t b = 0; b < slots; ++b) {
            cabled[a][b] = between[group[a]][group[b]];
        }
    }
    const std::uint64_t odd_ones = random() % 3;  // break the pattern here and there
    for (std::uint64_t odd = 0; odd < odd_ones; ++odd) {
        const std::uint64_t a = random() % slots;
        const std::uint64_t b = (a + 1 + random() % (slots - 1)) % slots;
        cabled[a][b] = cabled[b][a] = !cabled[a][b];
    }
    return cabled;
}

SlotGraph graph_of(const std::vector<std::vector<bool>>& cabled) {
    SlotGraph graph;
    for (const std::vector<bool>& row : cabled) {
        for (std::uint32_t to = 0; to < row.size(); ++to) {
            if (row[to]) {
                graph.hops.push_back({id_at<LinkId>(graph.hops.size()), to});
            }
        }
        graph.first_hop.push_back(static_cast<std::uint32_t>(graph.hops.size()));
    }
    return graph;
}

/// Floyd and Warshall's, which knows nothing of twins.
std::vector<std::vector<std::uint32_t>> all_distances(const std::vector<std::vector<bool>>& cabled) {
    const std::size_t slots = cabled.size();
    std::vector<std::vector<std::uint32_t>> distance(slots, std::vector<std::uint32_t>(slots, far));
    for (std::size_t a = 0; a < slots; ++a) {
        for (std::size_t b = 0; b < slots; ++b) {
            distance[a][b] = a == b ? 0 : cabled[a][b] ? 1 : far;
        }
    }
    for (std::size_t over = 0; over < slots; ++over) {
        for (std::size_t a = 0; a < slots; ++a) {
            for (std::size_t b = 0; b < slots; ++b) {
                distance[a][b] = std::min(distance[a][b], distance[a][over] + distance[over][b]);
            }
        }
    }
    return distance;
}

}  // namespace

TEST_CASE("distances are those of a search of its own for each target, twins or not") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto slots = 2 + static_cast<std::uint32_t>(random() % 12);
        const auto cabled = cables_with_twins(random, slots);
        const auto expected = all_distances(cabled);
        DistanceSearch search(graph_of(cabled));
        for (int question = 0; question < 60; ++question) {
            const auto from = static_cast<std::uint32_t>(random() % slots);
            std::vector<std::uint32_t> targets{static_cast<std::uint32_t>(random() % slots)};
            std::uint32_t number = targets.front();
            if (question % 3 == 0 && targets.front() + 1 < slots) {  // a set of two
                targets.push_back(targets.front() + 1);
                number += slots;
            }
            const auto distance_from = [&](std::uint32_t slot) {
                std::uint32_t least = far;
                for (const std::uint32_t target : targets) {
                    least = std::min(least, expected[slot][target]);
                }
                return least;
            };
            const Distances found = search.distances(std::span(&from, 1), targets, number);
            const std::uint32_t least = distance_from(from);
            if (least >= far) {
                CHECK(found.from(from) == Distances::unseen);
                continue;
            }
            CHECK(found.from(from) == least);
            for (std::uint32_t slot = 0; slot < slots; ++slot) {  // and of all that are no farther away
                if (distance_from(slot) <= least) {
                    CHECK(found.from(slot) == distance_from(slot));
                } else {
                    CHECK(found.from(slot) > least);
                }
            }
        }
    }
}

TEST_CASE("a leaf and its twin are two links apart") {
    // 0 and 1 are leaves of spines 2 and 3.
    DistanceSearch search(graph_of({{false, false, true, true},
                                    {false, false, true, true},
                                    {true, true, false, false},
                                    {true, true, false, false}}));
    for (const std::uint32_t leaf : {0U, 1U}) {
        const std::uint32_t twin = 1 - leaf;
        const Distances found = search.distances(std::span(&twin, 1), std::span(&leaf, 1), leaf);
        CHECK(found.from(leaf) == 0);
        CHECK(found.from(twin) == 2);
        CHECK(found.from(2) == 1);
    }
}

}  // namespace lockstep::fabric
