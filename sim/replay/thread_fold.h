#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/replay/prepared_schedule.h"

namespace lockstep::replay {

/// Threads that are alike, so that one of each kind stands for all: within nodes, where GPUs and channels can be turned
/// together, or across nodes that are not alike as a whole. What is left of Fold can be folded again so.
///
/// Threads are coloured by what they do in time: which instructions on how many chunks, in which loops. Channels, ranks
/// and chunk numbers do not count, nor does the order of instructions that cannot hold each other up. Then colours are
/// refined: threads keep one colour only if their connections do, those only if they join threads of the same colours
/// at the same places of their programs and cross links of the same colours, and links only if the same kinds of
/// connections cross them. By induction over what happens all members of a class are in the same state at all times.
/// One thread of each class is played, on a rank of its own, and each class of connections by one that puts on one link
/// of each class what all of them put there.
class ThreadFold {
  public:
    /// Looks for alike threads. Routes that are not known yet are found and noted in the connections of `schedule`,
    /// which must outlive it, as must the router. Throws: SimulationError where the router finds no path.
    /// Cost: O(steps + links of all routes) a round, with as many rounds as colours need to spread.
    ThreadFold(PreparedSchedule& schedule, const fabric::Fabric& fabric, fabric::Router& router);

    std::size_t thread_count() const { return schedule_->threads().size(); }
    std::size_t class_count() const { return broken_by_.empty() ? representatives_.size() : thread_count(); }
    /// What sets the threads apart. Empty if one stands for several somewhere.
    const std::string& broken_by() const { return broken_by_; }
    bool folds() const { return broken_by_.empty(); }

    /// The representatives' part, which refers to routes held here. Requires: folds().
    PreparedSchedule prepared() const;
    /// Gives every link the bytes of the one that stands for it. bytes: by LinkId.
    void spread(std::vector<double>& bytes) const;

  private:
    class Finder;
    class Writer;

    /// How a thread holds on to a tie: a connection, or an event that its rank's threads signal and wait for.
    enum class End : std::uint8_t { posts, contributes, takes };
    static End end_of(collective::Verb verb);
    struct Use {
        std::uint32_t thread;
        End end;
        std::uint32_t place;   ///< the step's slot
        std::uint64_t digest;  ///< of where in the program and how
        std::uint32_t next;    ///< of the same tie
    };
    struct StandIn {
        LinkId link;
        LinkId counted;  ///< the one that stands for it
    };

    /// The classes of the threads that hold a tie at one kind of its ends, in order: ranks of the representatives'
    /// part.
    std::vector<RankId> classes_at(std::uint32_t tie, End end) const;

    PreparedSchedule* schedule_;
    std::string broken_by_ = {};
    std::vector<std::uint32_t> event_ties_ = {};  ///< by inbox: the tie, behind those of connections
    std::vector<std::uint32_t> first_use_ = {};   ///< by tie
    std::vector<Use> uses_ = {};
    std::vector<std::uint32_t> class_of_thread_ = {};
    std::vector<std::uint32_t> representatives_ = {};  ///< by class of threads: the first
    std::vector<std::uint32_t> class_of_tie_ = {};
    std::vector<std::uint32_t> first_ties_ = {};  ///< by class of ties: the first
    std::vector<std::uint32_t> stands_for_ = {};  ///< by class of ties: messages for one of the class's
    std::vector<fabric::Route> routes_ = {};      ///< by class of ties
    std::vector<StandIn> stand_ins_ = {};
};

/// How many messages playing the schedule takes, those of in-switch groups counted once.
double message_count(const PreparedSchedule& schedule);

}  // namespace lockstep::replay
