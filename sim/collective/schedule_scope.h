#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/arithmetic.h"
#include "sim/base/parameters.h"
#include "sim/base/yaml.h"

namespace lockstep::collective {

/// The names that numbers of a schedule file may be made of, each either fixed for the whole file or a variable that
/// has a value of its own for each rank, channel or iteration.
class Scope {
  public:
    explicit Scope(const Parameters& parameters) : parameters_(&parameters) {}

    /// at: where the name stands. Throws: InputError for what is no name, a function's, or taken.
    void add_constant(const std::string& name, double value, const SourcePosition& at = {});
    void add_list(const std::string& name, std::vector<double> values, const SourcePosition& at = {});
    void add_variable(const std::string& name, const SourcePosition& at = {});
    void remove_last_variable() { variables_.pop_back(); }

    std::span<const std::string> variables() const { return variables_; }
    /// Throws: std::invalid_argument for what does not parse or names nothing known.
    Arithmetic arithmetic(std::string_view expression) const;
    /// Whether the name is a constant, a variable or a parameter, not a list.
    bool knows(std::string_view name) const;

  private:
    void require_free(const std::string& name, const SourcePosition& at) const;

    const Parameters* parameters_;
    std::map<std::string, double, std::less<>> constants_;
    std::vector<Arithmetic::List> lists_;
    std::vector<std::string> variables_;
};

/// A number of a schedule file: digits, `$name` or `$(arithmetic)`, understood once.
class ScopedNumber {
  public:
    /// Throws: InputError for what is no number.
    ScopedNumber(const YamlValue& value, const Scope& scope);

    /// With the first variables as given (further ones are not used). what: what is expected, for messages: `a chunk`.
    /// Throws: InputError for one that is not whole or not in [least, most]; the message names the values of the
    /// variables.
    std::int64_t count(std::span<const double> variables, std::int64_t least, std::int64_t most,
                       std::string_view what) const;
    /// Any number. Throws: InputError where the value is not finite.
    double number(std::span<const double> variables) const;
    /// Whether it depends on that variable.
    bool uses(std::size_t variable) const;
    const YamlValue& value() const { return value_; }

  private:
    std::string circumstances(std::span<const double> variables) const;

    YamlValue value_;
    double plain_ = 0;
    std::optional<Arithmetic> arithmetic_ = {};
    std::vector<std::string> variables_ = {};  ///< names of those that the arithmetic knows
};

}  // namespace lockstep::collective
