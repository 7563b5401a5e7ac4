#include "sim/fabric/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/fabric/assembly.h"

namespace lockstep::fabric {

std::vector<Grid::Step> Grid::steps() const {
    std::vector<std::uint32_t> stride(size.size(), 1);
    std::uint32_t points = 1;
    for (std::size_t d = size.size(); d-- > 0;) {
        stride[d] = points;
        points *= size[d];
    }
    std::vector<Step> steps;
    for (std::uint32_t p = 0; p < points; ++p) {
        for (std::size_t d = 0; d < size.size(); ++d) {
            const std::uint32_t at = p / stride[d] % size[d];
            if (at + 1 < size[d]) {
                steps.push_back({p, p + stride[d], wraps[d] && doubled && size[d] == 2 ? 2U : 1U});
            } else if (wraps[d] && size[d] > 2) {
                steps.push_back({p, p - at * stride[d], 1});
            }
        }
    }
    return steps;
}

Grid read_grid(YamlMap& map, std::size_t points, std::string_view what) {
    const YamlValue dimensions = map.require("dimensions");
    const YamlValue wraparound = map.require("wraparound");
    Grid grid;
    std::uint64_t product = 1;
    for (const YamlValue& item : dimensions.list()) {
        grid.size.push_back(read_count(item, 1, Limits::gpus));
        product *= grid.size.back();
        if (product > Limits::gpus) {
            dimensions.fail(fmt::format("more than {} points", Limits::gpus));
        }
    }
    if (grid.size.empty()) {
        dimensions.fail("expected at least one size");
    }
    if (product != points) {
        dimensions.fail(
            fmt::format("{} is {} points, but there are {} {}", fmt::join(grid.size, " x "), product, points, what));
    }
    if (wraparound.is_list()) {
        const std::vector<YamlValue> items = wraparound.list();
        if (items.size() != grid.size.size()) {
            wraparound.fail(
                fmt::format("expected {} entries, one per dimension, got {}", grid.size.size(), items.size()));
        }
        for (const YamlValue& item : items) {
            grid.wraps.push_back(item.flag());
        }
    } else {
        grid.wraps.assign(grid.size.size(), wraparound.flag());
    }
    if (const auto doubled = map.find("doubled")) {
        grid.doubled = doubled->flag();
    }
    return grid;
}

}  // namespace lockstep::fabric
