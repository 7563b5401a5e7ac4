#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"
#include "sim/report/explain.h"

namespace lockstep::report::testing {

/// An explanation with all that it refers to: GPUs with a link of 50 GB/s and 1 us each to one switch that can add up.
class Explained {
  public:
    /// An algorithm of the table.
    Explained(const std::string& algorithm, std::size_t ranks, collective::Request request);
    /// A schedule as it is.
    Explained(collective::Schedule schedule, Bytes bytes, const std::string& fabric_name = "star");
    Explained(const Explained&) = delete;
    Explained& operator=(const Explained&) = delete;

    const Explanation& operator*() const { return *explanation_; }
    const Explanation* operator->() const { return &*explanation_; }
    Explanation& mutable_explanation() { return *explanation_; }
    const fabric::Fabric& fabric() const { return fabric_; }

  private:
    fabric::Fabric fabric_;
    collective::Communicator communicator_;
    fabric::Router router_;
    collective::Request request_;
    collective::Schedule schedule_;
    std::optional<Explanation> explanation_;
};

/// GPUs at one switch that can add up.
fabric::Fabric reducing_star(const std::string& name, std::size_t gpus);

}  // namespace lockstep::report::testing
