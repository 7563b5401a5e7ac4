#include "sim/collective/cycles.h"

#include <algorithm>
#include <array>
#include <limits>

namespace lockstep::collective {

namespace {

using Cycle = std::vector<std::uint32_t>;

/// Steps of the search before it settles for what it has. Full meshes of up to 16 GPUs need about 20,000, a DGX-1
/// 1,300.
constexpr std::size_t most_steps = 200'000;
/// More rings than this only make the simulation longer: NCCL, too, stops at 32.
constexpr std::uint32_t most_cycles_packed = 32;

/// Depth-first search for sets of cycles, each leaving from place 0. Wider remaining links are tried first, then nearer
/// places going upwards: the first keeps narrow links for the end, the second makes circulant cycles in a full mesh, of
/// which many fit.
class Packing {
  public:
    explicit Packing(const DirectLinks& links) : size_(static_cast<std::uint32_t>(links.size())) {
        double unit = std::numeric_limits<double>::infinity();
        for (std::uint32_t from = 0; from < size_; ++from) {
            for (const DirectLinks::Arc& arc : links.out_of(from)) {
                unit = std::min(unit, arc.bandwidth.value);
            }
        }
        for (std::uint32_t from = 0; from < size_; ++from) {
            for (const DirectLinks::Arc& arc : links.out_of(from)) {
                // Rates that are multiples of the unit but for rounding count in full.
                room_[from][arc.to] = static_cast<std::uint32_t>(arc.bandwidth.value / unit * (1 + 1e-9));
            }
        }
    }

    std::vector<Cycle> most_cycles() {
        goal_ = most_cycles_packed;
        for (std::uint32_t place = 0; place < size_; ++place) {
            std::uint32_t out = 0;
            std::uint32_t in = 0;
            for (std::uint32_t other = 0; other < size_; ++other) {
                out += room_[place][other];
                in += room_[other][place];
            }
            goal_ = std::min({goal_, out, in});
        }
        for (std::uint32_t to = 1; to < size_; ++to) {
            if (room_[0][to] > 0) {
                starts_.push_back(to);
            }
        }
        std::stable_sort(starts_.begin(), starts_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return room_[0][a] > room_[0][b]; });
        if (goal_ > 0) {
            add_cycles(0);
        }
        return best_;
    }

  private:
    enum class Outcome : std::uint8_t { go_on, stop };

    /// Extends the set by cycles whose first step is starts_[from_start] or later: sets have no order.
    Outcome add_cycles(std::size_t from_start) {
        for (std::size_t start = from_start; start < starts_.size(); ++start) {
            if (room_[0][starts_[start]] == 0) {
                continue;
            }
            path_ = {0, starts_[start]};
            if (extend_path(start) == Outcome::stop) {
                return Outcome::stop;
            }
        }
        return Outcome::go_on;
    }

    Outcome extend_path(std::size_t start) {
        if (++steps_ > most_steps) {
            return Outcome::stop;
        }
        const std::uint32_t here = path_.back();
        if (path_.size() == size_) {
            return room_[here][0] > 0 ? take_cycle(start) : Outcome::go_on;
        }
        struct Choice {
            std::uint32_t room;
            std::uint32_t ahead;
        };
        std::array<Choice, most_searched> choices{};
        std::size_t count = 0;
        for (std::uint32_t ahead = 1; ahead < size_; ++ahead) {
            const std::uint32_t to = (here + ahead) % size_;
            if (room_[here][to] > 0 && std::find(path_.begin(), path_.end(), to) == path_.end()) {
                choices[count++] = {room_[here][to], ahead};
            }
        }
        std::stable_sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(count),
                         [](const Choice& a, const Choice& b) { return a.room > b.room; });
        for (std::size_t i = 0; i < count; ++i) {
            path_.push_back((here + choices[i].ahead) % size_);
            if (extend_path(start) == Outcome::stop) {
                return Outcome::stop;
            }
            path_.pop_back();
        }
        return Outcome::go_on;
    }

    Outcome take_cycle(std::size_t start) {
        const Cycle cycle = path_;
        cycles_.push_back(cycle);
        change_room(cycle, -1);
        if (cycles_.size() > best_.size()) {
            best_ = cycles_;
        }
        if (best_.size() == goal_ || add_cycles(start) == Outcome::stop) {
            return Outcome::stop;
        }
        change_room(cycle, +1);
        cycles_.pop_back();
        path_ = cycle;
        return Outcome::go_on;
    }

    void change_room(const Cycle& cycle, int by) {
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            std::uint32_t& room = room_[cycle[i]][cycle[(i + 1) % cycle.size()]];
            room = static_cast<std::uint32_t>(static_cast<int>(room) + by);
        }
    }

    std::uint32_t size_;
    std::array<std::array<std::uint32_t, most_searched>, most_searched> room_{};  // cycles that an arc can still carry
    std::uint32_t goal_ = 0;                                                      // more cycles than this cannot fit
    std::vector<std::uint32_t> starts_;
    Cycle path_;
    std::vector<Cycle> cycles_;
    std::vector<Cycle> best_;
    std::size_t steps_ = 0;
};

/// Extends a path over links of at least `least` to a Hamiltonian cycle, lowest places first.
bool complete_cycle(const DirectLinks& links, Bandwidth least, Cycle& path, std::size_t& steps) {
    if (++steps > most_steps) {
        return false;
    }
    if (path.size() == links.size()) {
        return links.bandwidth(path.back(), path.front()) >= least;
    }
    for (const DirectLinks::Arc& arc : links.out_of(path.back())) {
        if (arc.bandwidth >= least && std::find(path.begin(), path.end(), arc.to) == path.end()) {
            path.push_back(arc.to);
            if (complete_cycle(links, least, path, steps)) {
                return true;
            }
            path.pop_back();
        }
    }
    return false;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> widest_cycle(const DirectLinks& links) {
    std::vector<Bandwidth> widths;
    for (std::size_t from = 0; from < links.size(); ++from) {
        for (const DirectLinks::Arc& arc : links.out_of(from)) {
            widths.push_back(arc.bandwidth);
        }
    }
    std::sort(widths.begin(), widths.end(), std::greater<>());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    for (const Bandwidth width : widths) {
        Cycle path{0};
        std::size_t steps = 0;
        if (complete_cycle(links, width, path, steps)) {
            return path;
        }
    }
    return std::nullopt;
}

std::vector<std::vector<std::uint32_t>> packed_cycles(const DirectLinks& links) { return Packing(links).most_cycles(); }

}  // namespace lockstep::collective
