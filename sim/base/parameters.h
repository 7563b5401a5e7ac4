#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"

namespace lockstep {

/// What kind of value a parameter takes; it is the kind of its default.
enum class ParameterKind { count, number, flag, word, seconds, bytes, bandwidth, flops, flop_rate };

/// The kind that a text has by its form: `4` is a count, `0.5` a number, `true` a flag, `1.2 us` seconds and so on,
/// else a word.
ParameterKind kind_of(std::string_view text);

/// A knob that a YAML file offers: `nodes: {default: 4, min: 1, max: 16384, help: "DGX nodes"}`.
struct Parameter {
    std::string name;
    ParameterKind kind = ParameterKind::word;
    std::string default_text;          ///< as written; `$other` for the value of an earlier parameter
    std::string help;                  ///< one line
    std::optional<std::string> least;  ///< as written, in the parameter's own unit
    std::optional<std::string> most;
    std::vector<std::string> choices;  ///< of the parameter's kind; empty: any
    SourcePosition position;
};

/// A value in force, with where it came from (the file, or the `--set` that overrode it).
struct ParameterValue {
    std::string text;
    SourcePosition position;
};

/// The declared parameters of one file and the values in force. Cost: declaring, and looking up a value, is logarithmic
/// in the number of parameters, a setting linear.
class Parameters {
  public:
    /// A default `$other` gives the parameter the kind of `other`, which must be declared already.
    /// Throws: InputError if the name is taken, is no identifier or the name of a function of $(...), the default is
    /// not of the kind or does not fit its own range or choices, or a bound or choice is not of the kind.
    void declare(Parameter parameter);
    /// Overrides a value. Throws: InputError (position-less, reading `--set name=text: ...`) for an unknown name (with
    /// the nearest known one), a value of another kind, one out of range, or one that takes a parameter whose default
    /// is `$name` out of its own range.
    void set(std::string_view name, std::string_view text);

    bool declares(std::string_view name) const;
    std::span<const Parameter> declared() const { return declared_; }
    /// The value in force, `$other` followed. Requires: declares(name).
    ParameterValue value(std::string_view name) const;
    /// The value in force of a parameter that is a plain number, flag counted as none. Used by $(...) arithmetic.
    std::optional<double> number(std::string_view name) const;

    /// The value of a parameter that arithmetic names. Throws: std::invalid_argument for an unknown one, with the
    /// nearest, and for one that is no plain number.
    double plain_number(const std::string& name) const;
    /// Evaluates the arithmetic of a `$(...)` on parameters that are plain numbers. Throws: std::invalid_argument
    /// saying what is wrong.
    double evaluate(std::string_view expression) const;

  private:
    std::optional<std::size_t> find(std::string_view name) const;
    std::vector<std::string> names() const;

    /// Whose text the value in force is, for each parameter. Linear: a default refers only to parameters before it.
    void find_sources();

    std::vector<Parameter> declared_;
    std::map<std::string, std::size_t, std::less<>> place_of_;
    std::vector<std::optional<std::string>> overrides_;
    std::vector<std::optional<std::size_t>> follows_;  ///< the parameter that the default refers to
    std::vector<std::size_t> source_;
};

/// One `--set name=value`; `name` may be qualified with `topology.` or `workload.`.
struct Setting {
    std::string scope;  ///< "topology", "workload" or empty
    std::string name;
    std::string value;
};

/// How messages name a setting: `--set name=value`, on one line and not at any length.
std::string setting_text(std::string_view name, std::string_view value);

/// Parses `name=value`. Throws: InputError if there is no `=` or the name is empty.
Setting parse_setting(std::string_view text);

/// A file that settings may speak of, by its scope.
struct SettingTarget {
    std::string scope;
    Parameters* parameters;
};

/// Applies every setting to the one file that declares it. A later setting of the same name wins.
/// Throws: InputError for a name that no file declares (with the nearest), and for a bare name that several declare
/// ("say topology.nodes or workload.nodes").
void apply_settings(std::span<const Setting> settings, std::span<const SettingTarget> targets);

}  // namespace lockstep
