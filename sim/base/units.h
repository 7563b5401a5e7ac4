#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// A physical quantity in its base unit (`Unit` is only a tag). Arithmetic that would mix dimensions does not compile.
template <class Unit>
struct Quantity {
    double value = 0.0;

    constexpr auto operator<=>(const Quantity&) const = default;
    constexpr Quantity& operator+=(Quantity other) {
        value += other.value;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value -= other.value;
        return *this;
    }
    friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
    friend constexpr Quantity operator*(Quantity a, double factor) { return {a.value * factor}; }
    friend constexpr Quantity operator*(double factor, Quantity a) { return {a.value * factor}; }
    friend constexpr Quantity operator/(Quantity a, double divisor) { return {a.value / divisor}; }
    friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsUnit>;
/// Bytes per second, one direction. GB/s = 1e9; 400 Gb/s = 50e9.
using Bandwidth = Quantity<struct BytesPerSecondUnit>;
using Flops = Quantity<struct FlopsUnit>;
/// Floating-point operations per second.
using FlopRate = Quantity<struct FlopsPerSecondUnit>;

/// A whole number of bytes. What a schedule splits, it splits without loss.
struct Bytes {
    std::int64_t value = 0;

    constexpr auto operator<=>(const Bytes&) const = default;
    constexpr Bytes& operator+=(Bytes other) {
        value += other.value;
        return *this;
    }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
    friend constexpr Bytes operator*(Bytes a, std::int64_t factor) { return {a.value * factor}; }
};

constexpr Seconds operator/(Bytes size, Bandwidth rate) { return {static_cast<double>(size.value) / rate.value}; }
constexpr Bandwidth operator/(Bytes size, Seconds time) { return {static_cast<double>(size.value) / time.value}; }
constexpr Seconds operator/(Flops work, FlopRate rate) { return {work.value / rate.value}; }

/// Parsers of a quantity with its unit: `1.2 us`, `25 MiB`, `400 Gb/s`, `989 TFLOP/s`. The space is optional. Decimal
/// prefixes are powers of ten (GB = 1e9), binary ones powers of two (GiB = 2^30); `b` is a bit, `B` a byte.
/// Negative, infinite and NaN values are refused; zero is accepted (whether it makes sense is the caller's question).
/// Throws: std::invalid_argument whose text reads "expected a time such as `1.2 us`, got `fast`".
Seconds parse_seconds(std::string_view text);
/// Fractions of a byte are refused.
Bytes parse_bytes(std::string_view text);
Bandwidth parse_bandwidth(std::string_view text);
Flops parse_flops(std::string_view text);
FlopRate parse_flop_rate(std::string_view text);

/// A size as nccl-tests' -b and -e take it: bare numbers are bytes, bare K, M, G, T, P, E are binary (8G = 8 GiB), and every
/// spelling of parse_bytes. Throws: std::invalid_argument.
Bytes parse_nccl_size(std::string_view text);

/// For people: four significant digits and the unit that suits the magnitude (`30.8 us`, `3.5 ms`, `450 GB/s`).
std::string to_text(Seconds time);
/// Binary units where exact (`25 MiB`), else decimal (`100 MB`).
std::string to_text(Bytes size);
std::string to_text(Bandwidth rate);
std::string to_text(Flops work);
std::string to_text(FlopRate rate);

namespace literals {
constexpr Seconds operator""_s(long double value) { return {static_cast<double>(value)}; }
constexpr Seconds operator""_us(long double value) { return {static_cast<double>(value) * 1e-6}; }
constexpr Bytes operator""_B(unsigned long long value) { return {static_cast<std::int64_t>(value)}; }
constexpr Bytes operator""_MB(unsigned long long value) { return {static_cast<std::int64_t>(value) * 1'000'000}; }
constexpr Bytes operator""_MiB(unsigned long long value) { return {static_cast<std::int64_t>(value) << 20}; }
constexpr Bandwidth operator""_GBps(unsigned long long value) { return {static_cast<double>(value) * 1e9}; }
constexpr Bandwidth operator""_Gbps(unsigned long long value) { return {static_cast<double>(value) * 1e9 / 8}; }
}  // namespace literals

}  // namespace lockstep
