#include "sim/base/arithmetic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <muParser.h>

#include "sim/base/diagnostics.h"

namespace lockstep {

namespace {

constexpr std::array<std::string_view, 7> functions{"min", "max", "ceil", "floor", "round", "log2", "xor"};
constexpr std::size_t longest_expression = 1000;
constexpr std::size_t longest_echo = 200;
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

double least_of(const double* values, int count) { return *std::min_element(values, values + count); }

double most_of(const double* values, int count) { return *std::max_element(values, values + count); }

double remainder_of(double a, double b) { return a - b * std::floor(a / b); }

bool is_natural(double x) { return x >= 0 && x <= 0x1p53 && x == std::floor(x); }

double exclusive_or(double a, double b) {
    return is_natural(a) && is_natural(b)
               ? static_cast<double>(static_cast<std::uint64_t>(a) ^ static_cast<std::uint64_t>(b))
               : no_value;
}

double element_of(void* list, double place) {
    const auto& values = *static_cast<const std::vector<double>*>(list);
    return is_natural(place) && place < static_cast<double>(values.size()) ? values[static_cast<std::size_t>(place)]
                                                                           : no_value;
}

/// How long the operator at the front is; 0 if there is none. A single `=` is none: it would assign.
std::size_t operator_length(std::string_view text) {
    for (const std::string_view two : {"<=", ">=", "==", "!=", "&&", "||"}) {
        if (text.starts_with(two)) {
            return 2;
        }
    }
    return std::string_view("+-*/^%<>(), \t").find(text.front()) == std::string_view::npos ? 0 : 1;
}

/// The identifiers of an expression in order. Throws: std::invalid_argument for a character that arithmetic does not
/// have.
std::vector<std::string> identifiers(std::string_view expression) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < expression.size();) {
        const char c = expression[at];
        if (is_letter(c)) {
            const std::size_t begin = at;
            while (at < expression.size() && (is_letter(expression[at]) || is_digit(expression[at]))) {
                ++at;
            }
            found.emplace_back(expression.substr(begin, at - begin));
        } else if (is_digit(c) || c == '.') {
            double number = 0.0;
            const auto result = std::from_chars(expression.data() + at, expression.data() + expression.size(), number);
            const auto end = static_cast<std::size_t>(result.ptr - expression.data());
            if (end == at || (end < expression.size() && is_letter(expression[end]))) {
                throw std::invalid_argument(fmt::format("expected a plain number, an operator or a parameter, got {}",
                                                        excerpt(expression.substr(at))));
            }
            at = end;
        } else {
            const std::size_t length = operator_length(expression.substr(at));
            if (length == 0) {
                throw std::invalid_argument(
                    fmt::format("arithmetic has + - * / ^ %, comparisons, parentheses and {}, got {}",
                                fmt::join(functions, ", "), excerpt(expression.substr(at))));
            }
            at += length;
        }
    }
    return found;
}

}  // namespace

struct Arithmetic::Compiled {
    std::string expression;
    mu::Parser parser;
    std::vector<double> variables;
    std::vector<bool> used;
    std::vector<std::vector<double>> lists;  ///< the parser keeps pointers to them
};

Arithmetic::Arithmetic(std::string_view expression, const ValueOf& value_of, std::span<const std::string> variables,
                       std::span<const List> lists)
    : compiled_(std::make_unique<Compiled>()) {
    if (expression.size() > longest_expression) {
        throw std::invalid_argument(fmt::format("an expression has at most {} characters", longest_expression));
    }
    Compiled& compiled = *compiled_;
    compiled.expression = expression;
    compiled.variables.resize(variables.size());
    compiled.used.resize(variables.size());
    compiled.lists.reserve(lists.size());
    mu::Parser& parser = compiled.parser;
    parser.ClearConst();
    parser.ClearFun();
    parser.DefineFun("min", least_of);
    parser.DefineFun("max", most_of);
    parser.DefineFun(
        "ceil", +[](double x) { return std::ceil(x); });
    parser.DefineFun(
        "floor", +[](double x) { return std::floor(x); });
    parser.DefineFun(
        "round", +[](double x) { return std::round(x); });
    parser.DefineFun(
        "log2", +[](double x) { return std::log2(x); });
    parser.DefineFun("xor", exclusive_or);
    parser.DefineOprt("%", remainder_of, mu::prMUL_DIV);
    for (const List& list : lists) {
        compiled.lists.push_back(list.values);
        parser.DefineFunUserData(list.name, element_of, &compiled.lists.back());
    }
    for (const std::string& name : identifiers(expression)) {
        if (is_function(name) || std::ranges::find(lists, name, &List::name) != lists.end()) {
            continue;
        }
        if (const auto found = std::ranges::find(variables, name); found != variables.end()) {
            const auto at = static_cast<std::size_t>(found - variables.begin());
            compiled.used[at] = true;
            parser.DefineVar(name, &compiled.variables[at]);
        } else {
            parser.DefineConst(name, value_of(name));
        }
    }
    try {
        parser.SetExpr(compiled.expression);
        parser.Eval();
        if (parser.GetNumResults() != 1) {
            throw std::invalid_argument(fmt::format("expected one expression, got {}", excerpt(expression)));
        }
    } catch (const mu::ParserError& error) {
        throw std::invalid_argument(
            fmt::format("{} is no arithmetic: {}", excerpt(expression), shown(error.GetMsg(), longest_echo)));
    }
}

Arithmetic::~Arithmetic() = default;
Arithmetic::Arithmetic(Arithmetic&&) noexcept = default;
Arithmetic& Arithmetic::operator=(Arithmetic&&) noexcept = default;

double Arithmetic::value(std::span<const double> variables) const {
    if (variables.size() != compiled_->variables.size()) {
        throw std::invalid_argument(
            fmt::format("{} variables where {} are due", variables.size(), compiled_->variables.size()));
    }
    std::ranges::copy(variables, compiled_->variables.begin());
    double result = no_value;
    try {
        result = compiled_->parser.Eval();
    } catch (const mu::ParserError& error) {
        throw std::invalid_argument(
            fmt::format("{}: {}", excerpt(compiled_->expression), shown(error.GetMsg(), longest_echo)));
    }
    if (!std::isfinite(result)) {
        throw std::invalid_argument(fmt::format("{} has no finite value", excerpt(compiled_->expression)));
    }
    return result;
}

bool Arithmetic::uses(std::size_t variable) const { return compiled_->used.at(variable); }

bool Arithmetic::is_function(std::string_view name) { return std::ranges::find(functions, name) != functions.end(); }

}  // namespace lockstep
