#include "sim/cli/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::cli {

namespace {

constexpr std::size_t most_sizes = 10'000;

[[noreturn]] void refuse_count() {
    throw InputError(fmt::format("-b, -e and -i or -f ask for more than {} sizes: take larger steps", most_sizes));
}

std::vector<std::string> targets_of(const OutputOptions& options) {
    std::vector<std::string> targets;
    for (const auto& target : {options.json, options.csv, options.trace}) {
        if (target) {
            targets.push_back(*target);
        }
    }
    return targets;
}

}  // namespace

std::uint64_t whole_number(std::string_view flag, std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
        const std::string expected = most == std::numeric_limits<std::uint64_t>::max()
                                         ? fmt::format("a whole number from {} on", least)
                                         : fmt::format("a whole number from {} to {}", least, most);
        throw InputError(fmt::format("{}: expected {}, got {}", flag, expected, excerpt(text)));
    }
    return value;
}

Bytes size(std::string_view flag, std::string_view text) {
    try {
        return parse_nccl_size(text);
    } catch (const std::invalid_argument& problem) {
        throw InputError(fmt::format("{}: {}", flag, problem.what()));
    }
}

std::vector<std::string> words(std::string_view flag, std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (end == begin) {
            throw InputError(fmt::format("{}: expected entries with commas between them, got {}", flag, excerpt(text)));
        }
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

collective::Tuning tuning(const TuningOptions& options) {
    constexpr std::uint64_t most = 1'000'000;
    const auto number = [](std::string_view flag, std::string_view text) {
        return static_cast<std::uint32_t>(whole_number(flag, text, 1, most));
    };
    collective::Tuning tuning;
    if (options.pieces) {
        tuning.pieces = number("--pieces", *options.pieces);
    }
    if (options.channels) {
        tuning.channels = number("--channels", *options.channels);
    }
    if (options.dimensions) {
        for (const std::string& extent : words("--dims", *options.dimensions)) {
            tuning.dimensions.push_back(number("--dims", extent));
        }
    }
    return tuning;
}

std::vector<Bytes> sizes(const SizeOptions& options) {
    const std::string least_text = options.min_bytes.value_or("8");
    const std::string most_text = options.max_bytes.value_or("128M");
    const Bytes least = size("-b", least_text);
    const Bytes most = size("-e", most_text);
    if (most < least) {
        throw InputError(fmt::format("-e {} is below -b {}", most_text, least_text));
    }
    if (options.step_bytes && options.step_factor) {
        throw InputError("-i adds to the size and -f multiplies it: give one of them");
    }
    std::vector<Bytes> sizes{least};
    if (options.step_bytes) {
        const Bytes step = size("-i", *options.step_bytes);
        if (step.value == 0) {
            throw InputError("-i: expected a step above 0 bytes");
        }
        if ((most - least).value / step.value >= static_cast<std::int64_t>(most_sizes)) {
            refuse_count();
        }
        while (most - sizes.back() >= step) {
            sizes.push_back(sizes.back() + step);
        }
        return sizes;
    }
    const auto factor = static_cast<std::int64_t>(
        whole_number("-f", options.step_factor.value_or("2"), 2, std::numeric_limits<std::int64_t>::max()));
    if (least.value == 0 && most.value > 0) {
        throw InputError("-f cannot multiply a size of 0: begin at -b 1 or more, or give a step with -i");
    }
    while (sizes.back().value > 0 && sizes.back().value <= most.value / factor) {
        sizes.push_back(sizes.back() * factor);
    }
    return sizes;
}

void check_targets(const OutputOptions& options) { check_targets(targets_of(options)); }

void check_targets_against(const std::vector<InputPath>& inputs, const OutputOptions& options) {
    refuse_inputs_as_targets(targets_of(options), inputs);
}

bool takes_standard_output(const OutputOptions& options) {
    return std::ranges::any_of(std::array{options.json, options.csv, options.trace},
                               [](const auto& target) { return target && is_standard_output(*target); });
}

}  // namespace lockstep::cli
