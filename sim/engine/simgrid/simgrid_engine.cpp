#include "sim/engine/simgrid/simgrid_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <deque>
#include <exception>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "sim/base/diagnostics.h"
#include "sim/engine/arguments.h"
#include "sim/engine/instant.h"
#include "sim/engine/known_routes.h"
#include "sim/engine/simgrid/whole_shares.h"
#include "sim/engine/timer_queue.h"

namespace lockstep::engine {

namespace {

namespace s4u = ::simgrid::s4u;
namespace kernel = ::simgrid::kernel;

// A split is passed on by listing a link several times; with longer routes than this SimGrid crawls.
constexpr std::uint32_t longest_route = 10'000;

/// SimGrid's engine takes over the process's signal and terminate handlers: this gives them back.
class HandlersKept {
  public:
    HandlersKept() : terminate_(std::get_terminate()) {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            sigaction(signals[i], nullptr, &actions_[i]);
        }
    }
    ~HandlersKept() {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            sigaction(signals[i], &actions_[i], nullptr);
        }
        std::set_terminate(terminate_);
    }
    HandlersKept(const HandlersKept&) = delete;
    HandlersKept& operator=(const HandlersKept&) = delete;

  private:
    static constexpr std::array signals{SIGINT, SIGSEGV, SIGBUS};
    std::array<struct sigaction, signals.size()> actions_{};
    std::terminate_handler terminate_;
};

std::unique_ptr<s4u::Engine> make_simulation() {
    if (s4u::Engine::has_instance()) {
        throw std::logic_error("a simgrid engine is alive already: SimGrid allows one at a time in a process");
    }
    // Read by the first engine of a process and valid from then on. maxmin/precision is the part of a link below which
    // SimGrid takes it for full: its default, 1e-5, would show in the results.
    std::vector<std::string> arguments{"lockstep",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=network/weight-S:0",
                                       "--cfg=maxmin/precision:1e-12",
                                       "--cfg=contexts/factory:thread",
                                       "--log=root.thresh:warning"};
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
    }
    int count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    // SimGrid's clock goes on from one engine of a process to the next, so that results would depend on what ran
    // before. Its class is in no installed header, hence by its symbol.
    extern double simgrid_clock __asm__("_ZN7simgrid6kernel10EngineImpl4now_E");
    simgrid_clock = 0.0;
    const HandlersKept handlers;
    return std::make_unique<s4u::Engine>(&count, pointers.data());
}

/// Sends a flow over the links that the engine laid out just before it started it.
class NextRouteZone final : public kernel::routing::NetZoneImpl {
  public:
    NextRouteZone() : NetZoneImpl("fabric") {}

    std::vector<kernel::resource::StandardLinkImpl*>& next() { return next_; }

    void get_local_route(const kernel::routing::NetPoint* /*src*/, const kernel::routing::NetPoint* /*dst*/,
                         kernel::routing::Route* into, double* /*latency*/) override {
        into->link_list_ = next_;
    }

  private:
    std::vector<kernel::resource::StandardLinkImpl*> next_;
};

class SimgridEngine final : public Engine {
  public:
    explicit SimgridEngine(const fabric::Fabric& fabric);
    ~SimgridEngine() override;
    SimgridEngine(const SimgridEngine&) = delete;
    SimgridEngine& operator=(const SimgridEngine&) = delete;

    Seconds now() const override { return {now_}; }
    void set_timer(Seconds delay, Token token) override;
    RouteId know(const fabric::Route& route) override { return routes_.number(route, links_.size()); }
    void start_flow(RouteId route, double bytes, Token token) override;
    std::uint64_t run(Events& events) override;
    fabric::LinkLoads loads() const override { return loads_; }

  private:
    struct Flow {
        SimgridEngine* engine = nullptr;
        Token token = 0;
        std::uint64_t sequence = 0;
        const fabric::Route* route = nullptr;
        s4u::CommPtr comm;
    };

    static void on_completion(const s4u::Activity& activity);
    bool advance();
    void match_precision_to(double date);

    std::unique_ptr<s4u::Engine> simulation_;
    NextRouteZone* zone_ = nullptr;  // SimGrid owns it
    s4u::Host* source_ = nullptr;
    s4u::Host* sink_ = nullptr;
    std::vector<kernel::resource::StandardLinkImpl*> links_;
    kernel::resource::Model* network_ = nullptr;
    std::set<s4u::Activity*> stop_;  // SimGrid's loop returns when this is not empty
    double precision_ = 0.0;

    double now_ = 0.0;
    std::uint64_t sequence_ = 0;
    bool running_ = false;
    Instant instant_;

    TimerQueue timers_;

    KnownRoutes routes_;
    std::deque<Flow> flows_;  // SimGrid keeps pointers to them
    std::vector<Flow*> free_flows_;
    std::vector<Flow*> arrived_;
    std::size_t under_way_ = 0;
    std::vector<std::uint32_t> loads_;
};

SimgridEngine::SimgridEngine(const fabric::Fabric& fabric)
    : simulation_(make_simulation()), loads_(fabric.link_count(), 0) {
    // SimGrid cannot take the handler back: it is set once and finds the engine through the flow.
    static const bool is_set = [] {
        s4u::Activity::on_completion_cb(&SimgridEngine::on_completion);
        return true;
    }();
    static_cast<void>(is_set);

    zone_ = new NextRouteZone;  // registers itself with SimGrid, which deletes it
    zone_->set_parent(nullptr);
    source_ = zone_->create_host("source", std::vector<double>{1.0});
    sink_ = zone_->create_host("sink", std::vector<double>{1.0});
    links_.reserve(fabric.link_count());
    for (std::size_t link = 0; link < fabric.link_count(); ++link) {
        // No latency: SimGrid would weigh the shares by it.
        s4u::Link* made =
            zone_->create_link(fmt::format("{}", link), {fabric.link(id_at<LinkId>(link)).bandwidth.value});
        links_.push_back(made->seal()->get_impl());
    }
    zone_->seal();
    for (kernel::resource::Model* model : simulation_->get_all_models()) {
        if (model->get_name() == "Network_CM02") {
            network_ = model;
        }
    }
    if (network_ == nullptr) {
        throw std::logic_error("SimGrid was configured by somebody else: its network model is not CM02");
    }
    simulation_->track_vetoed_activities(&stop_);
}

SimgridEngine::~SimgridEngine() {
    if (under_way_ > 0) {  // a handler threw
        for (Flow& flow : flows_) {
            if (flow.comm) {
                flow.comm->cancel();
            }
        }
        simulation_->run();  // lets SimGrid clear away what was cancelled
    }
    simulation_->track_vetoed_activities(nullptr);
}

void SimgridEngine::on_completion(const s4u::Activity& activity) {
    if (auto* flow = activity.get_data<Flow>(); flow != nullptr) {
        flow->engine->arrived_.push_back(flow);
        flow->engine->stop_.insert(nullptr);
    }
}

void SimgridEngine::set_timer(Seconds delay, Token token) {
    require_delay(delay);
    const std::uint64_t sequence = sequence_++;
    if (delay.value == 0) {
        instant_.add(Instant::Kind::timer, sequence, token);
        return;
    }
    timers_.add(now_ + delay.value, sequence, token);
}

void SimgridEngine::start_flow(RouteId known, double bytes, Token token) {
    require_bytes(bytes);
    const std::uint64_t sequence = sequence_++;
    if (bytes == 0 || known == RouteId{0}) {
        instant_.add(Instant::Kind::flow, sequence, token);
        return;
    }
    const fabric::Route& route = routes_.at(known);
    const auto shares = whole_shares(route, longest_route);
    if (!shares) {
        throw InputError(
            fmt::format("SimGrid cannot represent how this flow is split over its {} links (shares must be ratios of "
                        "small whole numbers), use the engine `fluid`",
                        route.links.size()));
    }
    // A link listed `parts` times takes that many times the rate of SimGrid's flow, which is our rate divided by
    // `whole`.
    zone_->next().clear();
    for (std::size_t part = 0; part < shares->parts.size(); ++part) {
        const std::size_t link = index(route.links[part].link);
        zone_->next().insert(zone_->next().end(), shares->parts[part], links_[link]);
    }
    if (free_flows_.empty()) {
        free_flows_.push_back(&flows_.emplace_back());
    }
    Flow& flow = *free_flows_.back();
    free_flows_.pop_back();
    flow = {this, token, sequence, &route, s4u::Comm::sendto_init(source_, sink_)};
    flow.comm->set_data(&flow);
    flow.comm->set_payload_size(1);  // whole bytes only: replaced below
    flow.comm->start();
    kernel::resource::Action& action = network_->get_started_action_set()->back();
    const double size = bytes / shares->whole;
    action.set_cost(size);
    action.set_remains(size);
    // SimGrid's fair share is rate * penalty: with this one it compares our rates.
    action.set_sharing_penalty(shares->whole);

    ++under_way_;
    for (const fabric::RouteShare& part : route.links) {
        ++loads_[index(part.link)];
    }
}

std::uint64_t SimgridEngine::run(Events& events) {
    const RunGuard guard(running_);
    std::uint64_t reported = 0;
    do {
        reported += instant_.report(events);
    } while (advance());
    return reported;
}

/// SimGrid takes dates that differ by less than its precision for one instant, and stops for good if its clock passes a
/// date by more: rounding at the next date must stay within it, and short transfers above it.
void SimgridEngine::match_precision_to(double date) {
    const double wanted = std::max(std::exp2(std::ilogb(date) + 1) * same_instant, 0x1p-200);
    if (wanted != precision_) {
        precision_ = wanted;
        s4u::Engine::set_config("surf/precision", wanted);
    }
}

/// Lets SimGrid run to the next instant at which something is due. Returns: whether there is one.
bool SimgridEngine::advance() {
    if (timers_.empty() && under_way_ == 0) {
        return false;
    }
    const double start = s4u::Engine::get_clock();
    double next =
        under_way_ > 0 ? start + network_->next_occurring_event(start) : std::numeric_limits<double>::infinity();
    kernel::timer::Timer* alarm = nullptr;
    bool has_rung = false;
    if (!timers_.empty()) {
        const double date = std::max(timers_.next(), start);
        next = std::min(next, date);
        alarm = kernel::timer::Timer::set(date, [this, &has_rung] {
            has_rung = true;
            stop_.insert(nullptr);
        });
    }
    match_precision_to(next);
    // SimGrid also enters each flow that it could not start until its second host was named. Left in, they would end
    // its loop after a single step, which may come to rest a rounding error short of the alarm.
    stop_.clear();
    simulation_->run();
    if (alarm != nullptr && !has_rung) {
        alarm->remove();
    }

    now_ = std::max(now_, s4u::Engine::get_clock());
    if (has_rung) {
        now_ = std::max(now_, timers_.next());
    }
    if (arrived_.empty() && !has_rung) {
        throw std::logic_error(fmt::format("SimGrid stopped at {} s with {} flows under way", now_, under_way_));
    }
    timers_.take_due(now_ * (1 + same_instant), instant_);
    for (Flow* flow : arrived_) {
        instant_.add(Instant::Kind::flow, flow->sequence, flow->token);
        for (const fabric::RouteShare& part : flow->route->links) {
            --loads_[index(part.link)];
        }
        --under_way_;
        flow->comm = nullptr;  // or SimGrid's memory grows with every flow
        free_flows_.push_back(flow);
    }
    arrived_.clear();
    instant_.sort();
    return true;
}

}  // namespace

std::unique_ptr<Engine> make_simgrid_engine(const fabric::Fabric& fabric) {
    return std::make_unique<SimgridEngine>(fabric);
}

}  // namespace lockstep::engine
