#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/collective/prover_contents.h"
#include "sim/collective/prover_program.h"
#include "sim/collective/schedule.h"

namespace lockstep::collective {

/// What was in a place when something else was put there that lacks some of it.
struct Overwritten {
    ContentId before{};
    ContentId after{};
    std::uint32_t rank = 0;
    Buffer buffer = Buffer::data;
    std::uint32_t chunk = 0;
    std::string place = {};  ///< who did it and when
};

/// The buffers of all ranks, and what was lost in them.
class RankMemory {
  public:
    /// Filled as the operation starts. The schedule and the store must outlive it.
    RankMemory(const Schedule& schedule, bool with_received, ContentStore& store);

    std::uint32_t size_of(Buffer buffer) const;
    /// Places of all ranks and buffers.
    std::size_t place_count() const;
    /// The number of a place among them.
    std::size_t place_of(std::uint32_t rank, Buffer buffer, std::uint32_t chunk) const;
    /// Requires: chunk < size_of(buffer), and so below.
    ContentId at(std::uint32_t rank, Buffer buffer, std::uint32_t chunk) const {
        return places(buffer)[at_index(rank, buffer, chunk)];
    }
    void add(std::uint32_t rank, Buffer buffer, std::uint32_t chunk, ContentId sum) {
        places(buffer)[at_index(rank, buffer, chunk)] = sum;
    }
    /// Puts `content` there. place: who does it and when, as text; only called where something is lost.
    template <class Place>
    void store(std::uint32_t rank, Buffer buffer, std::uint32_t chunk, ContentId content, Place place) {
        ContentId& there = places(buffer)[at_index(rank, buffer, chunk)];
        if (overwritten_.size() < most_overwritten && !store_.has_all_of(content, there)) {
            overwritten_.push_back({there, content, rank, buffer, chunk, place()});
        }
        there = content;
    }

    /// Where the contribution was lost first: in the place of the result if it was lost there, else anywhere. Empty if
    /// it was not.
    std::string where_lost(std::uint32_t contributor, std::uint32_t chunk, std::uint32_t result_rank,
                           Buffer result) const;

    /// Adds what the results lack or have too much of.
    void check_results(Findings& findings) const;

  private:
    static constexpr std::size_t most_overwritten = 1U << 16U;  // sound schedules have few

    std::size_t at_index(std::uint32_t rank, Buffer buffer, std::uint32_t chunk) const {
        return std::size_t{rank} * size_of(buffer) + chunk;
    }
    const std::vector<ContentId>& places(Buffer buffer) const { return places_[static_cast<std::size_t>(buffer)]; }
    std::vector<ContentId>& places(Buffer buffer) { return places_[static_cast<std::size_t>(buffer)]; }
    void check_result(std::uint32_t rank, std::uint32_t chunk, Findings& findings) const;

    const Schedule& schedule_;
    ContentStore& store_;
    std::vector<ContentId> places_[3];
    std::vector<Overwritten> overwritten_;
};

}  // namespace lockstep::collective
