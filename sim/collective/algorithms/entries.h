#pragma once

#include "sim/collective/algorithm.h"

namespace lockstep::collective {

// One per algorithm, each defined in the file of its name; table.cpp lists them.
Algorithm ring_algorithm();
Algorithm direct_algorithm();
Algorithm tree_algorithm();
Algorithm halving_doubling_algorithm();
Algorithm hierarchical_algorithm();
Algorithm nvls_algorithm();
Algorithm pat_algorithm();
Algorithm bidirectional_ring_algorithm();
Algorithm chain_algorithm();

}  // namespace lockstep::collective
