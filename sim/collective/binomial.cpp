#include "sim/collective/binomial.h"

#include <algorithm>
#include <bit>

namespace lockstep::collective {

std::uint32_t ceil_log2(std::uint32_t ranks) { return static_cast<std::uint32_t>(std::bit_width(ranks - 1)); }

BinomialPlace binomial_place(std::uint32_t place, std::uint32_t size) {
    BinomialPlace result;
    const std::uint32_t lowest = place & (~place + 1);
    const std::uint32_t reach = place == 0 ? size : std::min(lowest, size - place);
    if (place != 0) {
        result.parent = place - lowest;
    }
    result.size = reach;
    for (std::uint32_t distance = 1; distance < reach; distance *= 2) {
        result.children.push_back({place + distance, std::min(distance, size - place - distance)});
    }
    return result;
}

}  // namespace lockstep::collective
