#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"

namespace lockstep::workload {

enum class TaskId : std::uint32_t {};    ///< a task within its program
enum class StreamId : std::uint32_t {};  ///< a stream of a GPU
enum class CallId : std::uint32_t {};    ///< a collective call of the graph

/// Which parallelism a communication serves; exposed communication is reported by it.
enum class Parallelism : std::uint8_t { data, tensor, pipeline, expert, context };
inline constexpr std::size_t parallelism_count = 5;
/// `dp`, `tp`, `pp`, `ep`, `cp`.
std::string_view name_of(Parallelism kind);

/// A collective that the ranks of a communicator do together once a step.
struct CollectiveCall {
    std::string name = {};  ///< of its family, under which reports add calls of equal size up: `gradients`
    Parallelism kind = Parallelism::data;
    collective::Request request = {};
    std::string algorithm = {};      ///< a name of the table, `auto`, or the name of `schedule`
    std::uint32_t communicator = 0;  ///< index into TaskGraph::communicators
    std::shared_ptr<const collective::Schedule> schedule = nullptr;  ///< from a file, instead of an algorithm's
};

/// What a rank puts on a stream: a kernel of given duration, or its part in a collective. A task starts when its
/// stream's previous task and all tasks of `after` have ended; in every step anew.
struct Task {
    std::string label = {};  ///< of this one: `layer 3 backward`, `gradients bucket 2`
    StreamId stream = {};
    Seconds duration = {};            ///< of a kernel; ignored for a collective
    std::optional<CallId> call = {};  ///< absent: a kernel
    std::vector<TaskId> after = {};   ///< tasks of the same program and step, each with a smaller id
};

/// The tasks of one step, in the order in which they are put on their streams.
using Program = std::vector<Task>;

/// A training job: what each rank does in a step. Ranks that do the same share a program.
struct TaskGraph {
    std::string name;
    std::size_t ranks = 1;
    std::vector<std::string> streams;  ///< names by StreamId; stream 0 is the compute stream, whose gaps are idle time
    std::vector<CollectiveCall> calls;
    std::vector<std::vector<RankId>> communicators;  ///< ranks of the job, in communicator-rank order
    std::vector<Program> programs;
    std::vector<std::uint32_t> program_of_rank;  ///< by RankId
    std::uint32_t steps = 2;                     ///< simulated; the last one is reported

    std::optional<double> samples_per_step;     ///< over all ranks
    std::optional<double> tokens_per_step;      ///< over all ranks
    std::optional<Flops> model_flops_per_step;  ///< over all ranks, without recomputation
    std::optional<FlopRate> peak_per_gpu;       ///< in the workload's precision
};

/// For messages: `rank 3`, `ranks 0..3, 6`; past eight pieces it says how many more there are.
std::string ranks_text(std::span<const RankId> ranks);

}  // namespace lockstep::workload
