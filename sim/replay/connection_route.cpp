#include "sim/replay/connection_route.h"

#include <vector>

namespace lockstep::replay {

const fabric::Route& found_route(const PreparedSchedule& schedule, const Connection& connection, fabric::Router& router,
                                 fabric::LinkLoads loads) {
    if (connection.carrier == Carrier::message) {
        return router.route(schedule.gpu(connection.from), schedule.gpu(connection.to), connection.channel, loads);
    }
    std::vector<VertexId> members;
    for (const RankId member : schedule.group(connection.group)) {
        members.push_back(schedule.gpu(member));
    }
    switch (connection.carrier) {
        case Carrier::reduction:
            return router.reduction_route(members, schedule.gpu(connection.from));
        case Carrier::sum:
            return router.sum_route(members);
        default:
            return router.multicast_route(members, schedule.gpu(connection.from));
    }
}

}  // namespace lockstep::replay
