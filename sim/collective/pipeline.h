#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/units.h"

namespace lockstep::collective {

/// Into how many pieces to cut data that passes through `depth` hops one after the other. Filling such a pipeline takes
/// depth / pieces of the time that the data itself takes; 16 pieces a hop keep that to a sixteenth. More than 256 cost
/// more to simulate than they gain, and pieces under 16 KiB (a third of a microsecond at 400 Gb/s) gain nothing,
/// because then the hops' latency, a microsecond or so, is what fills the pipeline. Messages cost nothing of their own
/// here, so the classical optimum (a piece whose time equals the cost of a message) does not apply.
inline std::uint32_t pipeline_pieces(Bytes data, std::size_t depth) {
    constexpr std::int64_t pieces_per_hop = 16;
    constexpr std::int64_t most = 256;
    constexpr std::int64_t smallest = 16 << 10;
    const auto wanted = std::min(pieces_per_hop * static_cast<std::int64_t>(std::min<std::size_t>(depth, most)), most);
    return static_cast<std::uint32_t>(
        std::clamp(data.value / smallest, std::int64_t{1}, std::max(wanted, std::int64_t{1})));
}

}  // namespace lockstep::collective
