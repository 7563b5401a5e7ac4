#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/fluid/shared_links.h"
#include "sim/engine/instant.h"
#include "sim/engine/known_routes.h"
#include "sim/engine/timer_queue.h"

namespace lockstep::engine {

/// Lockstep's own engine: exact max-min fair sharing, recomputed once per instant and only where something changed.
/// Memory: linear in the links and in the largest number of flows and timers there ever were at one time.
class FluidEngine final : public Engine {
  public:
    explicit FluidEngine(const fabric::Fabric& fabric);

    Seconds now() const override { return {now_}; }
    void set_timer(Seconds delay, Token token) override;
    RouteId know(const fabric::Route& route) override { return routes_.number(route, links_.link_count()); }
    using Engine::start_flow;
    void start_flow(RouteId route, double bytes, Token token) override;
    std::uint64_t run(Events& events) override;
    fabric::LinkLoads loads() const override { return links_.loads(); }

    /// What sharing the links took so far.
    const SharedLinks::Work& work() const { return links_.work(); }

  private:
    struct alignas(64) Flow {  // a cache line
        Token token = 0;
        std::uint64_t sequence = 0;
        double bytes = 0.0;
        double remaining = 0.0;  ///< at `since`
        double since = 0.0;      ///< when it got its present rate
        double rate = 0.0;
    };

    void update_ends();
    bool advance();
    bool has_arrived(const Flow& flow) const;

    double now_ = 0.0;
    std::uint64_t sequence_ = 0;
    bool running_ = false;
    Instant instant_;

    TimerQueue timers_;

    KnownRoutes routes_;
    SharedLinks links_;
    EventQueue ends_;
    std::vector<Flow> flows_;  // by number in links_ and id in ends_
    std::vector<std::uint32_t> free_flows_;
    std::vector<std::uint32_t> ended_;  // flows whose number is free again once links_ has settled
};

std::unique_ptr<Engine> make_fluid_engine(const fabric::Fabric& fabric);

}  // namespace lockstep::engine
