#include "sim/report/comparison.h"

#include <algorithm>
#include <cmath>

namespace lockstep::report {

namespace {

constexpr double alike = 1e-9;

using Row = replay::CollectiveRun;

/// The run of `algorithm` among the rows of one size.
const Row* run_of(std::span<const Row> rows, const std::string& algorithm) {
    const auto found = std::ranges::find(rows, algorithm, &Row::algorithm);
    return found == rows.end() ? nullptr : &*found;
}

const Row& fastest(std::span<const Row> rows, const std::string& reigning) {
    const Row* best = run_of(rows, reigning);
    for (const Row& row : rows) {
        if (best == nullptr || row.time.value < best->time.value * (1 - alike)) {
            best = &row;
        }
    }
    return *best;
}

/// Where straight lines through the times of two algorithms at two sizes cross. None where a time is missing.
std::optional<Bytes> crossing(std::span<const Row> smaller, std::span<const Row> larger, const std::string& before,
                              const std::string& after) {
    const Row* const before_small = run_of(smaller, before);
    const Row* const before_large = run_of(larger, before);
    const Row* const after_small = run_of(smaller, after);
    const Row* const after_large = run_of(larger, after);
    if (before_small == nullptr || before_large == nullptr || after_small == nullptr || after_large == nullptr) {
        return std::nullopt;
    }
    const double lead = (after_small->time - before_small->time).value;
    const double lag = (before_large->time - after_large->time).value;
    const auto span = static_cast<double>((larger.front().bytes - smaller.front().bytes).value);
    const double part = lead + lag > 0 ? lead / (lead + lag) : 0.0;
    return Bytes{smaller.front().bytes.value + std::llround(part * span)};
}

}  // namespace

std::vector<Reign> reigns(std::span<const Row> rows) {
    std::vector<Reign> all;
    std::span<const Row> before;
    for (std::size_t begin = 0; begin < rows.size();) {
        std::size_t end = begin;
        while (end < rows.size() && rows[end].bytes == rows[begin].bytes) {
            ++end;
        }
        const std::span<const Row> here = rows.subspan(begin, end - begin);
        begin = end;
        const Row& best = fastest(here, all.empty() ? std::string() : all.back().algorithm);
        if (best.time <= Seconds{0}) {
            continue;
        }
        if (all.empty() || all.back().algorithm != best.algorithm) {
            if (!all.empty()) {
                all.back().until = crossing(before, here, all.back().algorithm, best.algorithm);
            }
            all.push_back({best.algorithm, best.bytes, best.bytes, std::nullopt});
        }
        all.back().last = best.bytes;
        before = here;
    }
    return all;
}

bool compares(std::span<const Row> rows) { return std::ranges::adjacent_find(rows, {}, &Row::bytes) != rows.end(); }

std::optional<Formula> formula(const Row& row, const std::optional<collective::PortModel>& model) {
    using Holds = collective::Cost::Holds;
    if (!row.cost || !model) {
        return std::nullopt;
    }
    return Formula{collective::time_of(*row.cost, *model), model->uniform && model->one_port ? row.cost->holds : Holds::approximately};
}

}  // namespace lockstep::report
