#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/schedule.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// What crossed one direction of a link in the time looked at.
struct LinkUse {
    LinkId link{};
    double bytes = 0.0;
    double utilization = 0.0;  ///< bytes / (bandwidth * time looked at), 0..1
};

/// What running the simulation took.
struct SimulatorUse {
    std::uint64_t messages = 0;            ///< those that the result stands for
    std::uint64_t simulated_messages = 0;  ///< fewer than `messages` where symmetric ones were folded into one
    std::uint64_t events = 0;
};

/// How far a run was folded: of nodes (or GPUs without one) that are alike, one of each class was simulated, and of
/// what was left one of each class of threads.
struct FoldUse {
    std::size_t nodes = 0;              ///< 0: folding was not tried
    std::size_t classes = 0;            ///< as many as nodes where nothing is alike
    std::string broken_by{};            ///< what sets most of the nodes apart, where folding did not pay
    std::size_t threads = 0;            ///< of the nodes simulated; 0: alike ones were not looked for
    std::size_t thread_classes = 0;     ///< as many as threads where none were folded
    std::string threads_broken_by{};    ///< what sets most of the threads apart, where folding them did not pay
    std::uint32_t steps = 0;            ///< of a training job
    std::uint32_t steps_simulated = 0;  ///< as many as there are where they did not repeat themselves
};

/// One collective run on its own.
struct CollectiveRun {
    Bytes bytes{};
    std::string algorithm{};
    std::string protocol{};
    std::uint32_t channels = 1;
    Seconds time{};  ///< from the start of all ranks to the end of the last
    Seconds lower_bound{};
    std::vector<LinkUse> links{};  ///< every link that carried something, by LinkId
    SimulatorUse simulator{};
    FoldUse fold{};
    std::optional<collective::Cost> cost{};  ///< of the algorithm by the book; none for a schedule from elsewhere
};

/// How one GPU spent the reported step. The parts sum to the step time.
struct RankTime {
    Seconds compute{};
    std::array<Seconds, workload::parallelism_count> exposed{};  ///< waiting for communication, by Parallelism
    Seconds pipeline_bubble{};
    Seconds straggler_wait{};  ///< waiting for a rank of the same collective that had not arrived
    Seconds overhead{};        ///< launches and other time of the machine's own
};

/// The collectives of one name in the reported step.
struct CollectiveUse {
    std::string name{};
    workload::Parallelism kind = workload::Parallelism::data;
    collective::Operation operation = collective::Operation::all_reduce;
    std::string algorithm{};
    std::string protocol{};
    std::size_t group_size = 1;
    Bytes bytes{};
    std::uint32_t count = 1;  ///< calls in a step (over all groups of that name)
    Seconds time{};           ///< mean over ranks and calls, from a rank's start to its end
    Seconds exposed{};        ///< mean over ranks, of a step: compute streams waiting for these calls
};

/// A piece of a stream's history, for timelines. Times count from the earliest start of a task of the reported step.
struct Span {
    RankId rank{};
    workload::StreamId stream{};
    std::string label{};
    bool is_collective = false;
    Seconds start{};
    Seconds end{};
};

/// A training step in steady state.
struct StepRun {
    Seconds step_time{};
    std::vector<RankTime> ranks{};             ///< by RankId
    std::vector<CollectiveUse> collectives{};  ///< in order of first call
    std::vector<LinkUse> links{};              ///< every link that carried something in the reported step, by LinkId
    std::vector<Span> spans{};                 ///< of the reported step, by rank, stream, start; if asked for
    SimulatorUse simulator{};
    FoldUse fold{};
};

}  // namespace lockstep::replay
