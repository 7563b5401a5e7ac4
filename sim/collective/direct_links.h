#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"

namespace lockstep::collective {

/// The links that lead from one GPU of a list straight to another, as a directed graph whose vertices are places in
/// that list. Parallel links count as one of their total bandwidth.
class DirectLinks {
  public:
    struct Arc {
        std::uint32_t to = 0;
        Bandwidth bandwidth = {};
    };

    /// gpus: each once. Cost: O(links of the GPUs, times the logarithm of their number).
    DirectLinks(const fabric::Fabric& fabric, std::span<const VertexId> gpus);

    std::size_t size() const { return begin_.size() - 1; }
    bool empty() const { return arcs_.empty(); }
    /// In order of `to`.
    std::span<const Arc> out_of(std::size_t place) const {
        return std::span(arcs_).subspan(begin_[place], begin_[place + 1] - begin_[place]);
    }
    /// 0 where there is no link.
    Bandwidth bandwidth(std::size_t from, std::size_t to) const;
    bool joins(std::size_t from, std::size_t to) const { return bandwidth(from, to) > Bandwidth{0}; }
    /// Whether every GPU is linked to every other.
    bool complete() const { return arcs_.size() == size() * (size() - 1); }
    /// Whether each place is linked to the next, and the last to the first.
    bool closes(std::span<const std::uint32_t> cycle) const;

  private:
    std::vector<std::size_t> begin_;
    std::vector<Arc> arcs_;
};

/// Whether one switch has a scale-up link to each of the GPUs. Cost: O(links of the GPUs).
bool share_scale_up_switch(const fabric::Fabric& fabric, std::span<const VertexId> gpus);

}  // namespace lockstep::collective
