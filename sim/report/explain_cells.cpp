#include "sim/report/explain_cells.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/report/table.h"

namespace lockstep::report {

using collective::Buffer;
using collective::Content;
using collective::Operation;

namespace {

constexpr std::uint32_t most_ranks_by_digit = 8;
constexpr std::size_t most_contents = 3;

/// Whether the ranks follow each other, the first after the last. Returns: where they begin, and none if they do not.
std::optional<std::size_t> begin_of_run(const Content& content, std::uint32_t ranks) {
    std::optional<std::size_t> begin;
    for (std::size_t at = 0; at < content.ranks.size(); ++at) {
        const std::uint32_t before = content.ranks[(at + content.ranks.size() - 1) % content.ranks.size()].first;
        if ((before + 1) % ranks != content.ranks[at].first) {
            if (begin) {
                return std::nullopt;
            }
            begin = at;
        }
    }
    return begin;
}

}  // namespace

std::string_view name_of(Buffer buffer) {
    switch (buffer) {
        case Buffer::data:
            return "data";
        case Buffer::received:
            return "received";
        case Buffer::scratch:
            return "scratch";
    }
    throw std::invalid_argument("name_of: no such buffer");
}

bool adds_up(Operation operation) {
    return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
           operation == Operation::reduce || operation == Operation::barrier;
}

std::uint32_t usual_chunk(const collective::Schedule& schedule, Buffer buffer, std::size_t rank, std::uint32_t chunk) {
    if (buffer == Buffer::received && schedule.operation == Operation::all_to_all) {
        const std::uint32_t per_rank = schedule.chunks / schedule.ranks;
        return static_cast<std::uint32_t>(rank) * per_rank + chunk % per_rank;
    }
    return buffer == Buffer::received && schedule.operation == Operation::all_to_all_v
               ? static_cast<std::uint32_t>(rank)
               : chunk;
}

Cells::Cells(const Explanation& explanation)
    : explanation_(explanation), adds_up_(adds_up(explanation.schedule.operation)) {
    const auto measure = [&](const Held& held, Buffer buffer, std::size_t rank, std::uint32_t chunk) {
        width_ = std::max(width_, display_width(text(held.content, buffer, rank, chunk)));
    };
    for (const Holdings& holdings : explanation.holdings) {
        for (std::size_t place = 0; place < holdings.start.size(); ++place) {
            measure(holdings.start[place], holdings.buffer, place / holdings.chunks,
                    static_cast<std::uint32_t>(place % holdings.chunks));
        }
    }
    for (const Step& step : explanation.steps) {
        for (const Change& change : step.changes) {
            measure(change.held, change.buffer, index(change.rank), change.chunk);
        }
    }
}

std::string Cells::ranks_in(const Content& content) const {
    const std::uint32_t ranks = explanation_.schedule.ranks;
    const bool doubled = std::ranges::any_of(content.ranks, [](const auto& part) { return part.second > 1; });
    if (doubled) {
        return "twice!";
    }
    if (ranks <= most_ranks_by_digit) {
        std::string text;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const bool is_in = std::ranges::any_of(content.ranks, [&](const auto& part) { return part.first == rank; });
            text += is_in ? fmt::format("{}", rank) : "·";
        }
        return text;
    }
    if (content.ranks.size() == ranks) {
        return "all";
    }
    if (content.ranks.size() == 1) {
        return fmt::format("{}", content.ranks.front().first);
    }
    if (const auto begin = begin_of_run(content, ranks)) {
        const std::size_t last = (*begin + content.ranks.size() - 1) % content.ranks.size();
        return fmt::format("{}-{}", content.ranks[*begin].first, content.ranks[last].first);
    }
    return fmt::format("{} of {}", content.ranks.size(), ranks);
}

std::string Cells::text(ContentAt at, Buffer buffer, std::size_t rank, std::uint32_t chunk) const {
    const Content& content = explanation_.contents[at];
    if (at == 0) {
        return "-";
    }
    const std::uint32_t usual = usual_chunk(explanation_.schedule, buffer, rank, chunk);
    const bool names_chunk =
        explanation_.schedule.result == Buffer::received || buffer == Buffer::scratch || content.chunk != usual;
    const std::string suffix = names_chunk ? fmt::format(".{}", content.chunk) : std::string();
    return (adds_up_ ? ranks_in(content) : fmt::format("{}", content.ranks.front().first)) + suffix;
}

std::string Cells::text(const std::vector<ContentAt>& contents, const Move& move) const {
    std::string all;
    for (std::size_t c = 0; c < contents.size(); ++c) {
        if (c == most_contents) {
            return all + " …";
        }
        all += c == 0 ? "" : " ";
        all += text(contents[c], move.buffer, index(move.to.front()), move.chunks[c]);
    }
    return all;
}

std::string Cells::legend() const {
    if (!adds_up_) {
        return explanation_.schedule.result == Buffer::received
                   ? "Cells say whose data it is and which chunk of it: 2.1 is chunk 1 of rank 2; - is nothing yet."
                   : "Cells say whose data it is, - nothing yet.";
    }
    if (explanation_.schedule.ranks <= most_ranks_by_digit) {
        if (explanation_.schedule.ranks < 3) {
            return "Cells say whose contributions are in: 0· that of rank 0.";
        }
        std::string sample = "0·2";
        for (std::uint32_t rank = 3; rank < explanation_.schedule.ranks; ++rank) {
            sample += "·";
        }
        return fmt::format("Cells say whose contributions are in: {} those of ranks 0 and 2.", sample);
    }
    return "Cells say whose contributions are in: 3-7 those of ranks 3 to 7, round past the last to the first.";
}

}  // namespace lockstep::report
