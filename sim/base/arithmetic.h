#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The arithmetic of a `$(...)`, understood once and then worked out as often as needed: operators + - * / ^, % (the
/// remainder, never negative for a positive divisor), comparisons and && || (1 for true, 0 for false), parentheses, and
/// the functions min, max, ceil, floor, round, log2 and xor (of whole numbers).
class Arithmetic {
  public:
    /// Numbers under a name, taken by place: `ring(2)`.
    struct List {
        std::string name;
        std::vector<double> values;
    };
    /// What a name stands for. Throws: std::invalid_argument for one that stands for no number.
    using ValueOf = std::function<double(const std::string& name)>;

    /// variables: names whose values are given anew each time, before `value_of` is asked. Both only while it is made.
    /// Throws: std::invalid_argument saying what is wrong, for other text than arithmetic, and for more than 1000
    /// characters.
    Arithmetic(std::string_view expression, const ValueOf& value_of, std::span<const std::string> variables = {},
               std::span<const List> lists = {});
    ~Arithmetic();
    Arithmetic(Arithmetic&&) noexcept;
    Arithmetic& operator=(Arithmetic&&) noexcept;

    /// The value with the variables as given. Requires: as many as there are variables.
    /// Throws: std::invalid_argument where it is not finite (a division by 0, a place that a list does not have).
    double value(std::span<const double> variables = {}) const;
    /// Whether the value can depend on a variable.
    bool uses(std::size_t variable) const;

    /// Whether a name is taken by a function.
    static bool is_function(std::string_view name);

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace lockstep
