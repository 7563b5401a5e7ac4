#include "sim/base/units.h"

#include <limits>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::literals;

TEST_CASE("units: a rate is read in bits or bytes, decimal or binary", "[base]") {
    // 400 Gb/s = 400e9 / 8 B/s. GB = 1e9, never 2^30.
    CHECK(parse_bandwidth("400 Gb/s").value == 50e9);
    CHECK(parse_bandwidth("400Gb/s").value == 50e9);
    CHECK(parse_bandwidth("400 Gbit/s").value == 50e9);
    CHECK(parse_bandwidth("400 Gbps").value == 50e9);
    CHECK(parse_bandwidth("450 GB/s").value == 450e9);
    CHECK(parse_bandwidth("450GBps").value == 450e9);
    CHECK(parse_bandwidth("1 GiB/s").value == 1073741824.0);
    CHECK(parse_bandwidth("1.8 TB/s").value == 1.8e12);
    CHECK(parse_bandwidth("12 B/s").value == 12);
    CHECK(parse_bandwidth("8 kb/s").value == 1000);
    CHECK(parse_bandwidth("  8 kb/s\t").value == 1000);
    CHECK(parse_bandwidth("0 GB/s").value == 0);
}

TEST_CASE("units: a time is read with its prefix and rounded once", "[base]") {
    // The nearest double to the decimal that is written: multiplying 1.2 by 1e-6 may miss it by one bit.
    CHECK(parse_seconds("1.2 us").value == 1.2e-6);
    CHECK(parse_seconds("936.25 ns").value == 936.25e-9);
    CHECK(parse_seconds("0.3 ms").value == 0.3e-3);
    CHECK(parse_seconds("1.2 \u00b5s").value == 1.2e-6);
    CHECK(parse_seconds("1.2 \u03bcs").value == 1.2e-6);
    CHECK(parse_seconds("7ps").value == 7e-12);
    CHECK(parse_seconds(".5 s").value == 0.5);
    CHECK(parse_seconds("1e-3 s").value == 1e-3);
    CHECK(parse_seconds("1E+2 ms").value == 0.1);
    CHECK(parse_seconds("0 s").value == 0);
    CHECK(parse_seconds("-0 s").value == 0);
    CHECK(parse_seconds("1e-400 s").value == 0);
}

TEST_CASE("units: a size is a whole number of bytes", "[base]") {
    CHECK(parse_bytes("100MB").value == 100'000'000);
    CHECK(parse_bytes("100 MB").value == 100'000'000);
    CHECK(parse_bytes("25 MiB").value == 25 * 1048576);
    CHECK(parse_bytes("1.5 KiB").value == 1536);
    CHECK(parse_bytes("0.1 GB").value == 100'000'000);
    CHECK(parse_bytes("2.3 kB").value == 2300);
    CHECK(parse_bytes("1e3 B").value == 1000);
    CHECK(parse_bytes("0 B").value == 0);
    CHECK(parse_bytes("1 EB").value == 1'000'000'000'000'000'000);
    CHECK(parse_bytes("3 PB").value == 3'000'000'000'000'000);
    CHECK(parse_bytes("1 PiB").value == std::int64_t{1} << 50);
    CHECK(parse_bytes("1 EiB").value == std::int64_t{1} << 60);
    CHECK_THROWS_WITH(parse_bytes("8 EiB"), "expected a size below 8 EiB, got `8 EiB`");
    // 2^53 + 1 is no double: whole numbers do not take that way.
    CHECK(parse_bytes("9007199254740993 B").value == 9007199254740993);
    CHECK(parse_bytes("9223372036854775807 B").value == std::numeric_limits<std::int64_t>::max());
    CHECK_THROWS_WITH(parse_bytes("0.5 B"), "expected a whole number of bytes, got `0.5 B`");
    CHECK_THROWS_WITH(parse_bytes("1.1 KiB"), "expected a whole number of bytes, got `1.1 KiB`");
    CHECK_THROWS_WITH(parse_bytes("9223372036854775808 B"), "expected a size below 8 EiB, got `9223372036854775808 B`");
    CHECK_THROWS_WITH(parse_bytes("10 EB"), "expected a size below 8 EiB, got `10 EB`");
    CHECK_THROWS_WITH(parse_bytes("1e300 B"),
                      "expected a size above 8 PiB to be written without a fraction or exponent, got "
                      "`1e300 B`");
}

TEST_CASE("units: work and compute rates are told apart", "[base]") {
    CHECK(parse_flops("1.5 TFLOP").value == 1.5e12);
    CHECK(parse_flops("3 ZFLOP").value == 3e21);
    CHECK(parse_flops("7 GFLOPs").value == 7e9);
    CHECK(parse_flop_rate("989 TFLOP/s").value == 989e12);
    CHECK(parse_flop_rate("989 TFLOPS").value == 989e12);
    CHECK_THROWS_AS(parse_flops("989 TFLOP/s"), std::invalid_argument);
    CHECK_THROWS_AS(parse_flop_rate("989 TFLOPs"), std::invalid_argument);
}

TEST_CASE("units: what is no quantity of the dimension says what is expected", "[base][error]") {
    CHECK_THROWS_WITH(parse_seconds("fast"), "expected a time such as `1.2 us`, got `fast`");
    CHECK_THROWS_WITH(parse_bandwidth("400"), "expected a rate such as `400 Gb/s`, got `400`");
    CHECK_THROWS_WITH(parse_bandwidth(""), "expected a rate such as `400 Gb/s`, got ``");
    CHECK_THROWS_WITH(parse_bytes("25"), "expected a size such as `25 MiB`, got `25`");
    CHECK_THROWS_WITH(parse_flops("3"), "expected a number of operations such as `1.5 TFLOP`, got `3`");
    CHECK_THROWS_WITH(parse_flop_rate("3 GB/s"), "expected a compute rate such as `989 TFLOP/s`, got `3 GB/s`");
    // A lower-case b is a bit, and a size counts bytes.
    for (const auto* const text : {"100 Mb", "5e", "5 e3 B", "1,5 GB", "1_000 B", "+5 B", "0x10 B", "5 mB", "GB",
                                   "5 GBB", "5 G B", "5 5 GB", "1.2.3 GB", ". GB", "- 5 GB", "5 Gib", "5 B/s"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(parse_bytes(text), Catch::Contains("expected a size such as `25 MiB`, got"));
    }
    for (const auto* const text :
         {"400 gb/s", "400 GB", "400 G", "400 Gb", "1.2 us", "400 GB / s", "400 Gbs", "400 GT/s"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(parse_bandwidth(text), Catch::Contains("expected a rate such as `400 Gb/s`, got"));
    }
    for (const auto* const text : {"1", "1 S", "1 sec", "1 Ms", "1 B", "1 m"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(parse_seconds(text), Catch::Contains("expected a time such as `1.2 us`, got"));
    }
}

TEST_CASE("units: negative and non-finite quantities are refused", "[base][error]") {
    CHECK_THROWS_WITH(parse_bandwidth("-400 GB/s"),
                      "expected a finite rate of at least 0 such as `400 Gb/s`, got `-400 GB/s`");
    CHECK_THROWS_WITH(parse_seconds("nan s"), "expected a finite time of at least 0 such as `1.2 us`, got `nan s`");
    for (const auto* const text : {"inf s", "-inf s", ".inf s", "NaN us", "infinity s", "1e400 s", "-1e-3 s"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_seconds(text), std::invalid_argument);
    }
    CHECK_THROWS_WITH(parse_bandwidth("1e300 GB/s"), Catch::Contains("finite rate"));
    CHECK_THROWS_WITH(parse_bandwidth("1e99999999999 GB/s"), Catch::Contains("finite rate"));
    CHECK_THROWS_WITH(parse_bytes("-1 B"), Catch::Contains("finite size of at least 0"));
    CHECK_THROWS_WITH(parse_bandwidth(std::string(100'000, '9') + " GB/s"), Catch::Contains("finite rate"));
}

TEST_CASE("units: nccl-tests' sizes take bare numbers and binary letters", "[base]") {
    CHECK(parse_nccl_size("8").value == 8);
    CHECK(parse_nccl_size("8G").value == std::int64_t{8} << 30);
    CHECK(parse_nccl_size("128M").value == 128 << 20);
    CHECK(parse_nccl_size("4k").value == 4096);
    CHECK(parse_nccl_size("1T").value == std::int64_t{1} << 40);
    CHECK(parse_nccl_size("2P").value == std::int64_t{2} << 50);
    CHECK(parse_nccl_size("1E").value == std::int64_t{1} << 60);
    CHECK(parse_nccl_size("1 EiB").value == std::int64_t{1} << 60);
    CHECK(parse_nccl_size("1.5M").value == 1572864);
    CHECK(parse_nccl_size("100MB").value == 100'000'000);
    CHECK(parse_nccl_size("25 MiB").value == 25 << 20);
    CHECK(parse_nccl_size("0").value == 0);
    CHECK_THROWS_WITH(parse_nccl_size("big"), "expected a size such as `8`, `128M` or `25 MiB`, got `big`");
    CHECK_THROWS_WITH(parse_nccl_size("-8"), "expected a size such as `8`, `128M` or `25 MiB`, got `-8`");
    CHECK_THROWS_WITH(parse_nccl_size("8X"), "expected a size such as `8`, `128M` or `25 MiB`, got `8X`");
    CHECK_THROWS_WITH(parse_nccl_size("8 Gb"), "expected a size such as `8`, `128M` or `25 MiB`, got `8 Gb`");
    CHECK_THROWS_WITH(parse_nccl_size("inf"), "expected a size such as `8`, `128M` or `25 MiB`, got `inf`");
    CHECK_THROWS_WITH(parse_nccl_size("0.5"), "expected a whole number of bytes, got `0.5`");
    CHECK_THROWS_WITH(parse_nccl_size("0.3 KiB"), "expected a whole number of bytes, got `0.3 KiB`");
    CHECK_THROWS_WITH(parse_nccl_size("99999999T"), "expected a size below 8 EiB, got `99999999T`");
}

TEST_CASE("units: a time is printed with four digits in the unit that suits it", "[base]") {
    CHECK(to_text(Seconds{30.8e-6}) == "30.8 us");
    CHECK(to_text(Seconds{3.5e-3}) == "3.5 ms");
    CHECK(to_text(Seconds{3.50028e-3}) == "3.5 ms");
    CHECK(to_text(Seconds{3.5006e-3}) == "3.501 ms");
    CHECK(to_text(Seconds{0}) == "0 s");
    CHECK(to_text(Seconds{1}) == "1 s");
    CHECK(to_text(Seconds{12345}) == "12345 s");
    CHECK(to_text(Seconds{10e-9}) == "10 ns");
    CHECK(to_text(Seconds{0.5e-9}) == "0.5 ns");
    CHECK(to_text(Seconds{936.25e-9}) == "936.2 ns");
    CHECK(to_text(Seconds{999.96e-6}) == "1 ms");
    CHECK(to_text(Seconds{999.94e-6}) == "999.9 us");
    CHECK(to_text(Seconds{-2e-3}) == "-2 ms");
    CHECK(to_text(Seconds{std::numeric_limits<double>::infinity()}) == "inf s");
}

TEST_CASE("units: a size is printed in binary units where they are exact", "[base]") {
    CHECK(to_text(25_MiB) == "25 MiB");
    CHECK(to_text(1_MiB) == "1 MiB");
    CHECK(to_text(100_MB) == "100 MB");
    CHECK(to_text(Bytes{12'500'000}) == "12.5 MB");
    CHECK(to_text(100_B) == "100 B");
    CHECK(to_text(0_B) == "0 B");
    CHECK(to_text(Bytes{999}) == "999 B");
    CHECK(to_text(Bytes{1000}) == "1 kB");
    CHECK(to_text(Bytes{1024}) == "1 KiB");
    CHECK(to_text(Bytes{1536}) == "1.536 kB");
    CHECK(to_text(Bytes{1536 * 1024}) == "1536 KiB");
    CHECK(to_text(Bytes{std::int64_t{8} << 30}) == "8 GiB");
    // 10 GB = 9765625 KiB exactly, which nobody would write.
    CHECK(to_text(Bytes{10'000'000'000}) == "10 GB");
    CHECK(to_text(Bytes{-1024}) == "-1 KiB");
    CHECK(to_text(Bytes{std::numeric_limits<std::int64_t>::min()}) == "-8 EiB");
}

TEST_CASE("units: rates and work are printed in decimal units", "[base]") {
    CHECK(to_text(Bandwidth{50e9}) == "50 GB/s");
    CHECK(to_text(450_GBps) == "450 GB/s");
    CHECK(to_text(400_Gbps) == "50 GB/s");
    CHECK(to_text(Bandwidth{0}) == "0 B/s");
    CHECK(to_text(Bandwidth{12.5}) == "12.5 B/s");
    CHECK(to_text(Bandwidth{1.8e12}) == "1.8 TB/s");
    CHECK(to_text(Flops{1.5e12}) == "1.5 TFLOP");
    CHECK(to_text(FlopRate{989.4e12}) == "989.4 TFLOP/s");
}

TEST_CASE("units: what is printed can be read again", "[base]") {
    for (const double value : {1e-9, 3.25e-7, 12.5e-6, 0.125, 42.0, 9999.0}) {
        CHECK(parse_seconds(to_text(Seconds{value})).value == value);
    }
    for (const std::int64_t value : {0LL, 1LL, 999LL, 4096LL, 1LL << 40, 26'214'400LL, 100'000'000LL}) {
        CHECK(parse_bytes(to_text(Bytes{value})).value == value);
    }
}

TEST_CASE("units: dimensions combine as physics has it", "[base]") {
    // 100 MB at 50 GB/s take 2 ms; 1e12 FLOP at 500 TFLOP/s take 2 ms.
    CHECK((100_MB / 50_GBps).value == Approx(2e-3));
    CHECK((100_MB / Seconds{2e-3}).value == Approx(50e9));
    CHECK((Flops{1e12} / FlopRate{500e12}).value == Approx(2e-3));
    CHECK((1.0_us + 2.0_us).value == Approx(3e-6));
    CHECK(3.0_us / 1.5_us == Approx(2));
    CHECK(1_MiB > 1_MB);
}
