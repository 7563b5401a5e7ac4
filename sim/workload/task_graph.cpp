#include "sim/workload/task_graph.h"

#include <stdexcept>

namespace lockstep::workload {

std::string_view name_of(Parallelism kind) {
    switch (kind) {
        case Parallelism::data:
            return "dp";
        case Parallelism::tensor:
            return "tp";
        case Parallelism::pipeline:
            return "pp";
        case Parallelism::expert:
            return "ep";
        case Parallelism::context:
            return "cp";
    }
    throw std::invalid_argument("name_of: no such parallelism");
}

}  // namespace lockstep::workload
