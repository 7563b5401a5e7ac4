#pragma once

#include "sim/base/parameters.h"
#include "sim/base/yaml.h"
#include "sim/workload/algorithm_choice.h"
#include "sim/workload/gpu_speed.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload {

/// Reads a job whose tasks are spelled out, program by program: `streams`, `groups` and `programs` of a workload file
/// (docs/workload-yaml.md), into a graph whose `ranks` are known.
/// Throws: InputError with position for anything that cannot be; SimulationError where ranks of one group make
/// different calls at the same place of their order, naming both (match_calls).
void read_tasks(YamlMap& root, const Parameters& parameters, const Places& places, const FindSchedule& find_schedule,
                TaskGraph& graph);

}  // namespace lockstep::workload
