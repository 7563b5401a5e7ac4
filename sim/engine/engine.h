#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::engine {

/// The caller's own number for a timer or flow; handed back when it is due.
using Token = std::uint64_t;

/// A route that an engine knows, by its number there.
enum class RouteId : std::uint32_t {};

/// What an engine tells the simulation that drives it. Handlers may start flows and set timers.
class Events {
  public:
    virtual ~Events() = default;
    virtual void on_timer(Token token) = 0;
    /// The flow's last byte has arrived.
    virtual void on_flow_end(Token token) = 0;
};

/// Simulated time plus fluid flows. At any moment the flows that are under way share the links max-min fairly: the
/// smallest rate is as large as possible, then the next smallest, and so on, where a flow of rate r uses share * r of
/// each link of its route. A flow has no latency of its own: who drives the engine spends it before the flow starts.
/// Flows of 0 bytes end at once. Things that happen at the same instant are reported in the order in which they were
/// started.
class Engine {
  public:
    virtual ~Engine() = default;

    virtual Seconds now() const = 0;
    /// Requires: delay >= 0.
    virtual void set_timer(Seconds delay, Token token) = 0;
    /// Returns: the route's number here, the same for the same route. It must stay as it is while the engine lives,
    /// unless it is empty. Throws: std::invalid_argument for a link that does not exist or a share that is not above 0.
    virtual RouteId know(const fabric::Route& route) = 0;
    /// An empty route is infinitely fast. `bytes` may be fractional.
    virtual void start_flow(RouteId route, double bytes, Token token) = 0;
    void start_flow(const fabric::Route& route, double bytes, Token token) { start_flow(know(route), bytes, token); }
    /// Works until nothing is left to happen. Returns: how many timers and flow ends were reported.
    virtual std::uint64_t run(Events& events) = 0;

    /// Flows under way across each link now, by LinkId.
    virtual fabric::LinkLoads loads() const = 0;
};

/// Makes an engine over the links of `fabric`, which must outlive it.
using MakeEngine = std::unique_ptr<Engine> (*)(const fabric::Fabric& fabric);

struct EngineKind {
    std::string name;     ///< `fluid`, `simgrid`
    std::string summary;  ///< one line
    MakeEngine make;
    bool works_in_threads;  ///< whether several can work at once, each on a thread of its own
};

}  // namespace lockstep::engine
