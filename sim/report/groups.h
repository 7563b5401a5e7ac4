#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/result.h"

namespace lockstep::report {

/// Links of one kind that stand in like places and are used alike: one line of a table that a person reads.
struct LinkGroup {
    std::string from;  ///< the name they share, `*` for the numbers that differ: `node*.gpu*`
    std::string to;
    fabric::LinkKind kind = fabric::LinkKind::generic;
    Bandwidth capacity;
    double bytes = 0.0;        ///< of each, mean
    double utilization = 0.0;  ///< of each, mean
    std::size_t links = 0;
};

/// The hottest groups, highest utilization first, ties in order of the first link. Links are alike if their names
/// differ only in numbers, their kind and capacity are the same and their utilization agrees to 0.05 %. Cost: O(n log
/// n) in the number of links, names looked at only of those that are shown.
std::vector<LinkGroup> hottest_links(const fabric::Fabric& fabric, std::span<const replay::LinkUse> links,
                                     std::size_t most_groups);

/// Collectives of one family: one line of a table.
struct CollectiveGroup {
    std::string name;
    collective::Operation operation = collective::Operation::all_reduce;
    std::string algorithm;
    std::size_t group_size = 1;
    Bytes least;
    Bytes most;
    std::uint64_t count = 0;
    double bytes = 0.0;    ///< of one call, mean
    Seconds time = {};     ///< of one call, mean
    Seconds exposed = {};  ///< of all, in a step
};

/// The collectives a line each; where that is more than `most_lines`, calls of a family that differ in size only are
/// put together.
std::vector<CollectiveGroup> collective_lines(std::span<const replay::CollectiveUse> collectives,
                                              std::size_t most_lines);

}  // namespace lockstep::report
