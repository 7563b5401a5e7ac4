#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/cli/targets.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/algorithm_choice.h"

namespace lockstep::cli {

/// The schedule that a command is asked about, as far as the command line says.
struct ScheduleQuery {
    /// A path (with a `/`, or ending in .yaml or .xml), an algorithm of the table, or a name in `schedules`.
    std::string name = {};
    /// Absent: of a file, what it does; of an algorithm, all_reduce or the first that it knows.
    std::optional<collective::Operation> operation = {};
    std::optional<std::uint32_t> ranks = {};  ///< absent: as the communicator or the file says
    std::optional<RankId> root = {};          ///< absent: as the file says, else rank 0
    collective::Tuning tuning = {};
    std::shared_ptr<const collective::SizeMatrix> sizes = {};  ///< of all_to_all_v
    Bytes bytes = {std::int64_t{1} << 20};                     ///< of the vector: some algorithms choose pieces by it
    /// Where the ranks are; must outlive the schedule. Null: `ranks` GPUs at one switch that can reduce.
    const collective::Communicator* communicator = nullptr;
};

/// Whether the name stands for a file, own or shipped, rather than for an algorithm of the table.
bool names_schedule_file(const DataFiles& data, std::string_view name);

/// What schedules can be named without a path: algorithms of the table, then shipped files.
std::vector<std::string> schedule_names(const DataFiles& data);

/// The file that such a name stands for. Requires: names_schedule_file(data, name).
/// Throws: InputError where nothing is there, with the nearest shipped name.
std::filesystem::path schedule_path(const DataFiles& data, std::string_view name);

/// The schedules that some of `names` stand for files of, by name, for the ranks and the request at hand.
/// Throws: as schedule_named.
std::map<std::string, collective::Schedule> schedules_from_files(const DataFiles& data,
                                                                 std::span<const std::string> names,
                                                                 const collective::Communicator& communicator,
                                                                 const collective::Request& request);

/// What a reader of its times should know about a schedule from a file, `name`: that it does not deliver what its
/// operation promises, with the first finding, or that proving it would take too long. Nothing where it is proved.
/// Cost: about a second at most.
std::optional<std::string> proof_note(std::string_view name, const collective::Schedule& schedule);

/// Finds what `algorithm` of a workload names: files relative to the workload's folder, shipped schedules. Adds the
/// files it reads to `read`, and what proof_note says of them to `notes`. All must outlive it.
workload::FindSchedule schedules_for_workload(const DataFiles& data, const std::filesystem::path& workload,
                                              std::vector<InputPath>& read, std::vector<std::string>& notes);

/// `gpus` GPUs, each with one link to a switch that can reduce: where algorithms are shown when no topology is named.
fabric::Fabric switch_of(const DataFiles& data, std::uint32_t gpus);

/// Reads the file or makes the schedule of the algorithm. Throws: InputError where there is none of that name (with the
/// nearest), the file is wrong, it is for other ranks, another operation or another root than asked for (saying which
/// side to change), the algorithm cannot serve, or nothing says how many ranks there are.
collective::Schedule schedule_named(const DataFiles& data, const ScheduleQuery& query);

}  // namespace lockstep::cli
