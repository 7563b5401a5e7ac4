#include "sim/workload/algorithm_choice.h"

#include <algorithm>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/collective/algorithm.h"

namespace lockstep::workload {

void choose_algorithm(CollectiveCall& call, const YamlValue& at, std::size_t ranks, const FindSchedule& find_schedule) {
    std::vector<std::string> known{"auto"};
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        if (std::ranges::find(algorithm.operations, call.request.operation) != algorithm.operations.end()) {
            known.push_back(algorithm.name);
        }
    }
    const std::string name = at.text();
    if (find_schedule && std::ranges::find(known, name) == known.end()) {
        try {
            call.schedule = find_schedule(name, {.operation = call.request.operation,
                                                 .ranks = static_cast<std::uint32_t>(ranks),
                                                 .root = call.request.root,
                                                 .sizes = call.request.sizes});
        } catch (const InputError& problem) {
            at.fail(problem.what());
        }
    }
    call.algorithm = call.schedule ? name : at.one_of(known);
}

}  // namespace lockstep::workload
