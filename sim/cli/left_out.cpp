#include "sim/cli/left_out.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::cli {

void LeftOut::add(std::string_view algorithm, std::string_view reason, Bytes bytes) {
    if (reason.starts_with(algorithm) && reason.substr(algorithm.size()).starts_with(' ')) {
        reason.remove_prefix(algorithm.size() + 1);
    }
    const auto known = std::ranges::find_if(
        cases_, [&](const Case& other) { return other.algorithm == algorithm && other.reason == reason; });
    if (known == cases_.end()) {
        cases_.push_back({std::string(algorithm), std::string(reason), bytes, bytes, 1});
    } else {
        known->most = bytes;
        ++known->sizes;
    }
}

std::vector<LeftOut::Group> LeftOut::groups() const {
    std::vector<Group> groups;
    for (const Case& each : cases_) {
        const auto group = std::ranges::find_if(groups, [&](const Group& other) {
            return other.like->reason == each.reason && other.like->least == each.least &&
                   other.like->most == each.most && other.like->sizes == each.sizes;
        });
        if (group == groups.end()) {
            groups.push_back({{each.algorithm}, &each});
        } else {
            group->algorithms.push_back(each.algorithm);
        }
    }
    return groups;
}

std::vector<std::string> LeftOut::notes(std::size_t size_count) const {
    std::vector<std::string> notes;
    for (const Group& group : groups()) {
        std::string sizes;
        if (group.like->sizes < size_count) {
            sizes = group.like->least == group.like->most
                        ? fmt::format(" at {} B", group.like->least.value)
                        : fmt::format(" at {} B to {} B", group.like->least.value, group.like->most.value);
        }
        notes.push_back(
            fmt::format("left out{}: {}: {}", sizes, fmt::join(group.algorithms, ", "), group.like->reason));
    }
    return notes;
}

std::string LeftOut::reasons() const {
    std::vector<std::string> reasons;
    for (const Group& group : groups()) {
        reasons.push_back(fmt::format("{}: {}", fmt::join(group.algorithms, ", "), group.like->reason));
    }
    return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace lockstep::cli
