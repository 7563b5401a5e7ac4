#include "sim/collective/chunk_sequence.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace lockstep::collective {

namespace {

bool takes(const ChunkIndex& index, std::span<const std::uint32_t> values) {
    for (std::size_t at = 0; at < values.size(); ++at) {
        if (index.at(static_cast<std::uint32_t>(at)) != values[at]) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::optional<ChunkIndex> index_of_sequence(std::span<const std::uint32_t> values, std::uint32_t limit) {
    if (values.empty()) {
        return ChunkIndex{};
    }
    const auto [least, most] = std::ranges::minmax(values);
    if (most >= limit || most > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
        return std::nullopt;
    }
    if (least == most) {
        return ChunkIndex{.offset = least};
    }
    // Between neighbours lies the stride, or the stride less a modulus where the sequence wraps round.
    std::set<std::int64_t> strides;
    for (std::size_t at = 1; at < values.size() && strides.size() <= 2; ++at) {
        strides.insert(static_cast<std::int64_t>(values[at]) - values[at - 1]);
    }
    ChunkIndex index;
    if (strides.size() == 1) {
        index = {.offset = least,
                 .first = values.front() - least,
                 .stride = static_cast<std::int32_t>(*strides.begin()),
                 .modulus = most - least + 1};
    } else if (strides.size() == 2) {
        const std::int64_t modulus = *strides.rbegin() - *strides.begin();
        if (modulus <= most - least || modulus > limit) {
            return std::nullopt;
        }
        const std::int64_t offset = std::max<std::int64_t>(0, most - modulus + 1);
        if (offset + modulus > limit) {
            return std::nullopt;
        }
        index = {.offset = static_cast<std::uint32_t>(offset),
                 .first = static_cast<std::uint32_t>(values.front() - offset),
                 .stride = static_cast<std::int32_t>(*strides.rbegin()),
                 .modulus = static_cast<std::uint32_t>(modulus)};
    } else {
        return std::nullopt;
    }
    return takes(index, values) ? std::optional(index) : std::nullopt;
}

std::optional<ChunkIndex> index_of_visits(std::span<const std::uint32_t> values, std::uint32_t limit) {
    std::vector<bool> is_visited(limit, false);
    std::vector<std::uint32_t> order;
    order.reserve(limit);
    for (const std::uint32_t value : values) {
        if (value >= limit || is_visited[value]) {
            return std::nullopt;
        }
        is_visited[value] = true;
        order.push_back(value);
    }
    for (std::uint32_t value = 0; value < limit; ++value) {
        if (!is_visited[value]) {
            order.push_back(value);
        }
    }
    return ChunkIndex{
        .stride = 1, .modulus = limit, .order = std::make_shared<const std::vector<std::uint32_t>>(std::move(order))};
}

}  // namespace lockstep::collective
