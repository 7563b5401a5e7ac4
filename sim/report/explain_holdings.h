#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/ids.h"
#include "sim/collective/prover.h"
#include "sim/collective/schedule.h"
#include "sim/report/explain.h"

namespace lockstep::report {

inline constexpr std::array all_buffers{collective::Buffer::data, collective::Buffer::received,
                                        collective::Buffer::scratch};

/// Contents, each kept once in a list that is filled: the first is nothing.
class ContentList {
  public:
    /// all: empty; outlives it.
    explicit ContentList(std::vector<collective::Content>& all);

    ContentAt keep(collective::Content content);
    const collective::Content& at(ContentAt content) const { return (*all_)[content]; }
    /// Both together; nothing adds nothing. most_times: where counting how often a contribution is in stops.
    ContentAt sum(ContentAt a, ContentAt b, std::uint32_t most_times);

  private:
    using Key = std::pair<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>>;

    std::vector<collective::Content>* all_;
    std::map<Key, ContentAt> known_;
};

/// What all ranks hold, as steps change it. Chunks below have to exist.
class RankHoldings {
  public:
    /// As the operation starts. Both outlive it.
    RankHoldings(const collective::Schedule& schedule, ContentList& contents);

    std::uint32_t size_of(collective::Buffer buffer) const;
    /// By rank, then chunk.
    const std::vector<Held>& all(collective::Buffer buffer) const { return places_[index_of(buffer)]; }
    const Held& at(collective::Buffer buffer, RankId rank, std::uint32_t chunk) const {
        return places_[index_of(buffer)][place(buffer, index(rank), chunk)];
    }
    bool is_due(collective::Buffer buffer, std::size_t rank, std::uint32_t chunk) const;
    /// Returns: what stands there then.
    Held put(collective::Buffer buffer, RankId rank, std::uint32_t chunk, ContentAt content);

  private:
    static std::size_t index_of(collective::Buffer buffer) { return static_cast<std::size_t>(buffer); }
    std::size_t place(collective::Buffer buffer, std::size_t rank, std::uint32_t chunk) const {
        return rank * size_of(buffer) + chunk;
    }
    bool is_complete(collective::Buffer buffer, std::size_t rank, std::uint32_t chunk, ContentAt at) const;

    const collective::Schedule* schedule_;
    const ContentList* contents_;
    std::array<std::vector<Held>, all_buffers.size()> places_;
};

}  // namespace lockstep::report
