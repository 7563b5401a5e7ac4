#pragma once

#include <cstddef>
#include <cstdint>
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

namespace lockstep::replay {

/// Nodes that are alike, so that one of each kind stands for all.
///
/// Nodes (and GPUs without a node, each for itself) are coloured by what is in them and by what their ranks do, with
/// instructions that cannot hold each other up taken as a set. Then colours are refined: two nodes keep one colour only
/// if their messages to and from other nodes go to nodes of the same colours over links of the same colours, and two
/// links between nodes only if the same kinds of messages cross them. What is left is an equitable partition: members
/// of a class are in the same state at all times, by induction over what happens. So one node of each class is played
/// against the others, with every message counted as often on a link as its kind crosses it.
///
/// Nothing is assumed: all programs and all routes between nodes are looked at. Colours are 128-bit digests; that two
/// different nodes share one by chance has a probability below 1e-20. Inside a node, that the router finds alike
/// routes in alike nodes is its promise (fabric/route.h).
///
/// Source: colour refinement as in Paige and Tarjan (1987), "Three partition refinement algorithms".
class Fold {
  public:
    /// Looks for alike nodes. Cost: O(instructions of all programs + links of all routes between nodes) a round, with
    /// as many rounds as colours need to spread; memory linear in the messages' connections between nodes. The
    /// communicator and router must outlive it.
    Fold(const collective::Communicator& communicator, const collective::Schedule& schedule, Bytes bytes,
         fabric::Router& router);
    ~Fold();
    Fold(Fold&&) noexcept;

    /// How many nodes there are, how many classes, and why not fewer.
    const FoldUse& use() const;
    /// Whether one node stands for several somewhere.
    bool folds() const;

    /// The representatives' part of the schedule. Requires: folds().
    PreparedSchedule prepared() const;
    /// Gives every link the bytes of the one that stands for it. bytes: by LinkId.
    void spread(std::vector<double>& bytes) const;

  private:
    class Finder;
    struct Data;
    std::unique_ptr<Data> data_;
};

}  // namespace lockstep::replay
