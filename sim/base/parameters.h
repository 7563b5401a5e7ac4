#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"

namespace lockstep {

class YamlFile;

/// What kind of value a parameter takes; it is the kind of its default.
enum class ParameterKind { count, number, flag, word, seconds, bytes, bandwidth, flops, flop_rate };

/// A knob that a YAML file offers: `nodes: {default: 4, min: 1, max: 16384, help: "DGX nodes"}`.
struct Parameter {
    std::string name;
    ParameterKind kind = ParameterKind::word;
    std::string default_text;          ///< as written; `$other` for the value of an earlier parameter
    std::string help;                  ///< one line
    std::optional<std::string> least;  ///< as written, in the parameter's own unit
    std::optional<std::string> most;
    std::vector<std::string> choices;  ///< for words; empty: any
    SourcePosition position;
};

/// A value in force, with where it came from (the file, or the `--set` that overrode it).
struct ParameterValue {
    std::string text;
    SourcePosition position;
};

/// The declared parameters of one file and the values in force.
class Parameters {
  public:
    /// Throws: InputError if the name is taken, is no identifier, or the default does not fit its own range or choices.
    void declare(Parameter parameter);
    /// Overrides a value. Throws: InputError (position-less, reading `--set name=text: ...`) for an unknown name (with the nearest
    /// known one), a value of another kind, or one out of range.
    void set(std::string_view name, std::string_view text);

    bool declares(std::string_view name) const;
    std::span<const Parameter> declared() const { return declared_; }
    /// The value in force, `$other` followed. Requires: declares(name).
    ParameterValue value(std::string_view name) const;
    /// The value in force of a parameter that is a plain number, flag counted as none. Used by $(...) arithmetic.
    std::optional<double> number(std::string_view name) const;

    /// Evaluates the arithmetic of a `$(...)` (operators + - * / ^ and parentheses, min, max, ceil, floor, round on parameters that
    /// are plain numbers). Throws: std::invalid_argument saying what is wrong.
    double evaluate(std::string_view expression) const;

  private:
    std::vector<Parameter> declared_;
    std::vector<std::optional<std::string>> overrides_;
};

/// One `--set name=value`; `name` may be qualified with `topology.` or `workload.`.
struct Setting {
    std::string scope;  ///< "topology", "workload" or empty
    std::string name;
    std::string value;
};

/// Parses `name=value`. Throws: InputError if there is no `=` or the name is empty.
Setting parse_setting(std::string_view text);

/// A file that settings may speak of, by its scope.
struct SettingTarget {
    std::string scope;
    Parameters* parameters;
};

/// Applies every setting to the one file that declares it. A later setting of the same name wins.
/// Throws: InputError for a name that no file declares (with the nearest), and for a bare name that several declare ("say
/// topology.nodes or workload.nodes").
void apply_settings(std::span<const Setting> settings, std::span<const SettingTarget> targets);

}  // namespace lockstep
