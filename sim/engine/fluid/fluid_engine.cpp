#include "sim/engine/fluid/fluid_engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <span>

#include "sim/engine/arguments.h"

namespace lockstep::engine {

namespace {

// A flow with no more than this part of its bytes left has ended: the rest is rounding.
constexpr double nothing_left = 1e-12;

// How far the bytes that rates add up to may be off, by rounding, from those that were sent, or that pass in the time
// since the beginning.
constexpr double rounding = 1e-9;

std::vector<double> capacities_of(const fabric::Fabric& fabric) {
    std::vector<double> capacities(fabric.link_count());
    for (std::size_t link = 0; link < capacities.size(); ++link) {
        capacities[link] = fabric.link(id_at<LinkId>(link)).bandwidth.value;
    }
    return capacities;
}

}  // namespace

FluidEngine::FluidEngine(const fabric::Fabric& fabric) : links_(capacities_of(fabric)) {}

void FluidEngine::set_timer(Seconds delay, Token token) {
    require_delay(delay);
    const std::uint64_t sequence = sequence_++;
    if (delay.value == 0) {
        instant_.add(Instant::Kind::timer, sequence, token);
        return;
    }
    timers_.add(now_ + delay.value, sequence, token);
}

void FluidEngine::start_flow(RouteId route, double bytes, Token token) {
    require_bytes(bytes);
    if (bytes == 0 || route == RouteId{0}) {
        instant_.add(Instant::Kind::flow, sequence_++, token);
        return;
    }
    if (free_flows_.empty()) {
        free_flows_.push_back(static_cast<std::uint32_t>(flows_.size()));
        flows_.emplace_back();
    }
    const std::uint32_t flow = free_flows_.back();
    links_.add(flow, route, routes_);
    free_flows_.pop_back();
    flows_[flow] = {token, sequence_++, bytes, bytes, now_, 0.0};
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

    const bool are_many = changed.size() > 16 && changed.size() > ends_.date_count() / 8;
    const auto order = are_many ? EventQueue::Order::broken : EventQueue::Order::kept;
    for (const std::uint32_t number : changed) {
        Flow& flow = flows_[number];
        flow.remaining -= flow.rate * (now_ - flow.since);
        flow.since = now_;
        flow.rate = links_.rate(number);
        const double end = flow.remaining > nothing_left * flow.bytes ? now_ + flow.remaining / flow.rate : now_;
        ends_.set(end, number, order);
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
        next = std::min(next, ends_.next());
    }
    now_ = std::max(now_, next);
    const double latest = now_ * (1 + same_instant);
    timers_.take_due(latest, instant_);
    while (!ends_.empty() && ends_.next() <= latest) {
        ends_.pop([this](std::uint32_t number) {
            const Flow& flow = flows_[number];
            assert(has_arrived(flow));
            instant_.add(Instant::Kind::flow, flow.sequence, flow.token);
            links_.remove(number);
            ended_.push_back(number);
        });
    }
    instant_.sort();
    return true;
}

/// Whether the rates it had have carried the flow's bytes by now, but for rounding.
bool FluidEngine::has_arrived(const Flow& flow) const {
    return std::abs(flow.remaining - flow.rate * (now_ - flow.since)) <=
           rounding * std::max(flow.bytes, flow.rate * now_);
}

std::unique_ptr<Engine> make_fluid_engine(const fabric::Fabric& fabric) {
    return std::make_unique<FluidEngine>(fabric);
}

}  // namespace lockstep::engine
