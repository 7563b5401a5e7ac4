#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/prover.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// Everything that drawn tests draw: the same from run to run, on every machine.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}

    /// 0 .. end - 1. Requires: end >= 1.
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
    bool one_in(std::uint32_t times) { return below(times) == 0; }
    template <class T>
    const T& of(const std::vector<T>& values) {
        return values[below(static_cast<std::uint32_t>(values.size()))];
    }

    /// 0, 1, about as many as ranks, primes, and large sizes.
    Bytes size(std::uint32_t ranks);
    /// Sizes for each pair, a third of them zero.
    std::shared_ptr<const SizeMatrix> sizes(std::uint32_t ranks);
    /// Few pieces and channels or none asked for; dimensions that multiply to the number of ranks, or none.
    Tuning tuning(std::uint32_t ranks);
    /// Of any size and tuning.
    Request request(Operation operation, std::uint32_t ranks, RankId root);

  private:
    std::mt19937_64 random_;
};

/// The findings as users see them: `deadlock: rank 3 in step 7 waits …`.
std::vector<std::string> texts(const Proof& proof);

/// Proves what the algorithm makes of the request, with these orders of turns, and that it takes as many messages as
/// the algorithm says.
void check_proved(const Algorithm& algorithm, const Communicator& communicator, const Request& request,
                  const std::vector<Turns>& orders = {Turns::forward, Turns::backward});

/// A request of some size that is right for the operation.
Request plain_request(Operation operation, std::uint32_t ranks, Bytes bytes, RankId root = {});

/// GPUs, each with one link to one switch that can reduce.
fabric::Fabric reducing_switch(std::uint32_t gpus);

}  // namespace lockstep::collective
