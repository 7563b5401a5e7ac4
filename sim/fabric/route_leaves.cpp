#include "sim/fabric/route_leaves.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace lockstep::fabric {
namespace {

// Deeper levels than a real tree has are taken as one.
constexpr std::uint32_t deepest_level = 8;

// Union-find whose roots are the smallest members.
class Groups {
  public:
    explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }

    std::uint32_t root(std::uint32_t member) {
        while (parent_[member] != member) {
            parent_[member] = parent_[parent_[member]];
            member = parent_[member];
        }
        return member;
    }
    void join(std::uint32_t a, std::uint32_t b) {
        a = root(a);
        b = root(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<std::uint32_t> parent_;
};

// 0 for the leaves, 1 for the switches cabled to leaves, and so on up.
std::vector<std::uint32_t> levels_above(std::span<const std::uint32_t> first, std::span<const std::uint32_t> neighbours,
                                        const std::vector<bool>& is_leaf) {
    std::vector<std::uint32_t> level(is_leaf.size(), deepest_level);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t s = 0; s < is_leaf.size(); ++s) {
        if (is_leaf[s]) {
            level[s] = 0;
            queue.push_back(s);
        }
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::uint32_t s = queue[head];
        for (std::uint32_t n = first[s]; n < first[s + 1]; ++n) {
            if (level[neighbours[n]] > level[s] + 1) {
                level[neighbours[n]] = level[s] + 1;
                queue.push_back(neighbours[n]);
            }
        }
    }
    return level;
}

}  // namespace

LeafOrder order_leaves(std::span<const std::uint32_t> first, std::span<const std::uint32_t> neighbours,
                       const std::vector<bool>& meets_machines) {
    const std::size_t count = meets_machines.size();
    const std::vector<std::uint32_t> level = levels_above(first, neighbours, meets_machines);
    std::vector<std::uint32_t> line;
    for (std::uint32_t s = 0; s < count; ++s) {
        if (meets_machines[s]) {
            line.push_back(s);
        }
    }
    // From the lowest level up, groups grow together. A stable sort by the place of each group's first leaf keeps the
    // order inside the groups as the levels below left it.
    Groups groups(count);
    std::vector<std::uint32_t> key(count);
    std::vector<std::uint32_t> place(count);
    for (std::uint32_t upto = 0; upto <= deepest_level; ++upto) {
        for (std::uint32_t s = 0; s < count; ++s) {
            for (std::uint32_t n = first[s]; level[s] <= upto && n < first[s + 1]; ++n) {
                if (std::max(level[s], level[neighbours[n]]) == upto) {
                    groups.join(s, neighbours[n]);
                }
            }
        }
        std::fill(key.begin(), key.end(), std::numeric_limits<std::uint32_t>::max());
        for (const std::uint32_t leaf : line) {
            place[leaf] = groups.root(leaf);
            key[place[leaf]] = std::min(key[place[leaf]], leaf);
        }
        std::stable_sort(line.begin(), line.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return key[place[a]] < key[place[b]]; });
    }
    LeafOrder order;
    order.rank.assign(count, 0);
    for (std::uint32_t i = 0; i < line.size(); ++i) {
        order.rank[line[i]] = i;
    }
    order.component.resize(count);
    for (std::uint32_t s = 0; s < count; ++s) {
        order.component[s] = groups.root(s);
    }
    return order;
}

}  // namespace lockstep::fabric
