#include "sim/cli/size_matrix.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"

namespace lockstep::cli {

namespace {

/// More would not fit a vector's size.
constexpr std::int64_t most_bytes_of_rank = std::numeric_limits<std::int64_t>::max() / 4;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == std::string_view::npos ? std::string_view()
                                           : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

Bytes size_at(const SourcePosition& position, std::string_view text) {
    try {
        return parse_nccl_size(text);
    } catch (const std::invalid_argument& problem) {
        throw InputError(position, problem.what());
    }
}

/// Adds the sizes of one line to `into`.
void read_line(std::string_view line, SourcePosition position, std::uint32_t ranks, std::vector<Bytes>& into) {
    std::uint32_t count = 0;
    Bytes total;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        position.column = static_cast<int>(begin) + 1;
        const Bytes size = size_at(position, trimmed(line.substr(begin, end - begin)));
        if (size.value > most_bytes_of_rank - total.value) {
            throw InputError(position, "the sizes of this rank add up to more than any vector holds");
        }
        total += size;
        into.push_back(size);
        ++count;
        begin = end + 1;
    }
    if (count != ranks) {
        throw InputError(SourcePosition{position.file, position.line, 1},
                         fmt::format("expected {} sizes, one for each rank, got {}", ranks, count));
    }
}

}  // namespace

std::shared_ptr<const collective::SizeMatrix> size_matrix_from(const std::string& path, std::uint32_t ranks) {
    const std::string text = read_text_file(path);
    collective::SizeMatrix sizes{.ranks = ranks};
    std::uint32_t rows = 0;
    SourcePosition position{path, 0, 1};
    const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // a byte order mark
    for (std::size_t begin = mark; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view whole = std::string_view(text).substr(begin, end - begin);
        const std::string_view line = whole.substr(0, whole.find('#'));
        begin = end + 1;
        ++position.line;
        if (trimmed(line).empty()) {
            continue;
        }
        if (++rows > ranks) {
            throw InputError(position, fmt::format("expected {} lines, one for each rank, got more", ranks));
        }
        read_line(line, position, ranks, sizes.bytes);
    }
    if (rows != ranks) {
        throw InputError(SourcePosition{path, 0, 0},
                         fmt::format("expected {} lines, one for each rank, got {}", ranks, rows));
    }
    return std::make_shared<const collective::SizeMatrix>(std::move(sizes));
}

Bytes largest_row(const collective::SizeMatrix& sizes) {
    Bytes largest;
    for (std::size_t row = 0; row < sizes.ranks; ++row) {
        largest = std::max(largest, collective::message_bytes(sizes, id_at<RankId>(row), 0, sizes.ranks));
    }
    return largest;
}

}  // namespace lockstep::cli
