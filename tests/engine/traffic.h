#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/wires.h"

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/engine/engine.h"
#include "sim/fabric/load_fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// The shipped three-level fat tree, its leaves oversubscribed 2:1, one hash-chosen path per pair of GPUs.
struct FatTree {
    fabric::Fabric fabric;
    fabric::Router router;

    FatTree(const FatTree&) = delete;
    FatTree& operator=(const FatTree&) = delete;
    explicit FatTree(std::size_t gpus, std::size_t radix)
        : fabric(load(gpus, radix)), router(fabric, fabric::RoutingPolicy::ecmp, 1) {}

  private:
    static fabric::Fabric load(std::size_t gpus, std::size_t radix) {
        const DataFiles data = DataFiles::locate();
        YamlFile file = YamlFile::load(data.resolve("topologies", "fat-tree"));
        for (const auto& [name, value] :
             std::vector<std::pair<std::string, std::string>>{{"gpus", std::to_string(gpus)},
                                                              {"radix", std::to_string(radix)},
                                                              {"levels", "3"},
                                                              {"oversubscription", "2"},
                                                              {"routing", "ecmp"}}) {
            file.parameters().set(name, value);
        }
        return fabric::load_fabric(file, data);
    }
};

/// A random permutation of 0 .. size - 1 that leaves nothing in its place.
inline std::vector<std::size_t> random_permutation(std::size_t size, Dice& dice) {
    std::vector<std::size_t> to(size);
    for (std::size_t at = 0; at < size; ++at) {
        to[at] = at;
    }
    for (std::size_t at = size; at-- > 1;) {  // Sattolo's shuffle: one cycle
        std::swap(to[at], to[dice.below(at)]);
    }
    return to;
}

/// Whom the messages of one GPU go to.
enum class Partners : std::uint8_t {
    fixed,             ///< all to the GPU that one random permutation says, over one connection
    changing,          ///< each to the one that a random one of 16 permutations says, at once
    changing_at_cost,  ///< the same, but each message spends the latency of its route first
};

/// Every GPU sends messages of 0.1 to 1 MB back to back, as many as it has; what it sends does not depend on when the
/// others do, so that it is the same with every engine.
class PermutationTraffic : public Events {
  public:
    PermutationTraffic(Engine& engine, FatTree& tree, Partners partners, std::size_t messages)
        : engine_(engine), partners_(partners), messages_(messages) {
        const auto gpus = tree.fabric.gpus();
        Dice dice(1);
        routes_.resize(partners == Partners::fixed ? 1 : permutations);
        for (auto& routes : routes_) {
            const std::vector<std::size_t> to = random_permutation(gpus.size(), dice);
            for (std::size_t from = 0; from < gpus.size(); ++from) {
                const fabric::Route& route = tree.router.route(gpus[from], gpus[to[from]], 0, {});
                routes.push_back({engine.know(route), route.latency});
            }
        }
        for (std::size_t from = 0; from < gpus.size(); ++from) {
            senders_.push_back({messages, from * 0x9e3779b97f4a7c15U, {}});
        }
        ends_.resize(senders_.size(), 0.0);
    }
    void start() {
        for (std::size_t from = 0; from < senders_.size(); ++from) {
            choose(senders_[from], from);
            engine_.set_timer(senders_[from].way.latency, from);
        }
    }
    std::size_t messages() const { return messages_ * senders_.size(); }
    /// When the last message of each GPU arrived; 0 if it did not.
    const std::vector<double>& ends() const { return ends_; }

    void on_timer(Token from) override { send(from); }
    void on_flow_end(Token from) override {
        Sender& sender = senders_[from];
        if (--sender.left == 0) {
            ends_[from] = engine_.now().value;
            return;
        }
        if (partners_ != Partners::fixed) {
            choose(sender, from);
        }
        if (partners_ == Partners::changing_at_cost) {
            engine_.set_timer(sender.way.latency, from);
        } else {
            send(from);
        }
    }

  private:
    static constexpr std::size_t permutations = 16;

    struct Way {
        RouteId route{};
        Seconds latency{};
    };
    struct Sender {
        std::size_t left;
        std::uint64_t state;
        Way way;
    };

    static std::uint64_t draw(Sender& sender) {  // splitmix64
        std::uint64_t bits = (sender.state += 0x9e3779b97f4a7c15U);
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        return bits ^ (bits >> 31U);
    }
    void choose(Sender& sender, std::size_t from) { sender.way = routes_[draw(sender) % routes_.size()][from]; }
    void send(Token from) {
        const double part = static_cast<double>(draw(senders_[from]) >> 11U) * 0x1p-53;
        engine_.start_flow(senders_[from].way.route, 1e5 + 9e5 * part, from);
    }

    Engine& engine_;
    Partners partners_;
    std::size_t messages_;
    std::vector<std::vector<Way>> routes_;  // by permutation, then sender
    std::vector<Sender> senders_;
    std::vector<double> ends_;
};

}  // namespace lockstep::engine
