#include "sim/collective/hypercube.h"

#include <catch2/catch.hpp>

using lockstep::collective::Hypercube;

TEST_CASE("hypercube: what it says of pairs is what looking at each corner finds", "[collective]") {
    for (std::uint32_t places = 1; places <= 200; ++places) {
        const Hypercube cube(places);
        const std::uint32_t corners = cube.corners();
        CAPTURE(places, corners);
        bool opposite = false;
        for (std::uint32_t corner = 0; corner < corners; ++corner) {
            opposite = opposite || (cube.is_pair(corner) && cube.is_pair(corners - 1 - corner) && corners > 1);
        }
        CHECK(cube.has_opposite_pairs() == opposite);
        for (std::uint32_t modulus = 1; modulus <= corners; modulus *= 2) {
            for (std::uint32_t corner = 0; corner < corners; ++corner) {
                bool among = false;
                for (std::uint32_t other = corner % modulus; other < corners; other += modulus) {
                    among = among || cube.is_pair(other);
                }
                if (cube.has_pair_among(corner, modulus) != among) {
                    CAPTURE(corner, modulus);
                    CHECK(cube.has_pair_among(corner, modulus) == among);
                }
            }
        }
    }
}
