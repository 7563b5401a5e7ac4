#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/route.h"
#include "sim/replay/prepared_schedule.h"
#include "sim/replay/result.h"
#include "sim/replay/units.h"

namespace lockstep::replay {

/// A communicator whose collectives are to be folded.
struct FoldGroup {
    const collective::Communicator* communicator = nullptr;
    std::span<const RankId> members{};  ///< its ranks -> ranks of the job
    /// By rank of the communicator: when in its program the rank takes part in which of the group's scripts.
    std::vector<Digest> uses{};
};

/// A schedule with a size, as one communicator performs it once or more often.
struct FoldScript {
    std::uint32_t group = 0;
    std::uint32_t number = 0;  ///< among those of the group
    const collective::Schedule* schedule = nullptr;
    Bytes bytes{};
};

/// What ranks do, for all that matters to who is like whom. What it refers to must outlive the fold.
struct FoldInput {
    std::vector<FoldGroup> groups{};
    std::vector<FoldScript> scripts{};
    std::vector<Digest> duties{};  ///< by rank of the job: what it does beside scripts; empty: nothing
};

/// A rank that is simulated, for itself or for all those that are like it.
enum class ActorId : std::uint32_t {};

/// An actor's place in a collective that is played by actors: what it performs, and as which rank of that.
struct Seat {
    ActorId actor{};
    std::uint32_t script = 0;  ///< index into FoldInput::scripts
    RankId place{};
};

struct FoldData;

/// Nodes that are alike, so that one of each kind stands for all.
///
/// Nodes (and GPUs without a node, each for itself) are coloured by what is in them and by what their ranks do, with
/// instructions that cannot hold each other up taken as a set. Then colours are refined: two nodes keep one colour only
/// if their messages to and from other nodes go to nodes of the same colours over links of the same colours, at the
/// same points of the ranks' programs; and two links between nodes only if the same kinds of messages cross them. What
/// is left is an equitable partition: members of a class are in the same state at all times, by induction over what
/// happens. So one node of each class is played against the others, with every message counted as often on a link as
/// its kind crosses it.
///
/// Nothing is assumed: all programs and all routes between nodes are looked at. Colours are 128-bit digests; that two
/// different nodes share one by chance has a probability below 1e-20. Inside a node, that the router finds alike
/// routes in alike nodes is its promise (fabric/route.h).
///
/// Source: colour refinement as in Paige and Tarjan (1987), "Three partition refinement algorithms".
class Fold {
  public:
    /// Looks for alike nodes. Cost: O(instructions of all scripts + links of all routes between nodes) a round, with
    /// as many rounds as colours need to spread; memory linear in the messages' connections between nodes. All must
    /// outlive it. threads: on how many routes are looked for.
    Fold(const fabric::Fabric& fabric, const Units& units, fabric::Router& router, const FoldInput& input,
         std::size_t threads);
    ~Fold();
    Fold(Fold&&) noexcept;

    /// How many nodes there are, how many classes, and why not fewer.
    const FoldUse& use() const;
    /// Whether one node stands for several somewhere. All that follows requires it.
    bool folds() const;

    /// The ranks that are simulated, of one node of each class.
    std::span<const RankId> actors() const;
    ActorId actor_of(RankId rank) const;
    /// How many ranks it stands for, itself included.
    std::uint32_t stands_for(ActorId actor) const;

    /// Tells which seat belongs to the actor that stands for a peer. peer: in the communicator of the seat's script.
    using SeatOf = std::function<std::size_t(std::size_t seat, RankId peer)>;
    /// A collective as its actors play it; its ranks are the seats. Alike messages of a rank are sent once, to one that
    /// stands for their receivers. Refers to this.
    PreparedSchedule prepared(std::span<const Seat> seats, const SeatOf& seat_of) const;

    /// Gives every link the bytes of the one that stands for it. bytes: by LinkId.
    void spread(std::vector<double>& bytes) const;

  private:
    std::unique_ptr<FoldData> data_;
};

}  // namespace lockstep::replay
