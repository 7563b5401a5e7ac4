#pragma once

#include <span>

#include "sim/base/data_files.h"
#include "sim/base/ids.h"
#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/algorithm_choice.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload {

/// Builds the task graph that a workload file describes (docs/workload-yaml.md), with the file's parameters as they are
/// now, for the GPUs of `fabric` (how many there are, and their peak where compute is given as FLOPs). placement: rank
/// -> GPU, at least as many as the workload's ranks; the default placement if empty. It matters only where GPUs differ:
/// ranks on GPUs of equal speed share a program. find_schedule: for `algorithm` where it names a file. Throws:
/// InputError with position; where the workload needs more GPUs than the topology has, it names both numbers and which
/// side to change.
TaskGraph load_workload(const YamlFile& file, const DataFiles& data, const fabric::Fabric& fabric,
                        std::span<const VertexId> placement = {}, const FindSchedule& find_schedule = {});

}  // namespace lockstep::workload
