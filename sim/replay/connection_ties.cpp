#include "sim/replay/connection_ties.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <vector>

#include "sim/base/parallel.h"

namespace lockstep::replay {

namespace {

using Connection = ConnectionTable::Entry;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// As many connections as keep threads busy for some milliseconds, while what is found out about them fits the caches.
constexpr std::size_t block = 16384;

/// The ties of all connections that one thread looks after, one after the other.
class Ties {
  public:
    Ties(const Units& units, fabric::Router& router) : units_(&units), router_(&router) {}

    void clear() {
        kinds_.clear();
        ends_.clear();
        roles_.clear();
        handed_out_ = 0;
    }

    void add(const Connection& connection) {
        router_->find_route(units_->gpu(connection.from), units_->gpu(connection.to), connection.channel, {}, route_);
        kinds_.push_back(mix(connection.uses, bits(route_.latency.value)));
        // By unit: which of its links are crossed.
        Digest at_sender = mix(Digest{2, 2}, units_->place(connection.from));
        Digest at_receiver = mix(Digest{3, 3}, units_->place(connection.to));
        const std::uint32_t sender = units_->of(connection.from);
        const std::uint32_t receiver = units_->of(connection.to);
        for (const fabric::RouteShare& share : route_.links) {
            const std::uint32_t owner = units_->owner(share.link);
            if (owner == Units::none) {
                roles_.push_back({static_cast<std::uint32_t>(share.link), true, bits(share.share)});
                continue;
            }
            const Digest crossing = mix(mix(Digest{4, 4}, units_->place(share.link)), bits(share.share));
            if (owner == sender) {
                at_sender += crossing;
            } else if (owner == receiver) {
                at_receiver += crossing;
            } else {
                roles_.push_back({owner, false, crossing.a});
            }
        }
        roles_.push_back({sender, false, at_sender.a});
        roles_.push_back({receiver, false, at_receiver.a});
        ends_.push_back(roles_.size());
    }

    void hand_out(const UseTie& use) {
        const std::size_t first = handed_out_ == 0 ? 0 : ends_[handed_out_ - 1];
        use(kinds_[handed_out_], std::span(roles_).subspan(first, ends_[handed_out_] - first));
        ++handed_out_;
    }

  private:
    const Units* units_;
    fabric::Router* router_;
    fabric::Route route_{};  ///< of the connection that is being added
    std::vector<Digest> kinds_{};
    std::vector<std::size_t> ends_{};  ///< of their roles
    std::vector<ConnectionRole> roles_{};
    std::size_t handed_out_ = 0;
};

}  // namespace

void for_each_tie(const fabric::Fabric& fabric, const Units& units, fabric::Router& router,
                  std::span<const Connection> connections, std::size_t threads, const UseTie& use) {
    std::deque<fabric::Router> routers;
    std::vector<Ties> parts{Ties(units, router)};
    for (std::size_t part = 1; part < std::min(threads, connections.size() / block); ++part) {
        parts.emplace_back(units, routers.emplace_back(fabric, router.policy(), router.seed()));
    }
    // Neighbours mostly hang on the same switches; how far it is to these is then worked out on one thread only.
    const auto part_of = [&](const Connection& connection) {
        constexpr std::size_t neighbours = 32;
        return units.of(connection.to) / neighbours % parts.size();
    };
    for (std::size_t begin = 0; begin < connections.size(); begin += block) {
        const auto these = connections.subspan(begin, std::min(block, connections.size() - begin));
        for_each_in_parallel(parts.size(), parts.size(), [&](std::size_t number, std::size_t) {
            parts[number].clear();
            for (const Connection& connection : these) {
                if (part_of(connection) == number) {
                    parts[number].add(connection);
                }
            }
        });
        for (const Connection& connection : these) {
            parts[part_of(connection)].hand_out(use);
        }
    }
}

}  // namespace lockstep::replay
