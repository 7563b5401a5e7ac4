#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What may be asked of algorithms that leave a choice; one that does not goes by its own lights.
struct Tuning {
    std::optional<std::uint32_t> pieces = {};    ///< into which pipelined data is cut, per channel; at least 1
    std::optional<std::uint32_t> channels = {};  ///< rings, trees or chains side by side, at most; at least 1
    /// Of algorithms that work dimension by dimension: their extents, the one along which ranks count fastest first.
    /// Empty: those of the fabric.
    std::vector<std::uint32_t> dimensions = {};
};

/// One collective to be done.
struct Request {
    Operation operation = Operation::all_reduce;
    /// nccl-tests' size: for reduce_scatter, all_gather, all_to_all, gather and scatter the total over ranks; of
    /// all_to_all_v what the rank with most to send sends; of barrier 0.
    Bytes bytes = {};
    RankId root{};                                      ///< where has_root(operation)
    std::shared_ptr<const SizeMatrix> sizes = nullptr;  ///< of all_to_all_v, and only of it
    RandomTraffic traffic = {};                         ///< of permutation
    Tuning tuning = {};
};

/// What an algorithm takes by the book, in the α–β model (Hockney 1994): a message of m bytes takes α + m/B, a rank
/// sends and receives at B at the same time. The time is alphas α + bytes / B.
struct Cost {
    enum class Holds : std::uint8_t {
        exactly,  ///< on a fabric where every pair of ranks that talk has latency α and rate B, without contention
        approximately  ///< leaves out how pieces of several pipelines get in each other's way, say
    };
    double alphas = 0;
    double bytes = 0;
    Holds holds = Holds::exactly;
    std::string formula = {};  ///< in n, S, α, B and letters explained in it: `2(n-1)α + 2(n-1)/n S/B`
    std::string source = {};   ///< author and year, or what it was derived from
};

/// An entry of the table of algorithms. One file per algorithm makes one of these.
struct Algorithm {
    std::string name;     ///< as users type it: `halving-doubling`
    std::string summary;  ///< one line
    std::vector<Operation> operations;
    /// Why it cannot serve this communicator ("nvls needs a switch that can reduce and that all ranks are cabled to"),
    /// if it cannot.
    std::optional<std::string> (*obstacle)(const Communicator& communicator, const Request& request);
    /// Requires: the operation is listed and there is no obstacle.
    Schedule (*make)(const Communicator& communicator, const Request& request);
    /// Point-to-point messages the schedule sends, roughly: what simulating it costs.
    double (*messages)(const Communicator& communicator, const Request& request);
    /// Requires: as make.
    Cost (*cost)(const Communicator& communicator, const Request& request);
};

/// All algorithms, in the order in which `auto` breaks ties.
std::span<const Algorithm> algorithms();
/// Throws: InputError with the nearest known name. `auto` is not an algorithm.
const Algorithm& algorithm_named(std::string_view name);
/// Those that do `request` on `communicator`.
std::vector<const Algorithm*> candidates(const Communicator& communicator, const Request& request);

/// A time that no schedule can beat on this fabric: each GPU's scale-up and scale-out links against what it must send
/// or receive (with in-switch reduction where the fabric has it, the vector once), each node's links to the outside
/// against what must cross them, plus the smallest link-by-link latency of any first message. Derivation:
/// docs/collectives/lower-bound.md.
Seconds lower_bound(const Communicator& communicator, const Request& request);

}  // namespace lockstep::collective
