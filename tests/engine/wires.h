#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

namespace lockstep::engine {

/// A fabric of separate links, of which tests make up routes as they please: engines do not ask whether they connect.
struct Wires {
    fabric::Fabric fabric;
    std::vector<LinkId> links;  ///< in the order of the capacities
};

/// order: in which order the links are made, and so numbered; empty for that of the capacities.
inline Wires wires(const std::vector<double>& capacities, std::vector<std::size_t> order = {}) {
    if (order.empty()) {
        for (std::size_t i = 0; i < capacities.size(); ++i) {
            order.push_back(i);
        }
    }
    fabric::FabricBuilder builder("wires");
    for (const std::size_t i : order) {
        fabric::Vertex a;
        a.name = fmt::format("a{}", i);
        a.kind = fabric::VertexKind::switch_;
        fabric::Vertex b = a;
        b.name = fmt::format("b{}", i);
        fabric::Link link;
        link.bandwidth = {capacities[i]};
        link.line_rate = link.bandwidth;
        const VertexId from = builder.add(a);
        const VertexId to = builder.add(b);
        builder.connect(from, to, link);
    }
    Wires made{builder.build(), {}};
    for (std::size_t i = 0; i < capacities.size(); ++i) {
        made.links.push_back(made.fabric.links_out_of(made.fabric.find(fmt::format("a{}", i)).value()).front());
    }
    return made;
}

/// A flow over wires by their position in the list of capacities.
struct Transfer {
    std::vector<std::pair<std::size_t, double>> path;  ///< wire and share
    double bytes = 0.0;
    double start = 0.0;  ///< seconds
};

/// Starts each transfer when it is due and notes when it ended.
class Transfers : public Events {
  public:
    Transfers(Engine& engine, const Wires& wires, const std::vector<Transfer>& transfers)
        : engine_(engine), transfers_(transfers), routes_(transfers.size()), ends_(transfers.size(), -1.0) {
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            for (const auto& [wire, share] : transfers[i].path) {
                routes_[i].links.push_back({wires.links[wire], share});
            }
        }
    }

    void on_timer(Token token) override { engine_.start_flow(routes_[token], transfers_[token].bytes, token); }
    void on_flow_end(Token token) override {
        ends_[token] = engine_.now().value;
        order_.push_back(token);
    }

    /// Returns: when each transfer ended, -1 if it did not.
    std::vector<double> run() {
        for (std::size_t i = 0; i < transfers_.size(); ++i) {
            if (transfers_[i].start > 0) {
                engine_.set_timer({transfers_[i].start}, i);
            } else {
                on_timer(i);
            }
        }
        reported_ = engine_.run(*this);
        return ends_;
    }
    const std::vector<Token>& order() const { return order_; }
    std::uint64_t reported() const { return reported_; }

  private:
    Engine& engine_;
    const std::vector<Transfer>& transfers_;
    std::vector<fabric::Route> routes_;
    std::vector<double> ends_;
    std::vector<Token> order_;
    std::uint64_t reported_ = 0;
};

inline std::vector<double> ends_of(const EngineKind& kind, const Wires& wires, const std::vector<Transfer>& transfers) {
    const auto engine = kind.make(wires.fabric);
    return Transfers(*engine, wires, transfers).run();
}

inline std::vector<double> ends_of(const EngineKind& kind, const std::vector<double>& capacities,
                                   const std::vector<Transfer>& transfers) {
    const Wires made = wires(capacities);
    return ends_of(kind, made, transfers);
}

/// Numbers that are the same with every standard library.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : bits_(seed) {}
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(bits_() % end); }
    double between(double low, double high) {
        return low + (high - low) * static_cast<double>(bits_() >> 11) * 0x1p-53;
    }

  private:
    std::mt19937_64 bits_;
};

}  // namespace lockstep::engine
