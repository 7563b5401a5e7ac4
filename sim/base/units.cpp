#include "sim/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep {

namespace {

/// A unit's prefix: 10^decimal * 2^binary.
struct Prefix {
    std::string_view text;
    int decimal = 0;
    int binary = 0;
};

constexpr std::array size_prefixes{
    Prefix{"", 0, 0},    Prefix{"k", 3, 0},   Prefix{"K", 3, 0},   Prefix{"M", 6, 0},   Prefix{"G", 9, 0},
    Prefix{"T", 12, 0},  Prefix{"P", 15, 0},  Prefix{"E", 18, 0},  Prefix{"Ki", 0, 10}, Prefix{"Mi", 0, 20},
    Prefix{"Gi", 0, 30}, Prefix{"Ti", 0, 40}, Prefix{"Pi", 0, 50}, Prefix{"Ei", 0, 60},
};
constexpr std::array work_prefixes{
    Prefix{"", 0, 0},   Prefix{"k", 3, 0},  Prefix{"K", 3, 0},  Prefix{"M", 6, 0},  Prefix{"G", 9, 0},
    Prefix{"T", 12, 0}, Prefix{"P", 15, 0}, Prefix{"E", 18, 0}, Prefix{"Z", 21, 0}, Prefix{"Y", 24, 0},
};
// Both micro signs are in use: U+00B5, and the Greek letter U+03BC.
constexpr std::array time_prefixes{
    Prefix{"", 0, 0},        Prefix{"m", -3, 0}, Prefix{"u", -6, 0},  Prefix{"\u00b5", -6, 0},
    Prefix{"\u03bc", -6, 0}, Prefix{"n", -9, 0}, Prefix{"p", -12, 0},
};

/// What follows the prefix; the quantity is the number times `factor` (a power of two, so that nothing is rounded
/// twice).
struct Stem {
    std::string_view text;
    double factor = 1.0;
};

constexpr std::array time_stems{Stem{"s"}};
constexpr std::array size_stems{Stem{"B"}};
constexpr std::array rate_stems{Stem{"B/s"}, Stem{"Bps"}, Stem{"b/s", 0.125}, Stem{"bps", 0.125}, Stem{"bit/s", 0.125}};
constexpr std::array work_stems{Stem{"FLOP"}, Stem{"FLOPs"}, Stem{"flop"}};
constexpr std::array work_rate_stems{Stem{"FLOP/s"}, Stem{"FLOPS"}, Stem{"flop/s"}};

/// One physical dimension as it is written.
struct Dimension {
    std::string_view noun;     ///< "a time"
    std::string_view example;  ///< "1.2 us"
    std::span<const Prefix> prefixes;
    std::span<const Stem> stems;
};

constexpr Dimension time_dimension{"time", "1.2 us", time_prefixes, time_stems};
constexpr Dimension size_dimension{"size", "25 MiB", size_prefixes, size_stems};
constexpr Dimension rate_dimension{"rate", "400 Gb/s", size_prefixes, rate_stems};
constexpr Dimension work_dimension{"number of operations", "1.5 TFLOP", work_prefixes, work_stems};
constexpr Dimension work_rate_dimension{"compute rate", "989 TFLOP/s", work_prefixes, work_rate_stems};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// A decimal number taken apart, so that a prefix can be put into its exponent and the whole be rounded only once.
struct Decimal {
    bool negative = false;
    bool finite = true;
    std::string_view mantissa;  ///< digits with at most one point
    int exponent = 0;
    std::string_view rest;  ///< what follows the number, without the space between
};

/// Splits `text` into a number and the rest; none if it does not begin with a number.
std::optional<Decimal> split_number(std::string_view text) {
    Decimal number;
    text = trimmed(text);
    if (text.starts_with('-')) {
        number.negative = true;
        text.remove_prefix(1);
    }
    for (const std::string_view word : {"nan", "NaN", ".nan", ".NaN", "infinity", "inf", "Inf", ".inf", ".Inf"}) {
        if (text.starts_with(word)) {
            number.finite = false;
            number.rest = trimmed(text.substr(word.size()));
            return number;
        }
    }
    std::size_t end = 0;
    std::size_t digits = 0;
    bool point = false;
    while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && !point))) {
        point = point || text[end] == '.';
        digits += is_digit(text[end]) ? 1 : 0;
        ++end;
    }
    if (digits == 0) {
        return std::nullopt;
    }
    number.mantissa = text.substr(0, end);
    text.remove_prefix(end);
    // An exponent needs its digits: in `5 EB` and `5e` the letter belongs to the unit.
    if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
        std::size_t at = 1;
        const bool minus = at < text.size() && text[at] == '-';
        at += at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0;
        if (at < text.size() && is_digit(text[at])) {
            int exponent = 0;
            for (; at < text.size() && is_digit(text[at]); ++at) {
                exponent = std::min(exponent * 10 + (text[at] - '0'), 100'000);  // far past what a double holds
            }
            number.exponent = minus ? -exponent : exponent;
            text.remove_prefix(at);
        }
    }
    number.rest = trimmed(text);
    return number;
}

/// The number times 10^decimal, correctly rounded; infinite where it is past the range of a double.
double scaled(const Decimal& number, int decimal) {
    if (!number.finite) {
        return std::numeric_limits<double>::infinity();
    }
    const std::string text = fmt::format("{}e{}", number.mantissa, number.exponent + decimal);
    double value = 0.0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
        return number.exponent + decimal > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    }
    return value;
}

std::string expectation(const Dimension& dimension, std::string_view text) {
    return fmt::format("expected a {} such as `{}`, got {}", dimension.noun, dimension.example, excerpt(text));
}

/// A number with a unit of one dimension.
struct Measured {
    Decimal number;
    Prefix prefix;
    double factor = 1.0;
    double value = 0.0;
};

/// Throws: std::invalid_argument if `text` is no such quantity, or one that is negative or not finite.
Measured measure(const Dimension& dimension, std::string_view text) {
    const auto number = split_number(text);
    if (!number) {
        throw std::invalid_argument(expectation(dimension, text));
    }
    for (const Prefix& prefix : dimension.prefixes) {
        for (const Stem& stem : dimension.stems) {
            const bool fits = number->rest.size() == prefix.text.size() + stem.text.size() &&
                              number->rest.starts_with(prefix.text) && number->rest.ends_with(stem.text);
            if (!fits) {
                continue;
            }
            Measured result{*number, prefix, stem.factor, 0.0};
            result.value = std::ldexp(scaled(*number, prefix.decimal), prefix.binary) * stem.factor;
            if (!std::isfinite(result.value) || (number->negative && result.value > 0)) {
                throw std::invalid_argument(fmt::format("expected a finite {} of at least 0 such as `{}`, got {}",
                                                        dimension.noun, dimension.example, excerpt(text)));
            }
            return result;
        }
    }
    throw std::invalid_argument(expectation(dimension, text));
}

constexpr std::int64_t power_of_ten(int exponent) {
    std::int64_t value = 1;
    for (int i = 0; i < exponent; ++i) {
        value *= 10;
    }
    return value;
}

/// The number times 10^decimal * 2^binary as a whole number of bytes, without a detour over a double where it is
/// written whole. Throws: std::invalid_argument if there is a fraction of a byte left or it does not fit 63 bits.
Bytes whole_bytes(const Decimal& number, const Prefix& prefix, std::string_view text) {
    const auto refuse = [&](std::string_view what) -> std::invalid_argument {
        return std::invalid_argument(fmt::format("expected {}, got {}", what, excerpt(text)));
    };
    if (number.exponent == 0 && number.mantissa.find('.') == std::string_view::npos) {
        std::int64_t count = 0;
        const char* const end = number.mantissa.data() + number.mantissa.size();
        const std::int64_t unit = power_of_ten(prefix.decimal) << prefix.binary;
        if (std::from_chars(number.mantissa.data(), end, count).ec != std::errc() ||
            count > std::numeric_limits<std::int64_t>::max() / unit) {
            throw refuse("a size below 8 EiB");
        }
        return {count * unit};
    }
    const double value = std::ldexp(scaled(number, prefix.decimal), prefix.binary);
    if (value > 0x1p53) {
        throw refuse("a size above 8 PiB to be written without a fraction or exponent");
    }
    if (value != std::floor(value)) {
        throw refuse("a whole number of bytes");
    }
    return {static_cast<std::int64_t>(value)};
}

/// A number with four significant digits, or with all the digits before the point where there are more; no trailing
/// zeros.
std::string four_digits(double value) {
    return std::abs(value) >= 1000 && std::isfinite(value) ? fmt::format("{:.0f}", value)
                                                           : fmt::format("{:.4g}", value);
}

struct Step {
    double size;
    std::string_view unit;
};

/// `value` in the largest unit of `steps` (ascending) in which it is at least 1 after rounding; zero in `zero_unit`.
std::string in_suitable_unit(double value, std::span<const Step> steps, std::string_view zero_unit) {
    if (value == 0 || !std::isfinite(value)) {
        return fmt::format("{} {}", value, zero_unit);
    }
    std::size_t at = 0;
    // 999.96 us has four digits in 1000 us, which is 1 ms: hence the comparison with what would be printed.
    while (at + 1 < steps.size() && std::abs(value) / steps[at].size >= 999.95) {
        ++at;
    }
    return fmt::format("{} {}", four_digits(value / steps[at].size), steps[at].unit);
}

}  // namespace

Seconds parse_seconds(std::string_view text) { return {measure(time_dimension, text).value}; }

Bytes parse_bytes(std::string_view text) {
    const Measured size = measure(size_dimension, text);
    return whole_bytes(size.number, size.prefix, text);
}

Bandwidth parse_bandwidth(std::string_view text) { return {measure(rate_dimension, text).value}; }

Flops parse_flops(std::string_view text) { return {measure(work_dimension, text).value}; }

FlopRate parse_flop_rate(std::string_view text) { return {measure(work_rate_dimension, text).value}; }

Bytes parse_nccl_size(std::string_view text) {
    constexpr std::array bare{
        Prefix{"", 0, 0},   Prefix{"K", 0, 10}, Prefix{"k", 0, 10}, Prefix{"M", 0, 20}, Prefix{"m", 0, 20},
        Prefix{"G", 0, 30}, Prefix{"g", 0, 30}, Prefix{"T", 0, 40}, Prefix{"t", 0, 40}, Prefix{"P", 0, 50},
        Prefix{"p", 0, 50}, Prefix{"E", 0, 60}, Prefix{"e", 0, 60},
    };
    const auto number = split_number(text);
    if (number && number->finite && !number->negative) {
        const auto* const prefix = std::ranges::find(bare, number->rest, &Prefix::text);
        if (prefix != bare.end()) {
            return whole_bytes(*number, *prefix, text);
        }
        try {
            return parse_bytes(text);
        } catch (const std::invalid_argument&) {
            if (number->rest.ends_with('B')) {
                throw;  // the unit was understood: what parse_bytes says is to the point
            }
        }
    }
    throw std::invalid_argument(fmt::format("expected a size such as `8`, `128M` or `25 MiB`, got {}", excerpt(text)));
}

std::string to_text(Seconds time) {
    constexpr std::array steps{Step{1e-9, "ns"}, Step{1e-6, "us"}, Step{1e-3, "ms"}, Step{1, "s"}};
    return in_suitable_unit(time.value, steps, "s");
}

std::string to_text(Bytes size) {
    const bool negative = size.value < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(size.value) : static_cast<std::uint64_t>(size.value);
    const std::string_view sign = negative ? "-" : "";
    if (magnitude < 1000) {
        return fmt::format("{}{} B", sign, magnitude);
    }
    constexpr std::array steps{Step{1, "B"},     Step{1e3, "kB"},  Step{1e6, "MB"}, Step{1e9, "GB"},
                               Step{1e12, "TB"}, Step{1e15, "PB"}, Step{1e18, "EB"}};
    const std::string decimal = in_suitable_unit(static_cast<double>(magnitude), steps, "B");
    std::string binary;
    constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::uint64_t count = magnitude;
    for (std::size_t i = 0; i < units.size() && count % 1024 == 0; ++i) {
        count /= 1024;
        binary = fmt::format("{} {}", count, units[i]);
    }
    // 10 GB is also 9765625 KiB exactly, which helps nobody: past four digits an exact decimal form is the better one.
    const bool decimal_is_better =
        binary.empty() || count >= 100'000 || (count >= 10'000 && decimal.size() < binary.size());
    return fmt::format("{}{}", sign, decimal_is_better ? decimal : binary);
}

std::string to_text(Bandwidth rate) {
    constexpr std::array steps{Step{1, "B/s"},    Step{1e3, "kB/s"},  Step{1e6, "MB/s"},
                               Step{1e9, "GB/s"}, Step{1e12, "TB/s"}, Step{1e15, "PB/s"}};
    return in_suitable_unit(rate.value, steps, "B/s");
}

std::string to_text(Flops work) {
    constexpr std::array steps{Step{1, "FLOP"},     Step{1e3, "kFLOP"},  Step{1e6, "MFLOP"},  Step{1e9, "GFLOP"},
                               Step{1e12, "TFLOP"}, Step{1e15, "PFLOP"}, Step{1e18, "EFLOP"}, Step{1e21, "ZFLOP"}};
    return in_suitable_unit(work.value, steps, "FLOP");
}

std::string to_text(FlopRate rate) {
    constexpr std::array steps{Step{1, "FLOP/s"},     Step{1e3, "kFLOP/s"},  Step{1e6, "MFLOP/s"}, Step{1e9, "GFLOP/s"},
                               Step{1e12, "TFLOP/s"}, Step{1e15, "PFLOP/s"}, Step{1e18, "EFLOP/s"}};
    return in_suitable_unit(rate.value, steps, "FLOP/s");
}

}  // namespace lockstep
