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
Algorithm nvls_tree_algorithm();
Algorithm collnet_algorithm();
Algorithm bidirectional_ring_algorithm();
Algorithm chain_algorithm();
Algorithm torus_algorithm();
Algorithm blueconnect_algorithm();
Algorithm swing_algorithm();
Algorithm recursive_doubling_algorithm();
Algorithm binomial_tree_algorithm();
Algorithm bruck_algorithm();
Algorithm pairwise_algorithm();
Algorithm one_shot_algorithm();
Algorithm scatter_all_gather_algorithm();
Algorithm nccl_point_to_point_algorithm();

}  // namespace lockstep::collective
