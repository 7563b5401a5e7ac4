#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep {

/// The largest text file that is read.
constexpr std::uintmax_t largest_text_file = std::uintmax_t{64} << 20;

/// The whole text of a file of the user's. Only regular files are read, so that a pipe or a device cannot make the
/// program wait for ever. Throws: InputError for a missing or unreadable file, a directory, a special file, one over
/// `largest_text_file`, or one whose content require_text refuses.
std::string read_text_file(const std::filesystem::path& path);

/// Throws: InputError with the position of the first byte that no text file has: a NUL or another control character, or
/// one that breaks UTF-8. `name` stands for the file in the message.
void require_text(std::string_view text, const std::string& name);

/// Whether it can be printed anywhere: well-formed UTF-8 on one line, without control characters.
bool is_one_line(std::string_view text);

/// The same with U+FFFD in place of each byte that keeps it from being one line: of names that file systems allow.
std::string as_one_line(std::string_view text);

}  // namespace lockstep
