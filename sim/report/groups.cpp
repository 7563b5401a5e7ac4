#include "sim/report/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace lockstep::report {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A name with its numbers taken out: `node3.gpu5` is "node#.gpu#" and {3, 5}.
struct NameParts {
    std::string shape;
    std::vector<std::string> numbers;
};

NameParts parts_of(std::string_view name) {
    NameParts parts;
    for (std::size_t at = 0; at < name.size();) {
        if (!is_digit(name[at])) {
            parts.shape += name[at++];
            continue;
        }
        const std::size_t begin = at;
        while (at < name.size() && is_digit(name[at])) {
            ++at;
        }
        parts.shape += '\0';  // no name has one, so that it can stand for a number
        parts.numbers.emplace_back(name.substr(begin, at - begin));
    }
    return parts;
}

/// Keeps the numbers that all names of a group share.
void keep_common(std::vector<std::string>& common, const std::vector<std::string>& numbers) {
    for (std::size_t at = 0; at < common.size(); ++at) {
        if (common[at] != numbers[at]) {
            common[at].assign(1, '*');
        }
    }
}

std::string name_from(const NameParts& parts) {
    std::string name;
    std::size_t number = 0;
    for (const char c : parts.shape) {
        if (c == '\0') {
            name += parts.numbers[number++];
        } else {
            name += c;
        }
    }
    return name;
}

/// Utilizations of one level are shown as the same.
std::int64_t level_of(const replay::LinkUse& use) { return std::llround(use.utilization * 1000.0); }

using Key = std::tuple<std::int64_t, fabric::LinkKind, double, std::string, std::string>;

struct GroupInMaking {
    NameParts from;
    NameParts to;
    LinkGroup group;
};

}  // namespace

std::vector<LinkGroup> hottest_links(const fabric::Fabric& fabric, std::span<const replay::LinkUse> links,
                                     std::size_t most_groups) {
    std::vector<replay::LinkUse> sorted(links.begin(), links.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return level_of(a) > level_of(b); });

    std::vector<GroupInMaking> groups;
    std::map<Key, std::size_t> place;
    std::optional<std::int64_t> level;
    for (const replay::LinkUse& use : sorted) {
        if (level != level_of(use)) {
            // Groups never span levels: once there are enough, no colder link can change what is shown.
            if (groups.size() >= most_groups) {
                break;
            }
            level = level_of(use);
        }
        const fabric::Link& link = fabric.link(use.link);
        NameParts from = parts_of(fabric.vertex(fabric.from(use.link)).name);
        NameParts to = parts_of(fabric.vertex(fabric.to(use.link)).name);
        const auto [entry, is_new] =
            place.try_emplace(Key{*level, link.kind, link.bandwidth.value, from.shape, to.shape}, groups.size());
        if (is_new) {
            groups.push_back({std::move(from), std::move(to), {}});
            groups.back().group.kind = link.kind;
            groups.back().group.capacity = link.bandwidth;
        } else {
            keep_common(groups[entry->second].from.numbers, from.numbers);
            keep_common(groups[entry->second].to.numbers, to.numbers);
        }
        LinkGroup& group = groups[entry->second].group;
        group.bytes += use.bytes;
        group.utilization += use.utilization;
        ++group.links;
    }

    std::vector<LinkGroup> shown;
    for (GroupInMaking& made : groups) {
        if (shown.size() == most_groups) {
            break;
        }
        made.group.from = name_from(made.from);
        made.group.to = name_from(made.to);
        made.group.bytes /= static_cast<double>(made.group.links);
        made.group.utilization /= static_cast<double>(made.group.links);
        shown.push_back(std::move(made.group));
    }
    return shown;
}

std::vector<CollectiveGroup> collective_lines(std::span<const replay::CollectiveUse> collectives,
                                              std::size_t most_lines) {
    const bool by_size = collectives.size() <= most_lines;
    std::vector<CollectiveGroup> lines;
    std::map<std::tuple<std::string, collective::Operation, std::string, std::size_t>, std::size_t> place;
    for (const replay::CollectiveUse& use : collectives) {
        std::size_t at = lines.size();
        if (!by_size) {
            at = place.try_emplace({use.name, use.operation, use.algorithm, use.group_size}, at).first->second;
        }
        if (at == lines.size()) {
            lines.push_back({use.name, use.operation, use.algorithm, use.group_size, use.bytes, use.bytes});
        }
        CollectiveGroup& line = lines[at];
        line.least = std::min(line.least, use.bytes);
        line.most = std::max(line.most, use.bytes);
        line.count += use.count;
        line.bytes += static_cast<double>(use.bytes.value) * use.count;
        line.time += use.time * use.count;
        line.exposed += use.exposed;
    }
    for (CollectiveGroup& line : lines) {
        if (line.count > 0) {
            line.bytes /= static_cast<double>(line.count);
            line.time = line.time / static_cast<double>(line.count);
        }
    }
    return lines;
}

}  // namespace lockstep::report
