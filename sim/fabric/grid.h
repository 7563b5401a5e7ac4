#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/yaml.h"

namespace lockstep::fabric {

/// The neighbourhoods of a torus or mesh of any number of dimensions. The last dimension varies fastest.
struct Grid {
    struct Step {
        std::uint32_t from;
        std::uint32_t to;
        std::uint32_t cables;  ///< 2 where a ring of two is doubled
    };

    std::vector<std::uint32_t> size;  ///< of each dimension
    std::vector<bool> wraps;          ///< whether the dimension is a ring
    bool doubled = false;             ///< a ring of two has two links between the same points, as it is wired; else one

    /// Every pair of neighbours once: point by point, dimension by dimension.
    std::vector<Step> steps() const;
};

/// Reads `dimensions`, `wraparound` and `doubled`. Throws: InputError if the points are not as many as `points`, which
/// `what` names.
Grid read_grid(YamlMap& map, std::size_t points, std::string_view what);

}  // namespace lockstep::fabric
