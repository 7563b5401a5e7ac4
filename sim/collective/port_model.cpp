#include "sim/collective/port_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/collective/reach.h"

namespace lockstep::collective {

namespace {

/// Routes differ by the rounding of sums in their latencies only.
bool alike(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); }

/// Like flows that start together at one rank, and how fast all of them together can be.
class Fan {
  public:
    explicit Fan(const fabric::Fabric& fabric) : fabric_(&fabric), load_(fabric.link_count(), 0.0) {}

    void add(const fabric::Route& route) {
        ++flows_;
        for (const fabric::RouteShare& share : route.links) {
            load_[index(share.link)] += share.share;
        }
    }

    double rate() const {
        double each = std::numeric_limits<double>::infinity();
        for (std::size_t at = 0; at < load_.size(); ++at) {
            if (load_[at] > 0) {
                each = std::min(each, fabric_->link(id_at<LinkId>(at)).bandwidth.value / load_[at]);
            }
        }
        return each * flows_;
    }

  private:
    const fabric::Fabric* fabric_;
    std::vector<double> load_;  // by link
    double flows_ = 0;
};

}  // namespace

std::optional<PortModel> port_model(const Communicator& communicator, fabric::Router& router) {
    const std::size_t ranks = communicator.size();
    if (ranks < 2) {
        return std::nullopt;
    }
    const fabric::Fabric& fabric = communicator.fabric();
    const bool looks_at_loads = router.policy() == fabric::RoutingPolicy::adaptive;
    const std::vector<std::uint32_t> no_loads(looks_at_loads ? fabric.link_count() : 0, 0);
    std::optional<PortModel> model;
    const Reach reach(communicator);
    bool all_joined = true;
    Fan fan(fabric);
    fabric::Route route;
    const auto look_at = [&](std::size_t from, std::size_t to) {
        if (!reach.joins(id_at<RankId>(from), id_at<RankId>(to))) {
            all_joined = false;
            return;
        }
        try {
            router.find_route(communicator.gpu(id_at<RankId>(from)), communicator.gpu(id_at<RankId>(to)), 0, no_loads,
                              route);
        } catch (const SimulationError&) {  // no path: algorithms that need one say so
            all_joined = false;
            return;
        }
        if (from == 0) {
            fan.add(route);
        }
        double rate = std::numeric_limits<double>::infinity();
        for (const fabric::RouteShare& share : route.links) {
            rate = std::min(rate, fabric.link(share.link).bandwidth.value / share.share);
        }
        if (!model) {
            model = PortModel{route.latency, {rate}};
            return;
        }
        model->uniform =
            model->uniform && alike(model->alpha.value, route.latency.value) && alike(model->rate.value, rate);
        model->alpha = std::max(model->alpha, route.latency);
        model->rate = std::min(model->rate, Bandwidth{rate});
    };
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        look_at(rank, (rank + 1) % ranks);
        if (rank > 1) {
            look_at(0, rank);
        }
    }
    if (model) {
        model->uniform = model->uniform && all_joined;
        constexpr double rounding = 1e-9;
        model->one_port = fan.rate() <= model->rate.value * (1 + rounding);
    }
    return model;
}

Seconds time_of(const Cost& cost, const PortModel& model) {
    return {cost.alphas * model.alpha.value + cost.bytes / model.rate.value};
}

}  // namespace lockstep::collective
