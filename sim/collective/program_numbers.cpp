#include "sim/collective/program_numbers.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lockstep::collective {

namespace {

/// a * variable + ..., with the sign between what stands before and this.
void add_term(std::string& text, std::int64_t factor, std::string_view variable) {
    if (factor == 0) {
        return;
    }
    const std::int64_t size = factor < 0 ? -factor : factor;
    const std::string term = variable.empty() ? fmt::format("{}", size)
                             : size == 1      ? std::string(variable)
                                              : fmt::format("{} * {}", size, variable);
    if (text.empty()) {
        // A leading minus would bind less than people think in front of `%`: say 0 - x.
        text = factor < 0 ? fmt::format("0 - {}", term) : term;
    } else {
        text += fmt::format(" {} {}", factor < 0 ? '-' : '+', term);
    }
}

std::string sum_of(std::int64_t rank_factor, std::int64_t step_factor, std::int64_t constant) {
    // A positive term first reads best.
    std::string text;
    if (rank_factor < 0 && constant > 0) {
        add_term(text, constant, "");
        constant = 0;
    }
    add_term(text, rank_factor, "rank");
    if (text.empty() && step_factor < 0 && constant > 0) {
        add_term(text, constant, "");
        constant = 0;
    }
    add_term(text, step_factor, "step");
    add_term(text, constant, "");
    return text.empty() ? "0" : text;
}

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text,
                               [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); });
}

bool is_number(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// As it stands in a file.
std::string scalar(const std::string& expression) {
    if (is_number(expression)) {
        return expression;
    }
    if (is_plain(expression)) {
        return "$" + expression;
    }
    // Inside of {...} a comma would end the value.
    const char* const quote = expression.find(',') == std::string::npos ? "" : "\"";
    return fmt::format("{}$({}){}", quote, expression, quote);
}

std::string in_parentheses(const std::string& expression) {
    return is_plain(expression) || expression.ends_with("(rank)") || expression.starts_with("xor(")
               ? expression
               : fmt::format("({})", expression);
}

std::int64_t modulo(std::int64_t value, std::int64_t modulus) { return ((value % modulus) + modulus) % modulus; }

/// The representative of a residue nearest to 0.
std::int64_t centred(std::int64_t value, std::int64_t modulus) {
    const std::int64_t residue = modulo(value, modulus);
    return 2 * residue > modulus ? residue - modulus : residue;
}

/// value = factor * rank + constant, modulo `modulus` where there is one.
struct Line {
    std::int64_t factor = 0;
    std::int64_t constant = 0;
};

std::optional<Line> line_through(std::span<const RankId> ranks, std::span<const std::int64_t> values,
                                 std::optional<std::int64_t> modulus) {
    const auto rank = [&](std::size_t at) { return static_cast<std::int64_t>(index(ranks[at])); };
    Line line{.constant = values[0]};
    if (values.size() > 1) {
        // Where ranks are not neighbours the factor is a quotient, which residues do not have.
        const std::int64_t distance = rank(1) - rank(0);
        const std::int64_t rise = values[1] - values[0];
        if (rise % distance != 0 && (!modulus || distance != 1)) {
            return std::nullopt;
        }
        line.factor = modulus && distance == 1 ? centred(rise, *modulus) : rise / distance;
        line.constant = values[0] - line.factor * rank(0);
    }
    if (modulus) {
        line.constant = centred(line.constant, *modulus);
    }
    for (std::size_t at = 0; at < values.size(); ++at) {
        const std::int64_t found = line.factor * rank(at) + line.constant;
        if (modulus ? modulo(found, *modulus) != modulo(values[at], *modulus) : found != values[at]) {
            return std::nullopt;
        }
    }
    return line;
}

}  // namespace

std::string NumberWriter::name_of_modulus(std::int64_t modulus) const {
    return modulus == all_ranks_ ? "ranks" : fmt::format("{}", modulus);
}

std::string NumberWriter::list(std::vector<std::int64_t> values) {
    const auto [entry, fresh] = lists_.try_emplace(std::move(values), fmt::format("list_{}", lists_.size()));
    return entry->second;
}

std::string NumberWriter::term(std::span<const std::int64_t> values) {
    if (const auto line = line_through(ranks_, values, std::nullopt)) {
        return sum_of(line->factor, 0, line->constant);
    }
    const std::int64_t flipped = values[0] ^ static_cast<std::int64_t>(index(ranks_[0]));
    if (std::ranges::equal(values, ranks_, {}, {},
                           [&](RankId rank) { return static_cast<std::int64_t>(index(rank)) ^ flipped; })) {
        return fmt::format("xor(rank, {})", flipped);
    }
    const auto [least, most] = std::ranges::minmax(values);
    for (const std::int64_t modulus : {std::int64_t{all_ranks_}, most - least + 1}) {
        const std::int64_t offset = least >= 0 && most < modulus ? 0 : least;
        std::vector<std::int64_t> residues(values.begin(), values.end());
        for (std::int64_t& value : residues) {
            value -= offset;
        }
        const auto line = line_through(ranks_, residues, modulus);
        if (line && std::ranges::all_of(residues, [&](std::int64_t value) { return value >= 0 && value < modulus; })) {
            const std::string inner = fmt::format("{} % {}", in_parentheses(sum_of(line->factor, 0, line->constant)),
                                                  name_of_modulus(modulus));
            return offset == 0 ? inner : fmt::format("{} + {}", offset, inner);
        }
    }
    std::vector<std::int64_t> by_rank(all_ranks_, 0);
    for (std::size_t at = 0; at < values.size(); ++at) {
        by_rank[index(ranks_[at])] = values[at];
    }
    return fmt::format("{}(rank)", list(std::move(by_rank)));
}

std::string NumberWriter::number(std::span<const std::int64_t> values) { return scalar(term(values)); }

std::string NumberWriter::chunk(std::span<const ChunkIndex> indices, std::uint32_t iterations) {
    const ChunkIndex& common = indices.front();
    std::vector<std::int64_t> values;
    if (iterations == 1 || common.stride % static_cast<std::int64_t>(common.modulus) == 0) {
        for (const ChunkIndex& index : indices) {
            values.push_back(index.at(0));
        }
        return number(values);
    }
    const std::int64_t modulus = common.modulus;
    for (const ChunkIndex& index : indices) {
        values.push_back(index.first);
    }
    const std::int64_t last = std::int64_t{common.stride} * (iterations - 1);
    std::string inner;
    bool wraps = true;
    if (const auto line = line_through(ranks_, values, modulus)) {
        inner = sum_of(line->factor, common.stride, line->constant);
        wraps = std::ranges::any_of(ranks_, [&](RankId rank) {
            const std::int64_t first = line->factor * static_cast<std::int64_t>(index(rank)) + line->constant;
            return std::min(first, first + last) < 0 || std::max(first, first + last) >= modulus;
        });
    } else {
        inner = term(values);
        add_term(inner, common.stride, "step");
    }
    if (wraps) {
        inner = fmt::format("{} % {}", in_parentheses(inner), name_of_modulus(modulus));
    }
    if (common.order) {
        inner = fmt::format("{}({})", list({common.order->begin(), common.order->end()}), inner);
    }
    if (common.scale != 1) {
        inner = fmt::format("{} * {}", common.scale, common.order ? inner : in_parentheses(inner));
    }
    values.clear();
    for (const ChunkIndex& index : indices) {
        values.push_back(index.offset);
    }
    const std::string offset = term(values);
    if (offset == "0") {
        return scalar(inner);
    }
    return scalar(fmt::format("{} + {}", offset, inner));
}

}  // namespace lockstep::collective
