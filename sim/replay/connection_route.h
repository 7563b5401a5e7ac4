#pragma once

#include "sim/fabric/route.h"
#include "sim/replay/prepared_schedule.h"

namespace lockstep::replay {

/// The route that the router finds for a connection of a schedule, with the links loaded as they are now (read where
/// routing is adaptive; else it may be empty). Throws: as Router.
const fabric::Route& found_route(const PreparedSchedule& schedule, const Connection& connection, fabric::Router& router,
                                 fabric::LinkLoads loads);

}  // namespace lockstep::replay
