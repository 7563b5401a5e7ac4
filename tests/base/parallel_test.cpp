#include "sim/base/parallel.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace lockstep;

TEST_CASE("parallel: each number is worked on once, whatever the threads", "[base]") {
    const auto threads = GENERATE(1U, 2U, 7U, 100U);
    std::vector<std::atomic<int>> times(50);
    std::atomic<bool> is_known_thread{true};
    for_each_in_parallel(times.size(), threads, [&](std::size_t number, std::size_t thread) {
        ++times[number];
        is_known_thread = is_known_thread && thread < threads;
    });
    for (const auto& each : times) {
        CHECK(each == 1);
    }
    CHECK(is_known_thread);
    for_each_in_parallel(0, threads, [](std::size_t, std::size_t) { FAIL("there is nothing to do"); });
}

TEST_CASE("parallel: of several failures the lowest number's is told", "[base]") {
    const auto threads = GENERATE(1U, 3U);
    for (int turn = 0; turn < 50; ++turn) {
        std::string told;
        try {
            for_each_in_parallel(20, threads, [](std::size_t number, std::size_t) {
                if (number >= 5) {
                    throw std::runtime_error(std::to_string(number));
                }
            });
        } catch (const std::runtime_error& failure) {
            told = failure.what();
        }
        CHECK(told == "5");
    }
}
