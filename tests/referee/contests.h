#pragma once

#include <cstddef>
#include <vector>

#include "tests/referee/smpi.h"

namespace lockstep::referee {

/// All-reduces that both do alike. Any number of ranks, but for those that halve or double.
std::vector<Contest> all_reduces(std::size_t ranks);
/// Other collectives that both do alike. `bytes`: of the vector. Requires: a power of two of ranks.
std::vector<Contest> others(std::size_t ranks, Bytes bytes);

/// What the headers of messages add to the time of SMPI at this rate.
Seconds time_of_envelopes(const Contest& contest, Bandwidth rate);

}  // namespace lockstep::referee
