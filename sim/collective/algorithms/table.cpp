#include <algorithm>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/algorithms/entries.h"

namespace lockstep::collective {

std::span<const Algorithm> algorithms() {
    static const std::vector<Algorithm> table{
        ring_algorithm(),                 //
        direct_algorithm(),               //
        tree_algorithm(),                 //
        halving_doubling_algorithm(),     //
        hierarchical_algorithm(),         //
        nvls_algorithm(),                 //
        pat_algorithm(),                  //
        nvls_tree_algorithm(),            //
        collnet_algorithm(),              //
        bidirectional_ring_algorithm(),   //
        chain_algorithm(),                //
        torus_algorithm(),                //
        blueconnect_algorithm(),          //
        swing_algorithm(),                //
        recursive_doubling_algorithm(),   //
        binomial_tree_algorithm(),        //
        bruck_algorithm(),                //
        pairwise_algorithm(),             //
        one_shot_algorithm(),             //
        scatter_all_gather_algorithm(),   //
        nccl_point_to_point_algorithm(),  //
    };
    return table;
}

const Algorithm& algorithm_named(std::string_view name) {
    std::vector<std::string> known;
    for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.name == name) {
            return algorithm;
        }
        known.push_back(algorithm.name);
    }
    throw InputError(fmt::format("unknown algorithm {}{}", excerpt(name), suggestion(name, known)));
}

std::vector<const Algorithm*> candidates(const Communicator& communicator, const Request& request) {
    std::vector<const Algorithm*> able;
    for (const Algorithm& algorithm : algorithms()) {
        const auto& operations = algorithm.operations;
        if (std::find(operations.begin(), operations.end(), request.operation) != operations.end() &&
            !algorithm.obstacle(communicator, request)) {
            able.push_back(&algorithm);
        }
    }
    return able;
}

}  // namespace lockstep::collective
