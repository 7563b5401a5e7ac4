#include "sim/base/text_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep {

namespace {

bool continues(std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// The length of the well-formed UTF-8 sequence that begins at `at` (Unicode 15, table 3-7: no overlong forms, no
/// surrogates, nothing above U+10FFFF), or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(at);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return continues(text, at + 1) ? 2 : 0;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        if (!continues(text, at + 1) || !continues(text, at + 2)) {
            return 0;
        }
        const unsigned second = byte(at + 1);
        return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ? 0 : 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        if (!continues(text, at + 1) || !continues(text, at + 2) || !continues(text, at + 3)) {
            return 0;
        }
        const unsigned second = byte(at + 1);
        return (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) ? 0 : 4;
    }
    return 0;
}

/// The length of the character that begins at `at`; 0 for a control character and for what is not UTF-8.
std::size_t printable_length(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte == 0x7F) {
        return 0;
    }
    const std::size_t length = utf8_length(text, at);
    const bool is_control = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    return is_control ? 0 : length;
}

}  // namespace

bool is_one_line(std::string_view text) { return as_one_line(text) == text; }

std::string as_one_line(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = printable_length(text, at);
        line += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    return line;
}

void require_text(std::string_view text, const std::string& name) {
    SourcePosition position{name, 1, 1};
    for (std::size_t at = 0; at < text.size(); ++position.column) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte == 0) {
            throw InputError(position, "the file looks like a binary file (it holds a NUL byte); expected UTF-8 text");
        }
        if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
            throw InputError(position,
                             fmt::format("the file looks like a binary file (it holds the control character 0x{:02x}); "
                                         "expected UTF-8 text",
                                         byte));
        }
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            throw InputError(position,
                             fmt::format("the file looks like a binary file (byte 0x{:02x} is not UTF-8 here); "
                                         "expected UTF-8 text",
                                         byte));
        }
        at += length;
        if (byte == '\n') {
            ++position.line;
            position.column = 0;
        }
    }
}

std::string read_text_file(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    const SourcePosition whole{path.string(), 0, 0};
    if (path.empty()) {
        throw InputError("expected the path of a file, got an empty one");
    }
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (status.type() == fs::file_type::not_found) {
        throw InputError(whole, "no such file");
    }
    if (failure) {
        throw InputError(whole, fmt::format("cannot be read: {}", failure.message()));
    }
    if (status.type() == fs::file_type::directory) {
        throw InputError(whole, "is a directory; expected a file");
    }
    if (status.type() != fs::file_type::regular) {
        throw InputError(whole, "is a device, a pipe or a socket; expected a regular file");
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        throw InputError(whole, fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
    }
    // Counted while reading, because some regular files (under /proc) state a size of 0.
    std::string text;
    std::array<char, 1 << 16> block{};
    while (in) {
        in.read(block.data(), static_cast<std::streamsize>(block.size()));
        text.append(block.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > largest_text_file) {
            throw InputError(whole,
                             fmt::format("is larger than {} MiB, the most that is read", largest_text_file >> 20));
        }
    }
    if (in.bad()) {
        throw InputError(whole, "cannot be read to its end");
    }
    require_text(text, whole.file);
    return text;
}

}  // namespace lockstep
