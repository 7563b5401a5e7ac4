#include "sim/engine/fluid/max_min.h"

#include <algorithm>
#include <cassert>

namespace lockstep::engine {

namespace {

// Two links whose levels differ by less than this would be level but for rounding: the second takes the level of the
// first, so that symmetrical flows keep the same rate, to the last bit, and end at the same instant.
constexpr double rounding = 1e-12;

constexpr double undecided = -1.0;

// What is left of a link over the weight that waits for it. Both have been reduced by subtraction: where rounding ate
// the whole of one, the waiting flows are left at the level reached so far.
double level_of(double left, double weight, double filled) { return left > 0 && weight > 0 ? left / weight : filled; }

}  // namespace

void MaxMin::clear() {
    links_.clear();
    first_crossing_.clear();
    crossings_.clear();
}

std::uint32_t MaxMin::add_link(double capacity) {
    links_.push_back({capacity, 0.0, 0.0, 0, 0, 0});
    return link_count() - 1;
}

std::uint32_t MaxMin::add_flow() {
    first_crossing_.push_back(static_cast<std::uint32_t>(crossings_.size()));
    return flow_count() - 1;
}

void MaxMin::add_crossing(std::uint32_t link, double share) {
    assert(link < links_.size() && share > 0 && !first_crossing_.empty());
    crossings_.push_back({link, share});
    ++links_[link].crossings;
}

std::span<const MaxMin::Crossing> MaxMin::crossings_of(std::uint32_t flow) const {
    const std::size_t first = first_crossing_[flow];
    const std::size_t end = flow + 1 < first_crossing_.size() ? first_crossing_[flow + 1] : crossings_.size();
    return std::span(crossings_).subspan(first, end - first);
}

void MaxMin::list_flows_by_link() {
    std::uint32_t position = 0;
    for (Link& link : links_) {
        position += link.crossings;
        link.first = position;  // the end of its range: filled backwards below
        link.left = std::max(link.capacity, 0.0);
        link.weight = 0.0;
        link.waiting = link.crossings;
    }
    flows_by_link_.resize(crossings_.size());
    for (std::uint32_t flow = flow_count(); flow-- > 0;) {
        for (const Crossing& crossing : crossings_of(flow)) {
            Link& link = links_[crossing.link];
            link.weight += crossing.share;
            flows_by_link_[--link.first] = flow;
        }
    }
}

void MaxMin::freeze(std::uint32_t flow, std::uint32_t link, double rate) {
    rate_[flow] = rate;
    bottleneck_[flow] = link;
    for (const Crossing& crossing : crossings_of(flow)) {
        Link& crossed = links_[crossing.link];
        crossed.left -= crossing.share * rate;
        crossed.weight -= crossing.share;
        --crossed.waiting;
    }
}

void MaxMin::solve() {
    list_flows_by_link();
    rate_.assign(flow_count(), undecided);
    bottleneck_.assign(flow_count(), no_link);

    const auto higher = [](const Level& a, const Level& b) {
        return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
    };
    levels_.clear();
    for (std::uint32_t link = 0; link < links_.size(); ++link) {
        if (links_[link].waiting > 0) {
            levels_.push_back({level_of(links_[link].left, links_[link].weight, 0.0), link});
        }
    }
    std::make_heap(levels_.begin(), levels_.end(), higher);

    double filled = 0.0;  // the level up to which all flows have been raised
    std::uint32_t undecided_flows = flow_count();
    while (!levels_.empty() && undecided_flows > 0) {
        std::pop_heap(levels_.begin(), levels_.end(), higher);
        const std::uint32_t number = levels_.back().link;
        levels_.pop_back();
        const Link& link = links_[number];
        if (link.waiting == 0) {
            continue;
        }
        // A link's level only rises as its slower flows get their rates, so an old entry is never too high.
        double level = level_of(link.left, link.weight, filled);
        if (!levels_.empty() && level > levels_.front().rate * (1 + rounding)) {
            levels_.push_back({level, number});
            std::push_heap(levels_.begin(), levels_.end(), higher);
            continue;
        }
        if (level <= filled * (1 + rounding)) {
            level = filled;
        }
        const std::uint32_t end = link.first + link.crossings;
        for (std::uint32_t position = link.first; position < end; ++position) {
            const std::uint32_t flow = flows_by_link_[position];
            if (rate_[flow] == undecided) {
                freeze(flow, number, level);
                --undecided_flows;
            }
        }
        filled = level;
    }
    for (double& rate : rate_) {
        if (rate == undecided) {
            rate = std::numeric_limits<double>::infinity();
        }
    }
}

}  // namespace lockstep::engine
