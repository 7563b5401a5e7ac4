#include "sim/base/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

namespace {

constexpr std::size_t most_listed = 12;
constexpr std::size_t longest_excerpt = 60;
constexpr std::size_t longest_place = 1000;
constexpr std::size_t longest_message = 3000;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, upper and lower case being the
/// same (optimal string alignment). O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);  // two rows up: what a swap builds on
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        above[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

std::string with_position(const SourcePosition& position, std::string_view message) {
    const std::string place = to_text({shown(position.file, longest_place), position.line, position.column});
    const std::string told = shown(message, longest_message);
    return place.empty() ? told : fmt::format("{}: {}", place, told);
}

}  // namespace

std::string to_text(const SourcePosition& position) {
    std::string text = position.file;
    if (position.line > 0) {
        text += fmt::format("{}{}", text.empty() ? "" : ":", position.line);
        if (position.column > 0) {
            text += fmt::format(":{}", position.column);
        }
    }
    return text;
}

InputError::InputError(const SourcePosition& position, std::string_view message)
    : std::runtime_error(with_position(position, message)) {}

InputError::InputError(std::string_view message) : std::runtime_error(shown(message, longest_message)) {}

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known) {
    std::optional<std::string> nearest;
    std::size_t least = 0;
    for (const std::string& candidate : known) {
        const std::size_t longer = std::max(word.size(), candidate.size());
        const std::size_t shorter = std::min(word.size(), candidate.size());
        const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
        if (longer - shorter > allowed || shorter == 0) {
            continue;  // the lengths alone say that it is too far: spares the quadratic comparison of a huge word
        }
        const std::size_t distance = edit_distance(word, candidate);
        // A word of one letter is one edit away from every other: that is no likeness.
        if (distance <= allowed && distance < longer && (!nearest || distance < least)) {
            nearest = candidate;
            least = distance;
        }
    }
    return nearest;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
    if (const auto nearest = nearest_word(word, known)) {
        return fmt::format(" — did you mean {}?", excerpt(*nearest));
    }
    if (known.empty()) {
        return {};
    }
    std::vector<std::string> listed;
    for (const std::string& word_known : known.first(std::min(known.size(), most_listed))) {
        listed.push_back(shown(word_known, longest_excerpt));
    }
    return fmt::format("; known: {}{}", fmt::join(listed, ", "), listed.size() < known.size() ? ", …" : "");
}

std::string excerpt(std::string_view text) { return fmt::format("`{}`", shown(text, longest_excerpt)); }

std::string shown(std::string_view text, std::size_t longest) {
    std::string line;
    std::size_t characters = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool begins_character = (byte & 0xC0U) != 0x80U;
        if (begins_character && characters++ == longest) {
            line += "…";
            break;
        }
        if (c == '\n') {
            line += "\\n";
        } else if (byte < 0x20 || byte == 0x7F) {
            line += fmt::format("\\x{:02x}", byte);
        } else {
            line += c;
        }
    }
    return line;
}

}  // namespace lockstep
