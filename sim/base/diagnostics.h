#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep {

/// Where something stands in a user's input. `line` and `column` count from 1; 0 means that the input has none (a
/// command-line flag, a whole file).
struct SourcePosition {
    std::string file;
    int line = 0;
    int column = 0;
};

/// `file:line:column`, or only the parts there are.
std::string to_text(const SourcePosition& position);

/// The user's input or usage is wrong: exit code 2. what() reads `file:line:column: what was read, what was expected`.
class InputError : public std::runtime_error {
  public:
    /// What the message quotes cannot break the line: control characters are escaped, and it is cut where it is far
    /// longer than any message.
    InputError(const SourcePosition& position, std::string_view message);
    /// For input without a position, such as a flag.
    explicit InputError(std::string_view message);
};

/// The input was understood but the simulation cannot finish (deadlock, unreachable ranks): exit code 1.
class SimulationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The word of `known` that a person most likely meant by `word`, by edit distance with transpositions; none if nothing
/// is close.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);

/// " — did you mean `bandwidth`?" when a word is near, else "; known: a, b, c" (at most twelve), else empty.
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// What was read, for a message: in backquotes, control characters escaped, cut after 60 characters.
std::string excerpt(std::string_view text);

/// `text` on one line: control characters escaped, cut after `longest` characters.
std::string shown(std::string_view text, std::size_t longest);

}  // namespace lockstep
