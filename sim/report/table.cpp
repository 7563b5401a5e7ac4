#include "sim/report/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::report {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 12;  ///< of a column that shrinks

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The first `count` characters of a text.
std::string_view head(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    while (at < text.size() && (count > 0 || continues_character(text[at]))) {
        if (!continues_character(text[at])) {
            --count;
        }
        ++at;
    }
    return text.substr(0, at);
}

void append_cell(std::string& line, std::string_view cell, std::size_t width, Align align) {
    const std::size_t used = display_width(cell);
    const std::size_t padding = used < width ? width - used : 0;
    if (align == Align::right) {
        line.append(padding, ' ');
    }
    line += cell;
    if (align == Align::left) {
        line.append(padding, ' ');
    }
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
    if (cells.size() != columns_.size()) {
        throw std::invalid_argument(
            fmt::format("a row of {} cells in a table of {} columns", cells.size(), columns_.size()));
    }
    rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t available) const {
    std::vector<std::size_t> widths;
    for (std::size_t at = 0; at < columns_.size(); ++at) {
        std::size_t width = std::max(display_width(columns_[at].title), display_width(columns_[at].unit));
        for (const auto& row : rows_) {
            width = std::max(width, display_width(row[at]));
        }
        widths.push_back(width);
    }
    const auto total = [&] {
        return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + gap * (widths.size() - 1);
    };
    // The widest of those that shrink gives way first, so that they end up about equal.
    while (total() > available) {
        std::size_t widest = widths.size();
        for (std::size_t at = 0; at < widths.size(); ++at) {
            const bool can_shrink = columns_[at].shrinks && widths[at] > narrowest;
            if (can_shrink && (widest == widths.size() || widths[at] > widths[widest])) {
                widest = at;
            }
        }
        if (widest == widths.size()) {
            break;
        }
        --widths[widest];
    }
    return widths;
}

std::string Table::text(std::string_view prefix, std::size_t width) const { return text(prefix, prefix, width); }

std::string Table::text(std::string_view heading_prefix, std::string_view prefix, std::size_t width) const {
    if (columns_.empty()) {
        return {};
    }
    const std::size_t margin = display_width(prefix);
    const auto column_widths = widths(width > margin ? width - margin : 0);
    std::string out;
    const auto line_of = [&](std::string_view start, const auto& cell_at) {
        std::string line(start);
        for (std::size_t at = 0; at < columns_.size(); ++at) {
            if (at > 0) {
                line.append(gap, ' ');
            }
            append_cell(line, shortened(cell_at(at), column_widths[at]), column_widths[at], columns_[at].align);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line;
        out += '\n';
    };
    line_of(heading_prefix, [&](std::size_t at) -> std::string_view { return columns_[at].title; });
    if (std::ranges::any_of(columns_, [](const Column& column) { return !column.unit.empty(); })) {
        line_of(heading_prefix, [&](std::size_t at) -> std::string_view { return columns_[at].unit; });
    }
    for (const auto& row : rows_) {
        line_of(prefix, [&](std::size_t at) -> std::string_view { return row[at]; });
    }
    return out;
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

std::string shortened(std::string_view text, std::size_t width) {
    const std::size_t length = display_width(text);
    if (length <= width) {
        return std::string(text);
    }
    const std::size_t kept = width - 1;
    const std::size_t front = (kept + 1) / 2;
    const std::string_view start = head(text, front);
    const std::string_view all_but_end = head(text, length - (kept - front));
    return fmt::format("{}…{}", start, text.substr(all_but_end.size()));
}

std::string grouped(double value) {
    const std::string digits = fmt::format("{:.0f}", value);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    std::string text;
    for (std::size_t at = 0; at < digits.size(); ++at) {
        if (at > first && (digits.size() - at) % 3 == 0) {
            text += ',';
        }
        text += digits[at];
    }
    return text;
}

std::string measured(double value) {
    const double magnitude = std::abs(value);
    if (magnitude == 0.0) {
        return "0.00";
    }
    if (magnitude < 0.99995) {
        return fmt::format("{:.4f}", value);
    }
    if (magnitude < 99.995) {
        return fmt::format("{:.2f}", value);
    }
    return magnitude < 9999.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::vector<std::string> rounded_parts(const std::vector<double>& parts, int decimals) {
    const double scale = std::pow(10.0, decimals);
    double sum = 0.0;
    std::vector<double> units;
    std::vector<double> remainders;
    double given = 0.0;
    for (const double part : parts) {
        sum += part;
        units.push_back(std::floor(part * scale));
        remainders.push_back(part * scale - units.back());
        given += units.back();
    }
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
    double missing = std::round(sum * scale) - given;
    for (const std::size_t at : order) {
        if (missing < 0.5) {
            break;
        }
        units[at] += 1.0;
        missing -= 1.0;
    }
    std::vector<std::string> texts;
    texts.reserve(units.size());
    for (const double unit : units) {
        texts.push_back(fmt::format("{:.{}f}", unit / scale, decimals));
    }
    return texts;
}

}  // namespace lockstep::report
