#include "sim/replay/play.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

constexpr std::size_t leftovers_named = 8;

/// Whether a message of such a connection waits for contributions of all members.
bool gathers(Carrier carrier) { return carrier == Carrier::reduction || carrier == Carrier::sum; }

void enter(ThreadState& state, const StepLoop& loop) {
    state.step = loop.first_step;
    state.first_step = loop.first_step;
    state.end_step = loop.first_step + loop.step_count;
    state.iterations_left = loop.iterations - 1;
}

}  // namespace

void Play::reset(PreparedSchedule& played, std::vector<double>* into) {
    schedule = &played;
    link_bytes = into;
    threads.assign(played.threads().size(), {});
    for (std::size_t at = 0; at < threads.size(); ++at) {
        threads[at].rank = played.threads()[at].rank;
        enter(threads[at], played.loop(played.threads()[at].first_loop));
    }
    const std::span<const Connection> connections = std::as_const(played).connections();
    lanes.assign(connections.size(), {});
    reductions.clear();
    for (std::size_t at = 0; at < lanes.size(); ++at) {
        const Connection& connection = connections[at];
        lanes[at].from = connection.from;
        lanes[at].stands_for = connection.stands_for;
        lanes[at].carrier = connection.carrier;
        if (gathers(connection.carrier)) {
            reductions.resize(connections.size());
            reductions[at].given.assign(played.group(connection.group).size(), 0);
        }
    }
    inboxes.assign(played.inbox_count(), {});
    draining_threads.clear();
    open.resize(played.rank_count());
    for (std::size_t rank = 0; rank < played.rank_count(); ++rank) {
        open[rank] = played.thread_count(id_at<RankId>(rank));
    }
    arrived.assign(played.rank_count(), false);
    ranks_left = played.rank_count();
    ranks_to_tell = played.rank_count();
}

bool Play::enter_next_loop(ThreadState& state) const {
    const StepThread& thread = schedule->threads()[static_cast<std::size_t>(&state - threads.data())];
    if (++state.loop == thread.loop_count) {
        state.loop = 0;
        if (++state.round == thread.rounds) {
            return false;
        }
    }
    enter(state, schedule->loop(thread.first_loop + state.loop));
    return true;
}

double Play::own_bytes(const ThreadState& state) const {
    const StepThread& thread = schedule->threads()[static_cast<std::size_t>(&state - threads.data())];
    const std::uint32_t iteration =
        schedule->loop(thread.first_loop + state.loop).iterations - 1 - state.iterations_left;
    return schedule->own_bytes_of(state.step, state.rank, iteration, state.round * thread.round_stride);
}

void Play::count(const fabric::Route& route, double bytes) {
    if (link_bytes != nullptr) {
        for (const fabric::RouteShare& share : route.links) {
            (*link_bytes)[index(share.link)] += share.share * bytes;
        }
    }
}

void Play::count_lanes() {
    for (std::size_t at = 0; at < lanes.size(); ++at) {
        if (lanes[at].has_route) {
            count(*std::as_const(*schedule).connections()[at].route, std::exchange(lanes[at].counted_bytes, 0.0));
        }
    }
}

void refuse_leftovers(const Play& play) {
    std::vector<std::string> lines;
    std::size_t more = 0;
    const PreparedSchedule& schedule = *play.schedule;
    for (std::size_t number = 0; number < play.lanes.size(); ++number) {
        const Connection& connection = schedule.connections()[number];
        const bool has_members = has_inbox_per_member(connection.carrier);
        const std::size_t receivers = has_members ? schedule.group(connection.group).size() : 1;
        for (std::size_t at = 0; at < receivers; ++at) {
            const Inbox& inbox = has_members ? play.inboxes[connection.first_inbox + at] : play.lanes[number].inbox;
            if (inbox.arrived == 0) {
                continue;
            }
            if (lines.size() == leftovers_named) {
                ++more;
                continue;
            }
            const RankId receiver = has_members ? schedule.group(connection.group)[at] : connection.to;
            lines.push_back(fmt::format("rank {} does not take {} message{} from rank {} (channel {})", index(receiver),
                                        inbox.arrived, inbox.arrived == 1 ? "" : "s", index(connection.from),
                                        connection.channel));
        }
    }
    if (!lines.empty()) {
        throw SimulationError(fmt::format("messages are left over: {}{}", fmt::join(lines, "; "),
                                          more > 0 ? fmt::format("; and {} more", more) : ""));
    }
}

std::vector<std::string> waiting_in(const Play& play, std::size_t most) {
    std::vector<std::string> lines;
    const PreparedSchedule& schedule = *play.schedule;
    for (std::size_t rank = 0; rank < schedule.rank_count() && lines.size() < most; ++rank) {
        if (!play.arrived[rank]) {
            lines.push_back(fmt::format("rank {} has not started it", rank));
        }
    }
    for (std::size_t at = 0; at < play.threads.size() && lines.size() < most; ++at) {
        const ThreadState& state = play.threads[at];
        if (state.has_ended || !play.arrived[index(state.rank)]) {
            continue;
        }
        const Step& step = schedule.steps()[state.step];
        if (step.verb == Verb::wait) {
            lines.push_back(fmt::format("rank {} waits for a signal of its own", index(state.rank)));
            continue;
        }
        const Connection& connection = schedule.connections()[step.connection];
        const std::string_view what = connection.carrier == Carrier::message     ? "a message from"
                                      : connection.carrier == Carrier::reduction ? "the in-switch reduction for"
                                      : connection.carrier == Carrier::sum       ? "the in-switch sum of the group of"
                                                                                 : "the multicast of";
        lines.push_back(fmt::format("rank {} waits for {} rank {} (channel {})", index(state.rank), what,
                                    index(connection.from), connection.channel));
    }
    return lines;
}

}  // namespace lockstep::replay
