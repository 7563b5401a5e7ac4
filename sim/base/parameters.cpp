#include "sim/base/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/arithmetic.h"
#include "sim/base/units.h"

namespace lockstep {

namespace {

constexpr std::size_t longest_echo = 200;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_identifier(std::string_view text) {
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The text of a parameter as a number in its base unit, for comparison; 0 for words.
/// Throws: std::invalid_argument "expected ..., got ..." if it is not of the kind.
double measure(ParameterKind kind, std::string_view text) {
    const auto refuse = [&](std::string_view expected) -> std::invalid_argument {
        return std::invalid_argument(
            fmt::format("expected {}, got {}", expected, text.empty() ? "nothing" : excerpt(text)));
    };
    const char* const end = text.data() + text.size();
    switch (kind) {
        case ParameterKind::count: {
            std::int64_t value = 0;
            if (text.empty() || !std::ranges::all_of(text, is_digit)) {
                throw refuse("a whole number such as `4`");
            }
            if (std::from_chars(text.data(), end, value).ec != std::errc() || value > (std::int64_t{1} << 53)) {
                throw refuse("a whole number of at most 2^53");
            }
            return static_cast<double>(value);
        }
        case ParameterKind::number: {
            double value = 0.0;
            const auto result = std::from_chars(text.data(), end, value);
            if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
                throw refuse("a number such as `0.5`");
            }
            return value;
        }
        case ParameterKind::flag:
            if (text != "true" && text != "false") {
                throw refuse("`true` or `false`");
            }
            return text == "true" ? 1 : 0;
        case ParameterKind::word:
            if (text.empty()) {
                throw refuse("a word");
            }
            return 0;
        case ParameterKind::seconds:
            return parse_seconds(text).value;
        case ParameterKind::bytes:
            return static_cast<double>(parse_bytes(text).value);
        case ParameterKind::bandwidth:
            return parse_bandwidth(text).value;
        case ParameterKind::flops:
            return parse_flops(text).value;
        case ParameterKind::flop_rate:
            return parse_flop_rate(text).value;
    }
    throw std::invalid_argument("a kind of parameter that does not exist");
}

bool is_of_kind(ParameterKind kind, std::string_view text) {
    try {
        measure(kind, text);
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

bool same_value(ParameterKind kind, std::string_view a, std::string_view b) {
    return kind == ParameterKind::word ? a == b : measure(kind, a) == measure(kind, b);
}

/// Throws: std::invalid_argument if `text` is not a value that the parameter takes.
void require_fit(const Parameter& parameter, std::string_view text) {
    const double value = measure(parameter.kind, text);
    if (parameter.least && value < measure(parameter.kind, *parameter.least)) {
        throw std::invalid_argument(fmt::format("expected at least {}, got {}", shown(*parameter.least, longest_echo),
                                                shown(text, longest_echo)));
    }
    if (parameter.most && value > measure(parameter.kind, *parameter.most)) {
        throw std::invalid_argument(fmt::format("expected at most {}, got {}", shown(*parameter.most, longest_echo),
                                                shown(text, longest_echo)));
    }
    const auto is_it = [&](const std::string& choice) { return same_value(parameter.kind, choice, text); };
    if (!parameter.choices.empty() && std::ranges::none_of(parameter.choices, is_it)) {
        const auto nearest = nearest_word(text, parameter.choices);
        throw std::invalid_argument(fmt::format("expected one of {}, got {}{}", fmt::join(parameter.choices, ", "),
                                                excerpt(text),
                                                nearest ? fmt::format(" — did you mean {}?", excerpt(*nearest)) : ""));
    }
}

/// The name in `$name`, empty if the text has not that form.
std::string_view referred_name(std::string_view text) {
    return text.starts_with('$') && is_identifier(text.substr(1)) ? text.substr(1) : std::string_view{};
}

std::string_view noun(ParameterKind kind) {
    switch (kind) {
        case ParameterKind::count:
            return "a whole number";
        case ParameterKind::number:
            return "a number";
        case ParameterKind::flag:
            return "a flag";
        case ParameterKind::word:
            return "a word";
        case ParameterKind::seconds:
            return "a time";
        case ParameterKind::bytes:
            return "a size";
        case ParameterKind::bandwidth:
            return "a rate";
        case ParameterKind::flops:
            return "a number of operations";
        case ParameterKind::flop_rate:
            return "a compute rate";
    }
    return "a value";
}

}  // namespace

ParameterKind kind_of(std::string_view text) {
    using enum ParameterKind;
    for (const ParameterKind kind : {count, number, flag, seconds, bytes, bandwidth, flops, flop_rate}) {
        if (is_of_kind(kind, text)) {
            return kind;
        }
    }
    return word;
}

std::optional<std::size_t> Parameters::find(std::string_view name) const {
    const auto found = place_of_.find(name);
    return found == place_of_.end() ? std::nullopt : std::optional(found->second);
}

void Parameters::find_sources() {
    for (std::size_t at = 0; at < declared_.size(); ++at) {
        source_[at] = overrides_[at] || !follows_[at] ? at : source_[*follows_[at]];
    }
}

std::vector<std::string> Parameters::names() const {
    std::vector<std::string> names;
    for (const Parameter& parameter : declared_) {
        names.push_back(parameter.name);
    }
    return names;
}

void Parameters::declare(Parameter parameter) {
    const auto fail = [&](std::string_view message) -> InputError {
        return {parameter.position, fmt::format("parameter {}: {}", excerpt(parameter.name), message)};
    };
    if (!is_identifier(parameter.name)) {
        throw fail("expected a name of letters, digits and underscores that does not begin with a digit");
    }
    if (Arithmetic::is_function(parameter.name)) {
        throw fail("the name is that of a function of $(...)");
    }
    if (find(parameter.name)) {
        throw fail("declared twice");
    }
    std::string default_value = parameter.default_text;
    std::optional<std::size_t> referred;
    if (parameter.default_text.starts_with('$')) {
        const std::string_view other = referred_name(parameter.default_text);
        if (other.empty()) {
            throw fail(fmt::format("expected a value or `$name` as default, got {}", excerpt(parameter.default_text)));
        }
        referred = find(other);
        if (!referred) {
            throw fail(fmt::format("the default refers to the unknown earlier parameter {}{}", excerpt(other),
                                   suggestion(other, names())));
        }
        parameter.kind = declared_[*referred].kind;
        default_value = value(other).text;
    }
    const auto check = [&](std::string_view what, const std::function<void()>& requirement) {
        try {
            requirement();
        } catch (const std::invalid_argument& error) {
            throw fail(fmt::format("{}: {}", what, error.what()));
        }
    };
    const bool ordered = parameter.kind != ParameterKind::word && parameter.kind != ParameterKind::flag;
    if (!ordered && (parameter.least || parameter.most)) {
        throw fail(fmt::format("{} has no min or max", noun(parameter.kind)));
    }
    check("min", [&] { static_cast<void>(parameter.least ? measure(parameter.kind, *parameter.least) : 0); });
    check("max", [&] { static_cast<void>(parameter.most ? measure(parameter.kind, *parameter.most) : 0); });
    for (const std::string& choice : parameter.choices) {
        check("choices", [&] { measure(parameter.kind, choice); });
    }
    if (parameter.least && parameter.most &&
        measure(parameter.kind, *parameter.least) > measure(parameter.kind, *parameter.most)) {
        throw fail(fmt::format("min {} is above max {}", shown(*parameter.least, longest_echo),
                               shown(*parameter.most, longest_echo)));
    }
    check("default", [&] { require_fit(parameter, default_value); });
    const std::size_t place = declared_.size();
    place_of_.emplace(parameter.name, place);
    declared_.push_back(std::move(parameter));
    overrides_.emplace_back();
    follows_.push_back(referred);
    source_.push_back(referred ? source_[*referred] : place);
}

void Parameters::set(std::string_view name, std::string_view text) {
    const auto fail = [&](std::string_view message) -> InputError {
        return InputError(fmt::format("{}: {}", setting_text(name, text), message));
    };
    const auto at = find(name);
    if (!at) {
        throw fail(declared_.empty() ? "there are no parameters"
                                     : fmt::format("unknown parameter {}{}", excerpt(name), suggestion(name, names())));
    }
    if (text.starts_with('$')) {
        throw fail("a setting takes a value, not another parameter");
    }
    try {
        require_fit(declared_[*at], text);
    } catch (const std::invalid_argument& error) {
        throw fail(error.what());
    }
    const auto before = std::exchange(overrides_[*at], std::string(text));
    find_sources();
    for (std::size_t other = 0; other < declared_.size(); ++other) {
        try {
            if (source_[other] == *at) {
                require_fit(declared_[other], text);
            }
        } catch (const std::invalid_argument& error) {
            overrides_[*at] = before;
            find_sources();
            throw fail(fmt::format("{} takes its value: {}", excerpt(declared_[other].name), error.what()));
        }
    }
}

bool Parameters::declares(std::string_view name) const { return find(name).has_value(); }

ParameterValue Parameters::value(std::string_view name) const {
    const auto at = find(name);
    if (!at) {
        throw std::invalid_argument(fmt::format("no parameter is called {}", excerpt(name)));
    }
    const std::size_t source = source_[*at];
    const Parameter& parameter = declared_[source];
    if (overrides_[source]) {
        return {*overrides_[source], {setting_text(parameter.name, *overrides_[source]), 0, 0}};
    }
    return {parameter.default_text, parameter.position};
}

std::optional<double> Parameters::number(std::string_view name) const {
    const auto at = find(name);
    if (!at || (declared_[*at].kind != ParameterKind::count && declared_[*at].kind != ParameterKind::number)) {
        return std::nullopt;
    }
    return measure(declared_[*at].kind, value(name).text);
}

double Parameters::plain_number(const std::string& name) const {
    const auto at = find(name);
    if (!at) {
        throw std::invalid_argument(fmt::format("unknown parameter {}{}", excerpt(name), suggestion(name, names())));
    }
    const auto plain = number(name);
    if (!plain) {
        throw std::invalid_argument(fmt::format("arithmetic takes plain numbers, and {} is {} ({})", excerpt(name),
                                                noun(declared_[*at].kind), excerpt(value(name).text)));
    }
    return *plain;
}

double Parameters::evaluate(std::string_view expression) const {
    return Arithmetic(expression, [&](const std::string& name) { return plain_number(name); }).value();
}

std::string setting_text(std::string_view name, std::string_view value) {
    return fmt::format("--set {}={}", shown(name, longest_echo), shown(value, longest_echo));
}

Setting parse_setting(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
        throw InputError(fmt::format("--set {}: expected `name=value`", shown(text, longest_echo)));
    }
    std::string_view name = trimmed(text.substr(0, equals));
    Setting setting;
    if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
        setting.scope = name.substr(0, dot);
        name.remove_prefix(dot + 1);
        if (setting.scope.empty()) {
            throw InputError(fmt::format("--set {}: expected a name before the point", shown(text, longest_echo)));
        }
    }
    if (name.empty()) {
        throw InputError(fmt::format("--set {}: expected a name before `=`", shown(text, longest_echo)));
    }
    setting.name = name;
    setting.value = trimmed(text.substr(equals + 1));
    return setting;
}

void apply_settings(std::span<const Setting> settings, std::span<const SettingTarget> targets) {
    struct Assignment {
        Parameters* parameters;
        std::size_t place;  ///< of the parameter among the declared ones
        const Setting* setting;
    };
    std::vector<Assignment> assignments;
    for (const Setting& setting : settings) {
        const std::string written = setting.scope.empty() ? setting.name : setting.scope + "." + setting.name;
        const auto fail = [&](std::string_view message) -> InputError {
            return InputError(fmt::format("{}: {}", setting_text(written, setting.value), message));
        };
        std::vector<std::string> scopes;
        std::vector<std::string> known;
        std::vector<Assignment> takers;
        std::vector<std::string> choices;
        for (const SettingTarget& target : targets) {
            scopes.push_back(target.scope);
            if (!setting.scope.empty() && setting.scope != target.scope) {
                continue;
            }
            const auto declared = target.parameters->declared();
            for (std::size_t place = 0; place < declared.size(); ++place) {
                known.push_back(declared[place].name);
                if (declared[place].name == setting.name) {
                    takers.push_back({target.parameters, place, &setting});
                    choices.push_back(fmt::format("{}.{}", target.scope, setting.name));
                }
            }
        }
        if (!setting.scope.empty() && std::ranges::find(scopes, setting.scope) == scopes.end()) {
            throw fail(
                fmt::format("nothing is called {} here{}", excerpt(setting.scope), suggestion(setting.scope, scopes)));
        }
        if (takers.empty()) {
            throw fail(known.empty() ? "there are no parameters"
                                     : fmt::format("unknown parameter {}{}", excerpt(setting.name),
                                                   suggestion(setting.name, known)));
        }
        if (takers.size() > 1) {
            throw fail(fmt::format("both have it; say {}", fmt::join(choices, " or ")));
        }
        assignments.push_back(takers.front());
    }
    // Later parameters first: one whose default is `$earlier` no longer follows `earlier` once it has a value of its
    // own, so that the order of the settings on the command line does not matter. Of settings of the same name the last
    // one stays the last.
    std::ranges::stable_sort(assignments, std::ranges::greater{}, &Assignment::place);
    for (const Assignment& assignment : assignments) {
        assignment.parameters->set(assignment.setting->name, assignment.setting->value);
    }
}

}  // namespace lockstep
