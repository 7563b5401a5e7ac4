#include "sim/engine/fluid/fluid_engine.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "sim/engine/arguments.h"
#include "sim/engine/event_heap.h"
#include "sim/engine/fluid/shared_links.h"
#include "sim/engine/instant.h"
#include "sim/engine/timer_queue.h"

namespace lockstep::engine {

namespace {

// A flow with no more than this part of its bytes left has ended: the rest is rounding.
constexpr double nothing_left = 1e-12;

std::vector<double> capacities_of(const fabric::Fabric& fabric) {
    std::vector<double> capacities(fabric.link_count());
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        capacities[link] = fabric.link(id_at<LinkId>(link)).bandwidth.value;
    }
    return capacities;
}

class FluidEngine final : public Engine {
  public:
    explicit FluidEngine(const fabric::Fabric& fabric) : links_(capacities_of(fabric)) {}

    Seconds now() const override { return {now_}; }
    void set_timer(Seconds delay, Token token) override;
    void start_flow(const fabric::Route& route, double bytes, Token token) override;
    std::uint64_t run(Events& events) override;
    fabric::LinkLoads loads() const override { return links_.loads(); }

  private:
    struct Flow {
        Token token = 0;
        std::uint64_t sequence = 0;
        double bytes = 0.0;
        double remaining = 0.0;  // at `since`
        double since = 0.0;      // when it got its present rate
        double rate = 0.0;
    };

    void update_ends();
    bool advance();

    double now_ = 0.0;
    std::uint64_t sequence_ = 0;
    bool running_ = false;
    Instant instant_;

    TimerQueue timers_;

    SharedLinks links_;
    EventHeap ends_;
    std::vector<Flow> flows_;  // by number in links_ and id in ends_
    std::vector<std::uint32_t> free_flows_;
    std::vector<std::uint32_t> ended_;  // flows whose number is free again once links_ has settled
};

void FluidEngine::set_timer(Seconds delay, Token token) {
    require_delay(delay);
    const std::uint64_t sequence = sequence_++;
    if (delay.value == 0) {
        instant_.add(Instant::Kind::timer, sequence, token);
        return;
    }
    timers_.add(now_ + delay.value, sequence, token);
}

void FluidEngine::start_flow(const fabric::Route& route, double bytes, Token token) {
    require_flow(route, bytes, links_.loads().size());
    const std::uint64_t sequence = sequence_++;
    if (bytes == 0 || route.links.empty()) {
        instant_.add(Instant::Kind::flow, sequence, token);
        return;
    }
    if (free_flows_.empty()) {
        free_flows_.push_back(static_cast<std::uint32_t>(flows_.size()));
        flows_.emplace_back();
    }
    const std::uint32_t flow = free_flows_.back();
    free_flows_.pop_back();
    flows_[flow] = {token, sequence, bytes, bytes, now_, 0.0};
    links_.add(flow, route);
}

std::uint64_t FluidEngine::run(Events& events) {
    const RunGuard guard(running_);
    std::uint64_t reported = 0;
    do {
        reported += instant_.report(events);
        update_ends();
    } while (advance());
    return reported;
}

/// Predicts the end of each flow that is new or whose rate changed at this instant.
void FluidEngine::update_ends() {
    const std::span<const std::uint32_t> changed = links_.settle();
    free_flows_.insert(free_flows_.end(), ended_.begin(), ended_.end());
    ended_.clear();

    const bool are_many = changed.size() > 16 && changed.size() > ends_.size() / 8;
    for (const std::uint32_t number : changed) {
        Flow& flow = flows_[number];
        flow.remaining -= flow.rate * (now_ - flow.since);
        flow.since = now_;
        flow.rate = links_.rate(number);
        const double end = flow.remaining > nothing_left * flow.bytes ? now_ + flow.remaining / flow.rate : now_;
        if (are_many) {
            ends_.set_without_order({end, flow.sequence, number});
        } else {
            ends_.set({end, flow.sequence, number});
        }
    }
    if (are_many) {
        ends_.restore_order();
    }
}

/// Moves on to the next instant at which something is due. Returns: whether there is one.
bool FluidEngine::advance() {
    if (timers_.empty() && ends_.empty()) {
        return false;
    }
    double next = std::numeric_limits<double>::infinity();
    if (!timers_.empty()) {
        next = timers_.next();
    }
    if (!ends_.empty()) {
        next = std::min(next, ends_.top().time);
    }
    now_ = std::max(now_, next);
    const double latest = now_ * (1 + same_instant);
    timers_.take_due(latest, instant_);
    while (!ends_.empty() && ends_.top().time <= latest) {
        const EventHeap::Event event = ends_.pop();
        instant_.add(Instant::Kind::flow, event.sequence, flows_[event.id].token);
        links_.remove(event.id);
        ended_.push_back(event.id);
    }
    instant_.sort();
    return true;
}

}  // namespace

std::unique_ptr<Engine> make_fluid_engine(const fabric::Fabric& fabric) {
    return std::make_unique<FluidEngine>(fabric);
}

}  // namespace lockstep::engine
