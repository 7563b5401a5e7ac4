#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/units.h"

namespace lockstep::replay {

/// Recognises that training steps repeat themselves. While no collective is under way, all there is to know is how far
/// each stream is and when its task will end: nothing is on its way over the network. Two such moments that are alike,
/// one step apart, have the same future, one step apart. As they are alike but for rounding, which some traffic blows
/// up, two steps in a row have to have taken the same time as well.
class StepFold {
  public:
    /// Where a stream is.
    struct Place {
        std::uint64_t tasks_ended = 0;  ///< over all steps
        std::uint32_t tasks = 0;        ///< of a step
        bool is_running = false;        ///< the next one
        Seconds left{};                 ///< until that ends
    };
    /// A moment without a collective under way.
    struct Moment {
        std::uint32_t step = 0;  ///< the latest that has been begun
        Seconds now{};
        std::uint64_t messages = 0;  ///< so far
        std::vector<Place> places{};

        /// How long until the last of the tasks ends that are due now but for rounding; none if none is.
        std::optional<Seconds> until_settled() const;
    };
    /// What a step takes.
    struct Period {
        Seconds length{};
        std::uint64_t messages = 0;
    };

    /// Returns: what a step takes, if the moment is the last one, one step on. Times count as the same if they differ
    /// by less than a 2^-43rd of the time so far, the rounding of the clock. Cost: linear in streams.
    std::optional<Period> look_at(Moment moment);

  private:
    std::optional<Moment> last_;
    std::optional<Seconds> last_length_;
};

}  // namespace lockstep::replay
