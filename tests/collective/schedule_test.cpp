#include "sim/collective/schedule.h"

#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
using namespace lockstep::collective;

TEST_CASE("chunk_bytes: pieces differ by at most one byte and add up to the whole", "[collective]") {
    const auto total = GENERATE(as<std::int64_t>(), 1, 100, 1000003, (std::int64_t{1} << 50) + 7);
    const auto chunks = GENERATE(as<std::uint32_t>(), 1, 7, 4096, 1000000);
    CAPTURE(total, chunks);
    std::int64_t sum = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
        const std::int64_t size = chunk_bytes({total}, chunks, c, 1).value;
        const std::int64_t low = total / chunks;
        if (size != low && size != low + 1) {
            FAIL("chunk " << c << " has " << size << " bytes");
        }
        sum += size;
    }
    CHECK(sum == total);
    CHECK(chunk_bytes({total}, chunks, 0, chunks).value == total);
}

TEST_CASE("chunk_bytes: chunk c ends at floor((c+1) total/chunks)", "[collective]") {
    // 100 bytes over 7: ends at 14.28, 28.57, 42.86, 57.14, 71.4, 85.7, 100.
    const std::vector<std::int64_t> sizes{14, 14, 14, 15, 14, 14, 15};
    for (std::uint32_t c = 0; c < 7; ++c) {
        CAPTURE(c);
        CHECK(chunk_bytes({100}, 7, c, 1).value == sizes[c]);
    }
    CHECK(chunk_bytes({100}, 7, 2, 3).value == 14 + 15 + 14);
    // One byte over 7 falls into the last; the others are empty.
    CHECK(chunk_bytes({1}, 7, 0, 6).value == 0);
    CHECK(chunk_bytes({1}, 7, 6, 1).value == 1);
}

TEST_CASE("ChunkIndex: moves with the loop and never below zero", "[collective]") {
    const ChunkIndex down{.offset = 100, .first = 1, .stride = -1, .modulus = 5, .scale = 10};
    CHECK(down.at(0) == 110);
    CHECK(down.at(1) == 100);
    CHECK(down.at(2) == 140);
    CHECK(down.at(7) == 140);
    CHECK(ChunkIndex{.offset = 3}.at(1000000) == 3);

    const ChunkIndex ordered{
        .offset = 1,
        .first = 0,
        .stride = 1,
        .modulus = 3,
        .scale = 2,
        .order = std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{2, 0, 1})};
    CHECK(ordered.at(0) == 5);
    CHECK(ordered.at(1) == 1);
    CHECK(ordered.at(2) == 3);
    CHECK(ordered.at(3) == 5);
}

TEST_CASE("operations: have the names of nccl-tests and say which is near", "[collective][error]") {
    for (const Operation operation : operations()) {
        CHECK(operation_named(name_of(operation)) == operation);
    }
    CHECK_THROWS_WITH(operation_named("all_redcue"), Catch::Contains("unknown operation `all_redcue`") &&
                                                         Catch::Contains("did you mean `all_reduce`?"));
    CHECK_THROWS_AS(operation_named(""), InputError);
}

TEST_CASE("busbw_factor: is that of nccl-tests", "[collective]") {
    CHECK(busbw_factor(Operation::all_reduce, 8) == Approx(1.75));
    CHECK(busbw_factor(Operation::reduce_scatter, 8) == Approx(0.875));
    CHECK(busbw_factor(Operation::all_gather, 4) == Approx(0.75));
    CHECK(busbw_factor(Operation::all_to_all, 2) == Approx(0.5));
    CHECK(busbw_factor(Operation::broadcast, 8) == Approx(1));
    CHECK(busbw_factor(Operation::all_reduce, 1) == Approx(0));
    CHECK(busbw_factor(Operation::broadcast, 1) == Approx(1));
}
