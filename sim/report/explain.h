#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/port_model.h"
#include "sim/collective/prover.h"
#include "sim/fabric/route.h"
#include "sim/replay/result.h"
#include "sim/report/route_paths.h"
#include "sim/report/setup.h"

namespace lockstep::report {

/// A content among Explanation::contents, by place. 0: nothing that is known.
using ContentAt = std::uint32_t;

/// One message, or one operation of a switch, in a step.
struct Move {
    collective::Verb verb = collective::Verb::receive;  ///< how it is taken
    std::vector<RankId> from = {};                      ///< the sender; of sums every member of the group
    std::vector<RankId> to = {};  ///< the receiver; of multicasts and sums sent to all, all of them
    std::uint32_t channel = 0;
    collective::Buffer buffer = collective::Buffer::data;  ///< where it goes
    std::vector<std::uint32_t> chunks = {};                ///< numbers there
    std::vector<ContentAt> contents = {};                  ///< what comes, chunk by chunk
    Bytes bytes{};
    std::optional<std::size_t> route = {};  ///< among Explanation::routes; none for what a rank copies for itself
};

/// What stands in one chunk of a rank's buffer.
struct Held {
    ContentAt content = 0;
    bool complete = false;  ///< it is what the operation promises there, and it promises something

    bool operator==(const Held&) const = default;
};

/// A chunk that a rank holds in another form after a step.
struct Change {
    RankId rank{};
    collective::Buffer buffer = collective::Buffer::data;
    std::uint32_t chunk = 0;
    Held held = {};
};

/// What crosses a link in a step.
struct LinkLoad {
    LinkId link{};
    double bytes = 0;
};

/// How much of the formula's terms has been spent after a step.
struct Spent {
    double alphas = 0;
    double bytes = 0;  ///< what the busiest port of a rank carries in each step, one direction, added up
};

struct Step {
    std::uint32_t number = 1;  ///< messages one after the other up to here; 0: what ranks do before the first
    std::vector<Move> moves = {};
    std::vector<Change> changes = {};  ///< each place once, as it is after the step
    std::vector<LinkLoad> links = {};  ///< by LinkId
    Spent spent = {};                  ///< up to and with this step
    std::uint64_t complete = 0;        ///< results that are as they are due, of all ranks
    std::string sentence = {};         ///< what happens, in words
};

/// The chunks of one buffer, of all ranks.
struct Holdings {
    collective::Buffer buffer = collective::Buffer::data;
    std::uint32_t chunks = 0;       ///< of each rank
    std::vector<Held> start = {};   ///< by rank, then chunk
    std::vector<bool> is_due = {};  ///< likewise: whether the operation promises something there
};

/// What is to be explained. What it refers to must outlive the explanation.
struct Lesson {
    const collective::Communicator& communicator;
    const collective::Schedule& schedule;
    const collective::Request& request;
    fabric::Router& router;
    std::string summary = {};                   ///< of the algorithm, one line
    std::optional<collective::Cost> cost = {};  ///< by the book; none for a schedule from a file
};

/// An algorithm told step by step: a step is what no message of which waits for another of the same step. What it
/// refers to must outlive it.
struct Explanation {
    const collective::Communicator& communicator;
    const collective::Schedule& schedule;
    Bytes bytes{};
    std::string summary = {};
    std::optional<collective::Cost> cost = {};
    /// α and B of the routes that are used, at worst; none where nothing is sent.
    std::optional<collective::PortModel> model = {};
    /// The schedule, simulated: to be set by the caller where the proof holds; reports do without.
    std::optional<replay::CollectiveRun> run = {};
    /// The algorithm with the pieces of its own choice, simulated, where what is shown has others; as `run`.
    std::optional<replay::CollectiveRun> own_choice = {};
    collective::Proof proof = {};  ///< without its transfers
    std::vector<collective::Content> contents = {};
    std::vector<Holdings> holdings = {};  ///< of the buffers that change, and of the one the result is due in
    std::vector<std::vector<RoutePath>> routes = {};
    std::vector<Step> steps = {};
    std::uint64_t results = 0;            ///< places where something is due
    std::uint64_t complete_at_start = 0;  ///< of these, how many are as they are due before anything is sent
};

/// Plays the lesson's schedule on symbolic data and puts what happens in order. Routes are those of an idle fabric.
/// Throws: SimulationError where two ranks that talk are not joined. Cost: as prove() with transfers.
Explanation explain(const Lesson& lesson);

/// Whether switches add up or copy anywhere in it.
bool uses_switches(const Explanation& explanation);

}  // namespace lockstep::report
