#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/engine/wires.h"

namespace lockstep::engine {

/// Max-min fair rates the slow way, to compare with: raise all rates together, stop those on the link that fills first,
/// go on. Knows nothing of the code under test. Requires: every path has a link.
inline std::vector<double> rates_by_filling(const std::vector<double>& capacities,
                                            const std::vector<Transfer>& transfers) {
    std::vector<double> rates(transfers.size(), 0.0);
    std::vector<bool> stopped(transfers.size(), false);
    double level = 0.0;
    for (std::size_t left = transfers.size(); left > 0;) {
        std::vector<double> used(capacities.size(), 0.0);
        std::vector<double> rising(capacities.size(), 0.0);
        for (std::size_t flow = 0; flow < transfers.size(); ++flow) {
            for (const auto& [wire, share] : transfers[flow].path) {
                (stopped[flow] ? used : rising)[wire] += stopped[flow] ? share * rates[flow] : share;
            }
        }
        double next = std::numeric_limits<double>::infinity();
        for (std::size_t wire = 0; wire < capacities.size(); ++wire) {
            if (rising[wire] > 0) {
                next = std::min(next, (capacities[wire] - used[wire]) / rising[wire]);
            }
        }
        level = std::max(level, next);
        for (std::size_t flow = 0; flow < transfers.size(); ++flow) {
            const bool is_full =
                std::any_of(transfers[flow].path.begin(), transfers[flow].path.end(),
                            [&](const std::pair<std::size_t, double>& part) {
                                const std::size_t wire = part.first;
                                return capacities[wire] - used[wire] - rising[wire] * level <= 1e-9 * capacities[wire];
                            });
            if (!stopped[flow] && is_full) {
                stopped[flow] = true;
                rates[flow] = level;
                --left;
            }
        }
    }
    return rates;
}

struct Filled {
    std::vector<double> ends;
    std::vector<double> delivered;  ///< bytes of each transfer, integrated
    double busiest = 0.0;           ///< the largest load of a link there ever was, as part of its capacity
};

/// Simulates transfers by the rates above, from change to change. Requires: every path has a link, all bytes above 0.
inline Filled simulate_by_filling(const std::vector<double>& capacities, const std::vector<Transfer>& transfers) {
    Filled result{std::vector<double>(transfers.size(), -1.0), std::vector<double>(transfers.size(), 0.0), 0.0};
    double now = 0.0;
    while (true) {
        std::vector<Transfer> active;
        std::vector<std::size_t> numbers;
        double next = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            if (result.ends[i] >= 0) {
                continue;
            }
            if (transfers[i].start <= now) {
                active.push_back(transfers[i]);
                numbers.push_back(i);
            } else {
                next = std::min(next, transfers[i].start);
            }
        }
        const std::vector<double> rates = rates_by_filling(capacities, active);
        std::vector<double> used(capacities.size(), 0.0);
        for (std::size_t flow = 0; flow < active.size(); ++flow) {
            const double left = active[flow].bytes - result.delivered[numbers[flow]];
            next = std::min(next, now + left / rates[flow]);
            for (const auto& [wire, share] : active[flow].path) {
                used[wire] += share * rates[flow];
                result.busiest = std::max(result.busiest, used[wire] / capacities[wire]);
            }
        }
        if (next == std::numeric_limits<double>::infinity()) {
            return result;
        }
        for (std::size_t flow = 0; flow < active.size(); ++flow) {
            const std::size_t i = numbers[flow];
            result.delivered[i] += rates[flow] * (next - now);
            if (active[flow].bytes - result.delivered[i] <= 1e-10 * active[flow].bytes) {
                result.ends[i] = next;
            }
        }
        now = next;
    }
}

/// A random set of transfers over `wires` links; shares are ratios of small whole numbers, so that SimGrid can follow.
inline std::vector<Transfer> random_transfers(Dice& dice, std::size_t wires, std::size_t count) {
    std::vector<Transfer> transfers(count);
    for (Transfer& transfer : transfers) {
        const double parts = static_cast<double>(1 + dice.below(6));
        const std::size_t length = 1 + dice.below(std::min<std::size_t>(wires, 5));
        std::vector<std::size_t> free(wires);
        for (std::size_t wire = 0; wire < wires; ++wire) {
            free[wire] = wire;
        }
        for (std::size_t hop = 0; hop < length; ++hop) {
            const std::size_t pick = dice.below(free.size());
            transfer.path.emplace_back(free[pick], dice.below(2) == 0 ? 1.0 : 1.0 / parts);
            free.erase(free.begin() + static_cast<std::ptrdiff_t>(pick));
        }
        transfer.bytes = dice.below(4) == 0 ? 1e6 : dice.between(1e3, 1e7);
        transfer.start = dice.below(3) == 0 ? 0.0 : 1e-3 * static_cast<double>(dice.below(10));
    }
    return transfers;
}

inline std::vector<double> random_capacities(Dice& dice, std::size_t wires) {
    std::vector<double> capacities(wires);
    for (double& capacity : capacities) {
        capacity = dice.below(2) == 0 ? 1e9 * static_cast<double>(1 + dice.below(4)) : dice.between(1e8, 1e10);
    }
    return capacities;
}

}  // namespace lockstep::engine
