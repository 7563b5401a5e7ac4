#include "sim/collective/schedule_scope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::collective {

namespace {

bool is_name(std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// The whole number that rounding took a result away from.
std::optional<std::int64_t> whole(double value) {
    const double nearest = std::round(value);
    if (std::abs(value - nearest) > 1e-9 * std::max(1.0, std::abs(nearest)) || std::abs(nearest) > 0x1p53) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(nearest);
}

}  // namespace

void Scope::require_free(const std::string& name, const SourcePosition& at) const {
    if (!is_name(name)) {
        throw InputError(at, fmt::format("expected a name of letters, digits and underscores that does not begin with "
                                         "a digit, got {}",
                                         excerpt(name)));
    }
    if (Arithmetic::is_function(name)) {
        throw InputError(at, fmt::format("{} is the name of a function", excerpt(name)));
    }
    if (knows(name) || std::ranges::find(lists_, name, &Arithmetic::List::name) != lists_.end()) {
        throw InputError(at, fmt::format("the name {} is taken", excerpt(name)));
    }
}

void Scope::add_constant(const std::string& name, double value, const SourcePosition& at) {
    require_free(name, at);
    constants_.emplace(name, value);
}

void Scope::add_list(const std::string& name, std::vector<double> values, const SourcePosition& at) {
    require_free(name, at);
    lists_.push_back({name, std::move(values)});
}

void Scope::add_variable(const std::string& name, const SourcePosition& at) {
    require_free(name, at);
    variables_.push_back(name);
}

bool Scope::knows(std::string_view name) const {
    return constants_.contains(name) || std::ranges::find(variables_, name) != variables_.end() ||
           parameters_->declares(name);
}

Arithmetic Scope::arithmetic(std::string_view expression) const {
    const auto value_of = [&](const std::string& name) {
        if (const auto constant = constants_.find(name); constant != constants_.end()) {
            return constant->second;
        }
        if (parameters_->declares(name)) {
            return parameters_->plain_number(name);
        }
        std::vector<std::string> known(variables_.begin(), variables_.end());
        for (const auto& [constant, value] : constants_) {
            known.push_back(constant);
        }
        for (const Parameter& parameter : parameters_->declared()) {
            known.push_back(parameter.name);
        }
        for (const Arithmetic::List& list : lists_) {
            known.push_back(list.name);
        }
        throw std::invalid_argument(fmt::format("unknown name {}{}", excerpt(name), suggestion(name, known)));
    };
    return Arithmetic(expression, value_of, variables_, lists_);
}

ScopedNumber::ScopedNumber(const YamlValue& value, const Scope& scope) : value_(value) {
    const std::string text = value.written();
    std::string_view expression;
    if (text.starts_with("$(") && text.ends_with(')')) {
        expression = std::string_view(text).substr(2, text.size() - 3);
    } else if (text.starts_with('$') && is_name(std::string_view(text).substr(1))) {
        expression = std::string_view(text).substr(1);
    } else {
        plain_ = static_cast<double>(value.count(std::numeric_limits<std::int32_t>::min(), std::int64_t{1} << 53));
        return;
    }
    try {
        arithmetic_.emplace(scope.arithmetic(expression));
        variables_.assign(scope.variables().begin(), scope.variables().end());
    } catch (const std::invalid_argument& problem) {
        value.fail(problem.what());
    }
}

std::string ScopedNumber::circumstances(std::span<const double> variables) const {
    std::string text;
    for (std::size_t at = 0; at < variables_.size(); ++at) {
        if (uses(at) || at == 0) {  // the first is the rank
            text += fmt::format("{}{} {}", text.empty() ? " at " : ", ", variables_[at], variables[at]);
        }
    }
    return text;
}

double ScopedNumber::number(std::span<const double> variables) const {
    if (!arithmetic_) {
        return plain_;
    }
    try {
        return arithmetic_->value(variables.first(variables_.size()));
    } catch (const std::invalid_argument& problem) {
        value_.fail(fmt::format("{}{}", problem.what(), circumstances(variables)));
    }
}

std::int64_t ScopedNumber::count(std::span<const double> variables, std::int64_t least, std::int64_t most,
                                 std::string_view what) const {
    const double result = number(variables);
    const auto found = whole(result);
    if (!found || *found < least || *found > most) {
        const std::string range = !found          ? fmt::format("expected {}, a whole number", what)
                                  : least > most  ? fmt::format("expected {}, of which there are none", what)
                                  : least == most ? fmt::format("expected {}: there is only {}", what, least)
                                                  : fmt::format("expected {} from {} to {}", what, least, most);
        const std::string which = arithmetic_ ? fmt::format(", which is {}", result) : "";
        value_.fail(fmt::format("{}, got {}{}{}", range, excerpt(value_.written()), which,
                                arithmetic_ ? circumstances(variables) : ""));
    }
    return *found;
}

bool ScopedNumber::uses(std::size_t variable) const {
    return arithmetic_ && variable < variables_.size() && arithmetic_->uses(variable);
}

}  // namespace lockstep::collective
