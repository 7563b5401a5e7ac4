#pragma once

#include <cstddef>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/replay/result.h"
#include "sim/report/setup.h"
#include "sim/workload/task_graph.h"

namespace lockstep::report::hand_made {

/// One switch and `gpus` GPUs, gpu0 first, on links of 50 GB/s.
fabric::Fabric star(std::size_t gpus);

/// The link from the GPU to the switch of star().
LinkId up(const fabric::Fabric& fabric, std::size_t gpu);

/// Two ranks with a kernel and two buckets a step, as toy-ddp makes them.
workload::TaskGraph toy_graph();

/// A step of 20 ms of toy_graph() in which rank 0 computes 12 ms and rank 1 14 ms.
replay::StepRun toy_step(const fabric::Fabric& fabric);

/// Ring and direct all-reduce of 100 MB over the GPUs of star(4), with times worked out by hand.
std::vector<replay::CollectiveRun> toy_rows(const fabric::Fabric& fabric);

Setup setup();

}  // namespace lockstep::report::hand_made
