#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lockstep::engine {

/// Shares link capacity among flows so that the smallest rate is as large as possible, then the next smallest, and so
/// on (max-min fairness), where a flow of rate r uses share * r of each link it crosses. Fill it in, solve(), read the
/// rates; clear() keeps the memory for the next problem.
/// Rates that are equal in exact arithmetic come out as the same double.
/// Source: Bertsekas and Gallager, "Data Networks", 2nd ed., section 6.5.2 (progressive filling).
class MaxMin {
  public:
    static constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

    struct Crossing {
        std::uint32_t link;
        double share;
    };

    void clear();
    /// capacity: in any unit of rate; a link with none (0 or less) holds its flows at rate 0.
    /// Returns: its number, from 0.
    std::uint32_t add_link(double capacity);
    /// Its crossings follow. A flow without any has no bound: its rate is infinite.
    /// Returns: its number, from 0.
    std::uint32_t add_flow();
    /// Of the flow added last. share: > 0.
    void add_crossing(std::uint32_t link, double share);

    /// Cost: O(crossings * log links).
    void solve();

    std::uint32_t flow_count() const { return static_cast<std::uint32_t>(first_crossing_.size()); }
    std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
    std::span<const Crossing> crossings_of(std::uint32_t flow) const;
    double rate(std::uint32_t flow) const { return rate_[flow]; }
    /// The link that is full and where no flow is faster than this one; no_link for a flow without crossings.
    std::uint32_t bottleneck(std::uint32_t flow) const { return bottleneck_[flow]; }

  private:
    struct Link {
        double capacity;
        double left;              // not yet given away
        double weight;            // sum of the shares of the flows without a rate
        std::uint32_t waiting;    // how many those are
        std::uint32_t crossings;  // how many there are
        std::uint32_t first;      // of its range in flows_by_link_
    };
    struct Level {
        double rate;  // what each waiting flow would get if this link filled next
        std::uint32_t link;
    };

    void list_flows_by_link();
    void freeze(std::uint32_t flow, std::uint32_t link, double rate);

    std::vector<Link> links_;
    std::vector<std::uint32_t> first_crossing_;  // by flow
    std::vector<Crossing> crossings_;
    std::vector<std::uint32_t> flows_by_link_;
    std::vector<Level> levels_;  // binary heap, smallest rate first
    std::vector<double> rate_;
    std::vector<std::uint32_t> bottleneck_;
};

}  // namespace lockstep::engine
