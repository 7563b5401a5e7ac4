#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/collective/algorithm.h"
#include "sim/fabric/fabric.h"
#include "sim/replay/replay.h"
#include "sim/replay/result.h"
#include "sim/replay/units.h"
#include "sim/workload/task_graph.h"

namespace lockstep::replay {

/// Messages go at the links' own rates, without a library's flags and fences: what NCCL calls Simple.
inline constexpr std::string_view protocol_name = "simple";

/// The algorithm of that name, or for `auto` the candidate with the least simulated time.
/// Throws: as run_collective.
const collective::Algorithm& chosen_algorithm(const collective::Communicator& communicator,
                                              const collective::Request& request, std::string_view name,
                                              const Settings& settings);

/// What `auto` chose for the communicators of a job, so that alike ones need no simulation each.
class ChoiceMemory {
  public:
    /// All must outlive it.
    ChoiceMemory(const Units& units, const workload::TaskGraph& graph, const Settings& settings);

    /// As chosen_algorithm. Communicators count as alike whose ranks are on alike GPUs of alike nodes, arranged alike
    /// over nodes, with alike routes, shared alike, from each rank to the next in another node. So the choice is
    /// the same for a job that is folded. at: the communicator's number in the graph.
    const collective::Algorithm& chosen(const collective::Communicator& communicator, std::uint32_t at,
                                        const collective::Request& request, std::string_view name);

  private:
    const Digest& description(const collective::Communicator& communicator, std::uint32_t at);

    const Units* units_;
    const Settings* settings_;
    std::map<std::size_t, std::size_t> communicators_of_size_;
    std::vector<std::optional<Digest>> descriptions_;  ///< by communicator
    std::map<std::tuple<Digest, collective::Operation, std::int64_t, std::size_t>, const collective::Algorithm*> known_;
};

/// The links that carried something, with their utilisation over `time`. bytes: by LinkId.
std::vector<LinkUse> link_uses(const fabric::Fabric& fabric, const std::vector<double>& bytes, Seconds time);

}  // namespace lockstep::replay
