#include "sim/replay/player.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/replay/connection_route.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

// A token says what it is for in its two top bits, then which performance and which connection.
enum class Purpose : std::uint64_t { conductor = 0, message_ready = 1, flow_end = 2 };
constexpr unsigned purpose_shift = 62;
constexpr unsigned play_shift = 32;
constexpr std::uint64_t play_mask = (1ULL << (purpose_shift - play_shift)) - 1;
constexpr std::uint64_t conductor_mask = (1ULL << purpose_shift) - 1;

constexpr engine::Token token_for(Purpose purpose, std::uint32_t play, std::uint32_t connection) {
    return (static_cast<std::uint64_t>(purpose) << purpose_shift) | (static_cast<std::uint64_t>(play) << play_shift) |
           connection;
}

/// Whether a message of such a connection waits for contributions of all members.
bool gathers(Carrier carrier) { return carrier == Carrier::reduction || carrier == Carrier::sum; }

constexpr std::uint32_t none = UINT32_MAX;
constexpr std::size_t leftovers_named = 8;
constexpr std::uint64_t messages_per_progress = 1ULL << 16U;

}  // namespace

struct Player::Message {
    double bytes = 0;
    Seconds ready_at;  ///< when its latency is spent
    const fabric::Route* route = nullptr;
    std::uint32_t next = none;  ///< the one behind it on its connection
};

struct Player::ThreadState {
    std::uint32_t round = 0;
    std::uint32_t loop = 0;
    std::uint32_t iteration = 0;
    std::uint32_t step = 0;
    bool ended = false;
};

struct Player::ConnectionState {
    std::uint32_t head = none;  ///< the message that moves or moves next
    std::uint32_t tail = none;
    const fabric::Route* counted_route = nullptr;  ///< of the bytes not yet added to the links
    double counted_bytes = 0.0;
    std::uint32_t draining_thread = none;  ///< waits until nothing is under way
};

struct Player::Inbox {
    std::uint32_t arrived = 0;  ///< and not yet taken
    std::uint32_t waiting_thread = none;
};

/// Contributions to the reductions of one connection that are not complete yet.
struct Player::Reduction {
    std::vector<std::uint64_t> given;      ///< by member: how many it has contributed
    std::deque<std::uint32_t> incomplete;  ///< contributions to each reduction not complete, from number `complete` on
    std::uint64_t complete = 0;
};

struct Player::Play {
    PreparedSchedule* schedule = nullptr;
    std::vector<ThreadState> threads;
    std::vector<ConnectionState> connections;
    std::vector<Inbox> inboxes;
    std::vector<Reduction> reductions;  ///< by connection; empty when the schedule has none
    std::vector<std::uint32_t> open;    ///< by rank: threads not ended plus messages not arrived
    std::vector<bool> arrived;
    std::size_t ranks_left = 0;     ///< that have not ended
    std::size_t ranks_to_tell = 0;  ///< whose end the conductor has not been told
    std::vector<double>* link_bytes = nullptr;
};

Player::Player(engine::Engine& engine, fabric::Router& router, Conductor& conductor)
    : engine_(&engine), router_(&router), conductor_(&conductor) {}

Player::~Player() = default;

void Player::set_timer(Seconds delay, std::uint64_t token) { engine_->set_timer(delay, token & conductor_mask); }

PlayId Player::open(PreparedSchedule& schedule, std::vector<double>* link_bytes) {
    std::uint32_t at = 0;
    if (free_plays_.empty()) {
        at = static_cast<std::uint32_t>(plays_.size());
        plays_.emplace_back();
    } else {
        at = free_plays_.back();
        free_plays_.pop_back();
    }
    Play& play = plays_[at];
    play.schedule = &schedule;
    play.threads.assign(schedule.threads().size(), {});
    play.connections.assign(schedule.connections().size(), {});
    play.inboxes.assign(schedule.inbox_count(), {});
    play.reductions.clear();
    const auto connections = schedule.connections();
    if (std::any_of(connections.begin(), connections.end(),
                    [](const Connection& connection) { return gathers(connection.carrier); })) {
        play.reductions.resize(connections.size());
        for (std::size_t i = 0; i < connections.size(); ++i) {
            if (gathers(connections[i].carrier)) {
                play.reductions[i].given.assign(schedule.group(connections[i].group).size(), 0);
            }
        }
    }
    play.open.resize(schedule.rank_count());
    for (std::size_t rank = 0; rank < schedule.rank_count(); ++rank) {
        play.open[rank] = schedule.thread_count(id_at<RankId>(rank));
    }
    play.arrived.assign(schedule.rank_count(), false);
    play.ranks_left = schedule.rank_count();
    play.ranks_to_tell = schedule.rank_count();
    play.link_bytes = link_bytes;
    return static_cast<PlayId>(at);
}

void Player::arrive(PlayId id, RankId rank) {
    const auto play_at = static_cast<std::uint32_t>(id);
    Play& play = plays_[play_at];
    play.arrived[index(rank)] = true;
    const std::uint32_t first = play.schedule->first_thread(rank);
    const std::uint32_t count = play.schedule->thread_count(rank);
    if (count == 0) {
        play.open[index(rank)] = 1;
        settle(play_at, rank);
        return;
    }
    for (std::uint32_t thread = first; thread < first + count; ++thread) {
        advance(play_at, thread);
    }
}

void Player::run() {
    tell_ended();
    use_.events += engine_->run(*this);
}

void Player::on_timer(engine::Token token) {
    if (static_cast<Purpose>(token >> purpose_shift) == Purpose::conductor) {
        conductor_->on_timer(token & conductor_mask);
    } else {
        move_head(static_cast<std::uint32_t>((token >> play_shift) & play_mask), static_cast<std::uint32_t>(token));
    }
    tell_ended();
}

void Player::on_flow_end(engine::Token token) {
    const auto play_at = static_cast<std::uint32_t>((token >> play_shift) & play_mask);
    const auto connection_at = static_cast<std::uint32_t>(token);
    Play& play = plays_[play_at];
    ConnectionState& state = play.connections[connection_at];
    const Connection& connection = std::as_const(*play.schedule).connections()[connection_at];

    const std::uint32_t arrived = state.head;
    state.head = messages_[arrived].next;
    if (state.head == none) {
        state.tail = none;
    }
    free_messages_.push_back(arrived);
    // The next message first: it is ready now or has a timer of its own to wait for, and links should not idle
    // meanwhile.
    start_head(play_at, connection_at);

    switch (connection.carrier) {
        case Carrier::message:
            deliver(play_at, connection.first_inbox);
            if (state.head == none && state.draining_thread != none) {
                advance(play_at, std::exchange(state.draining_thread, none));
            }
            settle(play_at, connection.from);
            break;
        case Carrier::reduction:
            deliver(play_at, connection.first_inbox);
            for (const RankId member : play.schedule->group(connection.group)) {
                settle(play_at, member);
            }
            break;
        case Carrier::multicast: {
            const auto members = play.schedule->group(connection.group).size();
            for (std::uint32_t member = 0; member < members; ++member) {
                deliver(play_at, connection.first_inbox + member);
            }
            settle(play_at, connection.from);
            break;
        }
        case Carrier::sum: {
            const auto members = play.schedule->group(connection.group);
            for (std::uint32_t member = 0; member < members.size(); ++member) {
                deliver(play_at, connection.first_inbox + member);
            }
            for (const RankId member : members) {
                settle(play_at, member);
            }
            break;
        }
    }
    tell_ended();
}

/// Runs a thread until it has to wait or ends.
void Player::advance(std::uint32_t play_at, std::uint32_t thread_at) {
    Play& play = plays_[play_at];
    const PreparedSchedule& schedule = *play.schedule;
    const StepThread& thread = schedule.threads()[thread_at];
    ThreadState& state = play.threads[thread_at];
    while (!state.ended) {
        const StepLoop& loop = schedule.loop(thread.first_loop + state.loop);
        const Step& step = schedule.step(loop.first_step + state.step);
        const std::uint32_t chunk = step.chunk.at(state.iteration) + state.round * thread.round_stride;
        switch (step.verb) {
            case Verb::send:
            case Verb::multicast:
                ++play.open[index(thread.rank)];
                post(play_at, step.connection, schedule.bytes_of(step, thread.rank, chunk));
                break;
            case Verb::contribute:
            case Verb::contribute_to_all:
                ++play.open[index(thread.rank)];
                contribute(play_at, step, schedule.bytes_of(step, thread.rank, chunk));
                break;
            case Verb::copy:
            case Verb::reduce:
                break;
            case Verb::signal:
                deliver(play_at, step.slot);
                break;
            case Verb::drain:
                if (play.connections[step.connection].head != none) {
                    play.connections[step.connection].draining_thread = thread_at;
                    return;
                }
                break;
            case Verb::receive:
            case Verb::receive_reduce:
            case Verb::reduce_in_switch:
            case Verb::receive_multicast:
            case Verb::receive_sum:
            case Verb::wait: {
                Inbox& inbox = play.inboxes[step.slot];
                if (inbox.arrived == 0) {
                    inbox.waiting_thread = thread_at;
                    return;
                }
                --inbox.arrived;
                break;
            }
        }
        // To the next instruction: body, then iterations, then blocks, then rounds.
        if (++state.step < loop.step_count) {
            continue;
        }
        state.step = 0;
        if (++state.iteration < loop.iterations) {
            continue;
        }
        state.iteration = 0;
        if (++state.loop < thread.loop_count) {
            continue;
        }
        state.loop = 0;
        state.ended = ++state.round == thread.rounds;
    }
    settle(play_at, thread.rank);
}

void Player::contribute(std::uint32_t play_at, const Step& step, double bytes) {
    Play& play = plays_[play_at];
    Reduction& reduction = play.reductions[step.connection];
    const std::uint64_t number = reduction.given[step.slot]++;
    const auto place = static_cast<std::size_t>(number - reduction.complete);
    if (reduction.incomplete.size() <= place) {
        reduction.incomplete.resize(place + 1, 0);
    }
    ++reduction.incomplete[place];
    // A member's contributions come in order, so only the oldest can be complete.
    while (!reduction.incomplete.empty() && reduction.incomplete.front() == reduction.given.size()) {
        reduction.incomplete.pop_front();
        ++reduction.complete;
        post(play_at, step.connection, bytes);
    }
}

const fabric::Route& Player::route_of(Play& play, Connection& connection) {
    if (connection.route != nullptr) {
        return *connection.route;
    }
    const fabric::Route& route = found_route(*play.schedule, connection, *router_, engine_->loads());
    if (router_->policy() != fabric::RoutingPolicy::adaptive || connection.carrier != Carrier::message) {
        connection.route = &route;
    }
    return route;
}

void Player::post(std::uint32_t play_at, std::uint32_t connection_at, double bytes) {
    Play& play = plays_[play_at];
    ConnectionState& state = play.connections[connection_at];
    const fabric::Route& route = route_of(play, play.schedule->connections()[connection_at]);
    std::uint32_t at = 0;
    if (free_messages_.empty()) {
        at = static_cast<std::uint32_t>(messages_.size());
        messages_.emplace_back();
    } else {
        at = free_messages_.back();
        free_messages_.pop_back();
    }
    messages_[at] = {bytes, engine_->now() + route.latency, &route, none};
    if (state.tail == none) {
        state.head = at;
    } else {
        messages_[state.tail].next = at;
    }
    state.tail = at;
    use_.messages += play.schedule->connections()[connection_at].stands_for;
    ++use_.simulated_messages;
    if (on_progress && use_.simulated_messages % messages_per_progress == 0) {
        on_progress(engine_->now(), use_.messages);
    }
    if (state.head == at) {
        start_head(play_at, connection_at);
    }
}

/// Lets the first message of an idle connection move, or sets a timer for when its latency is spent. At most one timer
/// is set per connection: always for its head, which only moves when that timer is due.
void Player::start_head(std::uint32_t play_at, std::uint32_t connection_at) {
    const ConnectionState& state = plays_[play_at].connections[connection_at];
    if (state.head == none) {
        return;
    }
    const Seconds wait = messages_[state.head].ready_at - engine_->now();
    if (wait > Seconds{0}) {
        engine_->set_timer(wait, token_for(Purpose::message_ready, play_at, connection_at));
    } else {
        move_head(play_at, connection_at);
    }
}

void Player::move_head(std::uint32_t play_at, std::uint32_t connection_at) {
    Play& play = plays_[play_at];
    ConnectionState& state = play.connections[connection_at];
    Connection& connection = play.schedule->connections()[connection_at];
    Message& message = messages_[state.head];
    if (connection.route == nullptr) {
        // Adaptive: what was found when the message was posted gave its latency (minimal paths are alike in that); the
        // path it takes is the least loaded now, with the flows counted that started an instant ago.
        message.route = &route_of(play, connection);
    }
    if (message.route != state.counted_route) {
        account(play, state);
        state.counted_route = message.route;
    }
    state.counted_bytes += message.bytes;
    engine_->start_flow(*message.route, message.bytes, token_for(Purpose::flow_end, play_at, connection_at));
}

void Player::deliver(std::uint32_t play_at, std::uint32_t inbox_at) {
    Inbox& inbox = plays_[play_at].inboxes[inbox_at];
    ++inbox.arrived;
    if (inbox.waiting_thread != none) {
        const std::uint32_t thread = inbox.waiting_thread;
        inbox.waiting_thread = none;
        advance(play_at, thread);
    }
}

/// A thread of the rank ended or a message of its arrived.
void Player::settle(std::uint32_t play_at, RankId rank) {
    Play& play = plays_[play_at];
    if (--play.open[index(rank)] == 0) {
        ended_.emplace_back(static_cast<PlayId>(play_at), rank);
        if (--play.ranks_left == 0) {
            close(play);
        }
    }
}

void Player::account(Play& play, ConnectionState& state) {
    if (play.link_bytes != nullptr && state.counted_route != nullptr) {
        for (const fabric::RouteShare& share : state.counted_route->links) {
            (*play.link_bytes)[index(share.link)] += share.share * state.counted_bytes;
        }
    }
    state.counted_bytes = 0.0;
}

/// All ranks have ended: nothing refers to the performance any more but the queue of ends.
void Player::close(Play& play) {
    for (ConnectionState& state : play.connections) {
        account(play, state);
    }
    refuse_leftovers(play);
}

/// Throws: SimulationError for messages that arrived and that nobody took: an instruction is missing, and the time
/// would be that of something else.
void Player::refuse_leftovers(const Play& play) {
    std::vector<std::string> lines;
    std::size_t more = 0;
    const PreparedSchedule& schedule = *play.schedule;
    for (const Connection& connection : schedule.connections()) {
        const bool one_receiver = connection.carrier == Carrier::message || connection.carrier == Carrier::reduction;
        const std::size_t receivers = one_receiver ? 1 : schedule.group(connection.group).size();
        for (std::size_t at = 0; at < receivers; ++at) {
            const std::uint32_t left = play.inboxes[connection.first_inbox + at].arrived;
            if (left == 0) {
                continue;
            }
            if (lines.size() == leftovers_named) {
                ++more;
                continue;
            }
            const RankId receiver = one_receiver ? connection.to : schedule.group(connection.group)[at];
            lines.push_back(fmt::format("rank {} does not take {} message{} from rank {} (channel {})", index(receiver),
                                        left, left == 1 ? "" : "s", index(connection.from), connection.channel));
        }
    }
    if (!lines.empty()) {
        throw SimulationError(fmt::format("messages are left over: {}{}", fmt::join(lines, "; "),
                                          more > 0 ? fmt::format("; and {} more", more) : ""));
    }
}

void Player::tell_ended() {
    while (!ended_.empty()) {
        const auto [id, rank] = ended_.front();
        ended_.pop_front();
        conductor_->on_rank_end(id, rank);
        // Once the last of its ranks has been told of, the performance's place is free.
        Play& play = plays_[static_cast<std::size_t>(id)];
        if (--play.ranks_to_tell == 0) {
            play.schedule = nullptr;
            free_plays_.push_back(static_cast<std::uint32_t>(id));
        }
    }
}

bool Player::has_ended(PlayId id) const {
    const Play& play = plays_[static_cast<std::size_t>(id)];
    return play.schedule == nullptr || play.ranks_left == 0;
}

std::vector<std::string> Player::waiting(PlayId id, std::size_t most) const {
    std::vector<std::string> lines;
    const Play& play = plays_[static_cast<std::size_t>(id)];
    if (has_ended(id)) {
        return lines;
    }
    const PreparedSchedule& schedule = *play.schedule;
    for (std::size_t rank = 0; rank < schedule.rank_count() && lines.size() < most; ++rank) {
        if (!play.arrived[rank]) {
            lines.push_back(fmt::format("rank {} has not started it", rank));
        }
    }
    for (std::size_t at = 0; at < play.threads.size() && lines.size() < most; ++at) {
        const StepThread& thread = schedule.threads()[at];
        const ThreadState& state = play.threads[at];
        if (state.ended || !play.arrived[index(thread.rank)]) {
            continue;
        }
        const Step& step = schedule.step(schedule.loop(thread.first_loop + state.loop).first_step + state.step);
        if (step.verb == Verb::wait) {
            lines.push_back(fmt::format("rank {} waits for a signal of its own", index(thread.rank)));
            continue;
        }
        const Connection& connection = schedule.connections()[step.connection];
        const std::string_view what = connection.carrier == Carrier::message     ? "a message from"
                                      : connection.carrier == Carrier::reduction ? "the in-switch reduction for"
                                      : connection.carrier == Carrier::sum       ? "the in-switch sum of the group of"
                                                                                 : "the multicast of";
        lines.push_back(fmt::format("rank {} waits for {} rank {} (channel {})", index(thread.rank), what,
                                    index(connection.from), connection.channel));
    }
    return lines;
}

}  // namespace lockstep::replay
