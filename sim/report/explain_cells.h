#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/explain.h"

namespace lockstep::report {

/// `data`, `received`, `scratch`
std::string_view name_of(collective::Buffer buffer);

/// Whether the operation adds anything up: then what counts of a chunk is who is in it, else where it is from.
bool adds_up(collective::Operation operation);

/// The chunk of whoever's vector one expects in that place: its number, but of all_to_all's results.
std::uint32_t usual_chunk(const collective::Schedule& schedule, collective::Buffer buffer, std::size_t rank,
                          std::uint32_t chunk);

/// What is in a chunk, in few characters: of sums the ranks that are in (`0·23` for up to eight, `3-7` or `9 of 16` for
/// more), of data that only moves the rank it is from, and the chunk of that rank where it is not the usual one.
class Cells {
  public:
    explicit Cells(const Explanation& explanation);

    std::size_t width() const { return width_; }
    /// Of what stands in a place.
    std::string text(ContentAt content, collective::Buffer buffer, std::size_t rank, std::uint32_t chunk) const;
    /// Of what a move brings, the first few chunks.
    std::string text(const std::vector<ContentAt>& contents, const Move& move) const;
    /// How to read them, one sentence.
    std::string legend() const;

  private:
    std::string ranks_in(const collective::Content& content) const;

    const Explanation& explanation_;
    bool adds_up_;
    std::size_t width_ = 1;
};

}  // namespace lockstep::report
