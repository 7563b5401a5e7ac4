#include "sim/base/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/yaml_tree.h"

namespace lockstep {

/// The text of a scalar once a `$name` is replaced, and what a message has to add about where it is from.
struct YamlValue::Text {
    std::string text;
    std::string origin;  ///< " (parameter `bandwidth`, from --set bandwidth=0)", or empty
};

namespace {

constexpr std::size_t longest_path = 300;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !text.empty() && !is_digit(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

/// The arithmetic in `$(arithmetic)`; none if the text has not that form.
std::optional<std::string_view> arithmetic_in(std::string_view text) {
    if (text.starts_with("$(") && text.ends_with(')')) {
        return text.substr(2, text.size() - 3);
    }
    return std::nullopt;
}

bool lacks_closing_parenthesis(std::string_view text) {
    return std::ranges::count(text, '(') > std::ranges::count(text, ')');
}

std::string with_key(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string labelled(const std::string& path, std::string_view message) {
    return path.empty() ? std::string(message) : fmt::format("{}: {}", shown(path, longest_path), message);
}

/// The node as a pointer that keeps its whole document alive.
std::shared_ptr<const YamlNode> within(const std::shared_ptr<const YamlNode>& owner, const YamlNode* node) {
    return {owner, node};
}

}  // namespace

YamlValue::YamlValue(std::shared_ptr<const YamlNode> node, std::shared_ptr<const Parameters> parameters,
                     std::string path)
    : node_(std::move(node)), parameters_(std::move(parameters)), path_(std::move(path)) {}

SourcePosition YamlValue::position() const { return node_->document->position(*node_); }

bool YamlValue::is_map() const { return std::holds_alternative<YamlEntries>(node_->content); }

bool YamlValue::is_list() const { return std::holds_alternative<YamlItems>(node_->content); }

bool YamlValue::is_scalar() const { return std::holds_alternative<YamlScalar>(node_->content); }

void YamlValue::fail(std::string_view message) const { throw InputError(position(), labelled(path_, message)); }

std::string_view YamlValue::kind_read() const {
    if (is_map()) {
        return "a mapping";
    }
    return is_list() ? "a list" : "nothing";
}

YamlMap YamlValue::map() const {
    if (!is_map()) {
        fail(fmt::format("expected a mapping, got {}",
                         is_scalar() ? excerpt(std::get<YamlScalar>(node_->content)) : kind_read()));
    }
    return {*this, node_, parameters_};
}

std::vector<YamlValue> YamlValue::list() const {
    if (!is_list()) {
        fail(fmt::format("expected a list, got {}",
                         is_scalar() ? excerpt(std::get<YamlScalar>(node_->content)) : kind_read()));
    }
    std::vector<YamlValue> items;
    const auto& nodes = std::get<YamlItems>(node_->content);
    items.reserve(nodes.size());
    for (const YamlNode* const node : nodes) {
        items.emplace_back(within(node_, node), parameters_, fmt::format("{}[{}]", path_, items.size()));
    }
    return items;
}

std::string YamlValue::written() const {
    if (!is_scalar()) {
        fail(fmt::format("expected a single value, got {}", kind_read()));
    }
    const auto& text = std::get<YamlScalar>(node_->content);
    if (text.empty()) {
        fail("expected a value, got an empty text");
    }
    return text;
}

YamlValue::Text YamlValue::resolved() const {
    const std::string read = written();
    if (read.starts_with("$(") && lacks_closing_parenthesis(read)) {
        fail(fmt::format(
            "{} lacks a closing parenthesis; inside of {{...}} and [...] a comma ends the value: there, put "
            "arithmetic with a comma in quotes, \"$(max(a, b))\"",
            excerpt(read)));
    }
    if (!read.starts_with('$') || read.starts_with("$(")) {
        return {read, {}};
    }
    const std::string_view name = std::string_view(read).substr(1);
    if (!is_name(name)) {
        fail(fmt::format("expected `$name` or `$(arithmetic)`, got {}", excerpt(read)));
    }
    if (!parameters_->declares(name)) {
        std::vector<std::string> known;
        for (const Parameter& parameter : parameters_->declared()) {
            known.push_back(parameter.name);
        }
        fail(known.empty() ? fmt::format("unknown parameter {}: the file declares no parameters", excerpt(name))
                           : fmt::format("unknown parameter {}{}", excerpt(name), suggestion(name, known)));
    }
    const ParameterValue value = parameters_->value(name);
    const std::string from = value.position.line == 0 ? fmt::format(", from {}", to_text(value.position)) : "";
    return {value.text, fmt::format(" (parameter {}{})", excerpt(name), from)};
}

std::string YamlValue::text() const {
    const Text read = resolved();
    if (read.text.starts_with("$(")) {
        fail(fmt::format("arithmetic is only possible where a number is due, got {}", excerpt(read.text)));
    }
    return read.text;
}

std::string YamlValue::one_of(std::span<const std::string> allowed) const {
    const Text read = resolved();
    if (std::ranges::find(allowed, read.text) == allowed.end()) {
        const auto nearest = nearest_word(read.text, allowed);
        fail(fmt::format("expected one of {}, got {}{}{}", fmt::join(allowed, ", "), excerpt(read.text), read.origin,
                         nearest ? fmt::format(" — did you mean {}?", excerpt(*nearest)) : ""));
    }
    return read.text;
}

bool YamlValue::flag() const {
    const Text read = resolved();
    if (read.text != "true" && read.text != "false") {
        fail(fmt::format("expected `true` or `false`, got {}{}", excerpt(read.text), read.origin));
    }
    return read.text == "true";
}

double YamlValue::evaluated(std::string_view expression) const {
    try {
        return parameters_->evaluate(expression);
    } catch (const std::invalid_argument& error) {
        fail(error.what());
    }
}

std::int64_t YamlValue::count(std::int64_t least, std::int64_t most) const {
    const Text read = resolved();
    const auto refuse_range = [&](std::string_view got) {
        if (most == std::numeric_limits<std::int64_t>::max()) {
            fail(fmt::format("expected a whole number of at least {}, got {}{}", least, got, read.origin));
        }
        fail(fmt::format("expected a whole number from {} to {}, got {}{}", least, most, got, read.origin));
    };
    std::int64_t value = 0;
    std::string got = excerpt(read.text);
    if (const auto expression = arithmetic_in(read.text)) {
        const double result = evaluated(*expression);
        const double whole = std::round(result);
        got += fmt::format(", which is {}", std::abs(result - whole) <= 1e-9 * std::abs(whole) ? whole : result);
        if (std::abs(result - whole) > 1e-9 * std::abs(whole)) {
            fail(fmt::format("expected a whole number, got {}", got));
        }
        if (std::abs(whole) > 0x1p53) {
            refuse_range(got);
        }
        value = static_cast<std::int64_t>(whole);
    } else {
        const bool negative = read.text.starts_with('-');
        const std::string_view digits = std::string_view(read.text).substr(negative ? 1 : 0);
        if (digits.empty() || !std::ranges::all_of(digits, is_digit)) {
            fail(fmt::format("expected a whole number such as `4`, got {}{}", got, read.origin));
        }
        if (std::from_chars(read.text.data(), read.text.data() + read.text.size(), value).ec != std::errc()) {
            refuse_range(got);
        }
    }
    if (value < least || value > most) {
        refuse_range(got);
    }
    return value;
}

double YamlValue::number(double least, double most) const {
    const Text read = resolved();
    std::string got = excerpt(read.text);
    double value = 0.0;
    if (const auto expression = arithmetic_in(read.text)) {
        value = evaluated(*expression);
        got += fmt::format(", which is {}", value);
    } else {
        const char* const end = read.text.data() + read.text.size();
        const auto result = std::from_chars(read.text.data(), end, value);
        if (result.ptr != end || result.ec == std::errc::invalid_argument || std::isnan(value)) {
            fail(fmt::format("expected a number such as `0.5`, got {}{}", got, read.origin));
        }
        value = result.ec == std::errc() ? value : std::numeric_limits<double>::infinity();
    }
    if (!std::isfinite(value) || value < least || value > most) {
        fail(fmt::format("expected a number from {} to {}, got {}{}", least, most, got, read.origin));
    }
    return value;
}

template <class Result, class Parse>
Result YamlValue::quantity(Parse parse, std::string_view range, Result least, Result most) const {
    const Text read = resolved();
    if (read.text.starts_with("$(")) {
        fail(fmt::format("arithmetic gives a number without a unit; expected {}, got {}", range, excerpt(read.text)));
    }
    Result value;
    try {
        value = parse(read.text);
    } catch (const std::invalid_argument& error) {
        fail(fmt::format("{}{}", error.what(), read.origin));
    }
    if (value < least || value > most) {
        fail(fmt::format("expected {}, got {}{}", range, excerpt(read.text), read.origin));
    }
    return value;
}

Seconds YamlValue::seconds() const {
    return quantity<Seconds>(parse_seconds, "a time from 0 s to 1e9 s", Seconds{0}, Seconds{1e9});
}

Bytes YamlValue::bytes(Bytes least) const {
    return quantity<Bytes>(parse_bytes, fmt::format("a size from {} to 1 EiB", to_text(least)), least,
                           Bytes{std::int64_t{1} << 60});
}

Bandwidth YamlValue::bandwidth() const {
    return quantity<Bandwidth>(parse_bandwidth, "a rate from 1 B/s to 1e18 B/s", Bandwidth{1}, Bandwidth{1e18});
}

Flops YamlValue::flops() const {
    return quantity<Flops>(parse_flops, "a number of operations from 0 FLOP to 1e30 FLOP", Flops{0}, Flops{1e30});
}

FlopRate YamlValue::flop_rate() const {
    return quantity<FlopRate>(parse_flop_rate, "a compute rate from 1 FLOP/s to 1e24 FLOP/s", FlopRate{1},
                              FlopRate{1e24});
}

YamlMap::YamlMap(YamlValue self, std::shared_ptr<const YamlNode> node, std::shared_ptr<const Parameters> parameters)
    : self_(std::move(self)), node_(std::move(node)), parameters_(std::move(parameters)) {}

YamlValue YamlMap::require(std::string_view key) {
    if (auto value = find(key)) {
        return *std::move(value);
    }
    std::vector<std::string> present;
    for (const YamlEntry& entry : std::get<YamlEntries>(node_->content)) {
        if (std::ranges::find(asked_, entry.key) == asked_.end()) {
            present.push_back(entry.key);
        }
    }
    const auto nearest = nearest_word(key, present);
    self_.fail(
        fmt::format("missing key `{}`{}", key, nearest ? fmt::format("; is {} meant for it?", excerpt(*nearest)) : ""));
}

std::optional<YamlValue> YamlMap::find(std::string_view key) {
    if (std::ranges::find(asked_, key) == asked_.end()) {
        asked_.emplace_back(key);
    }
    const auto& entries = std::get<YamlEntries>(node_->content);
    const auto found = std::ranges::find(entries, key, &YamlEntry::key);
    if (found == entries.end()) {
        return std::nullopt;
    }
    return YamlValue(within(node_, found->value), parameters_, with_key(self_.path(), key));
}

std::vector<std::pair<std::string, YamlValue>> YamlMap::entries() {
    all_asked_ = true;
    std::vector<std::pair<std::string, YamlValue>> values;
    for (const YamlEntry& entry : std::get<YamlEntries>(node_->content)) {
        values.emplace_back(entry.key,
                            YamlValue(within(node_, entry.value), parameters_, with_key(self_.path(), entry.key)));
    }
    return values;
}

void YamlMap::finish() const {
    if (all_asked_) {
        return;
    }
    for (const YamlEntry& entry : std::get<YamlEntries>(node_->content)) {
        if (std::ranges::find(asked_, entry.key) == asked_.end()) {
            throw InputError(node_->document->position(entry.line, entry.column),
                             fmt::format("unknown key {}{}", excerpt(entry.key), suggestion(entry.key, asked_)));
        }
    }
}

SourcePosition YamlMap::key_position(std::string_view key) const {
    const auto& entries = std::get<YamlEntries>(node_->content);
    const auto found = std::ranges::find(entries, key, &YamlEntry::key);
    if (found == entries.end()) {
        throw std::invalid_argument(fmt::format("no key `{}`", key));
    }
    return node_->document->position(found->line, found->column);
}

}  // namespace lockstep
