#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace lockstep::cli {

/// What `--algorithm all` leaves out and why, put into words once all sizes have run.
class LeftOut {
  public:
    /// One algorithm at one size. A reason that begins with the algorithm's name is taken without it, as the note says
    /// the name anyway. Sizes come in ascending order.
    void add(std::string_view algorithm, std::string_view reason, Bytes bytes);

    /// A line for each reason with all the algorithms it concerns, in the order in which they came: "left out: direct,
    /// tree: no path leads from …"; with the sizes where it does not hold at all `size_count` of them.
    std::vector<std::string> notes(std::size_t size_count) const;

    /// "direct, tree: no path leads from …; nvls: needs …", for when nothing is left.
    std::string reasons() const;

  private:
    struct Case {
        std::string algorithm;
        std::string reason;
        Bytes least;
        Bytes most;
        std::size_t sizes = 0;
    };
    struct Group {
        std::vector<std::string> algorithms;
        const Case* like;  ///< the first; all agree but for the algorithm
    };
    std::vector<Group> groups() const;

    std::vector<Case> cases_;
};

}  // namespace lockstep::cli
