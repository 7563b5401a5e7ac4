#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// Finds arithmetic for numbers that differ from rank to rank, and collects lists where there is none.
class NumberWriter {
  public:
    /// ranks: those that share a program, ascending.
    NumberWriter(std::uint32_t all_ranks, std::vector<RankId> ranks)
        : all_ranks_(all_ranks), ranks_(std::move(ranks)) {}

    /// One number for each of the ranks: `5`, `$rank`, `$((rank + 1) % ranks)`, `$(list_0(rank))`.
    std::string number(std::span<const std::int64_t> values);
    /// A chunk number that moves with the loop, one index for each of the ranks. Requires: equal but for offset and
    /// first. counter: the loop's.
    std::string chunk(std::span<const ChunkIndex> indices, std::uint32_t iterations);

    /// The lists that the numbers so far speak of, by content.
    const std::map<std::vector<std::int64_t>, std::string>& lists() const { return lists_; }
    /// Lists that an earlier program of the same file has already.
    void take_lists(std::map<std::vector<std::int64_t>, std::string> lists) { lists_ = std::move(lists); }

  private:
    std::string term(std::span<const std::int64_t> values);
    std::string list(std::vector<std::int64_t> values);
    std::string name_of_modulus(std::int64_t modulus) const;

    std::uint32_t all_ranks_;
    std::vector<RankId> ranks_;
    std::map<std::vector<std::int64_t>, std::string> lists_ = {};
};

}  // namespace lockstep::collective
