#include "sim/cli/explain_topology.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace lockstep::cli {

namespace {

constexpr std::uint32_t usual_ranks = 4;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

ShowPlace one_switch(std::uint32_t ranks) { return {"single-switch", {fmt::format("gpus={}", ranks)}, ranks}; }

ShowPlace reducing_switch(std::uint32_t ranks) {
    return {"single-switch", {fmt::format("gpus={}", ranks), "reduces=true"}, ranks};
}

/// Machines of up to eight GPUs, two at least, the ranks spread evenly over them where that is possible.
std::optional<ShowPlace> machines(std::uint32_t ranks) {
    constexpr std::uint32_t most_on_node = 8;
    for (std::uint32_t nodes = std::max(2U, (ranks + most_on_node - 1) / most_on_node); nodes <= ranks / 2; ++nodes) {
        if (ranks % nodes == 0) {
            return ShowPlace{"dgx-h100", {fmt::format("nodes={}", nodes)}, ranks, ranks / nodes};
        }
    }
    return std::nullopt;
}

/// As near to a square, and from 27 on to a cube, as the number can be cut.
ShowPlace torus(std::uint32_t ranks) {
    std::array<std::uint32_t, 3> best{ranks, 1, 1};
    const auto longest = [](const auto& size) { return *std::ranges::max_element(size); };
    for (std::uint32_t x = 1; x <= ranks; ++x) {
        for (std::uint32_t y = 1; ranks % x == 0 && y <= ranks / x; ++y) {
            const std::array<std::uint32_t, 3> size{x, y, ranks % (x * y) == 0 ? ranks / x / y : 0};
            constexpr std::uint32_t least_cube = 27;
            if (size[2] != 0 && (size[2] == 1 || ranks >= least_cube) && longest(size) < longest(best)) {
                best = size;
            }
        }
    }
    return {
        "torus-3d", {fmt::format("x={}", best[0]), fmt::format("y={}", best[1]), fmt::format("z={}", best[2])}, ranks};
}

}  // namespace

std::vector<ShowPlace> show_places(const collective::Algorithm& algorithm, std::optional<std::uint32_t> ranks) {
    constexpr std::uint32_t ranks_on_machines = 8;
    constexpr std::uint32_t ranks_on_torus = 9;
    std::vector<ShowPlace> places;
    if (is_one_of(algorithm.name, {"hierarchical", "blueconnect", "nvls-tree"})) {
        if (const auto place = machines(ranks.value_or(ranks_on_machines))) {
            places.push_back(*place);
        }
    } else if (is_one_of(algorithm.name, {"torus"})) {
        places.push_back(torus(ranks.value_or(ranks_on_torus)));
    }
    places.push_back(one_switch(ranks.value_or(usual_ranks)));
    places.push_back(reducing_switch(ranks.value_or(usual_ranks)));
    if (const auto place = machines(ranks.value_or(ranks_on_machines))) {
        places.push_back(*place);
    }
    return places;
}

}  // namespace lockstep::cli
