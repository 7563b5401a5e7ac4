#include "sim/replay/player.h"

#include <utility>

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

constexpr std::uint64_t messages_per_progress = 1ULL << 16U;

/// Takes a message out of the inbox, or has the thread wait for one.
bool take(Inbox& inbox, std::uint32_t thread) {
    if (inbox.arrived == 0) {
        inbox.waiting_thread = thread;
        return false;
    }
    --inbox.arrived;
    return true;
}

/// Of the message that a thread sends by the step it is at.
double bytes_of(const Play& play, const ThreadState& state, const Step& step) {
    return play.schedule->has_equal_chunks() ? step.bytes : play.own_bytes(state);
}

}  // namespace

Player::Player(engine::Engine& engine, fabric::Router& router, Conductor& conductor)
    : engine_(&engine), router_(&router), conductor_(&conductor) {}

Player::~Player() = default;

void Player::set_timer(Seconds delay, std::uint64_t token) { engine_->set_timer(delay, token & conductor_mask); }

PlayId Player::open(PreparedSchedule& schedule, std::vector<double>* link_bytes) {
    if (free_plays_.empty()) {
        free_plays_.push_back(static_cast<std::uint32_t>(plays_.size()));
        plays_.push_back(std::make_unique<Play>());
    }
    const std::uint32_t at = free_plays_.back();
    free_plays_.pop_back();
    plays_[at]->reset(schedule, link_bytes);
    return static_cast<PlayId>(at);
}

void Player::arrive(PlayId id, RankId rank) {
    const auto play_at = static_cast<std::uint32_t>(id);
    Play& play = *plays_[play_at];
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
        if (time_fold_) {
            skip_repeated(token);
        }
        move(static_cast<std::uint32_t>((token >> play_shift) & play_mask), static_cast<std::uint32_t>(token));
    }
    tell_ended();
}

void Player::on_flow_end(engine::Token token) {
    if (time_fold_) {
        skip_repeated(token);
    }
    const auto play_at = static_cast<std::uint32_t>((token >> play_shift) & play_mask);
    const auto lane_at = static_cast<std::uint32_t>(token);
    Play& play = *plays_[play_at];
    Lane& lane = play.lanes[lane_at];
    // The next message first: it is ready now or has a timer of its own to wait for, and links should not idle
    // meanwhile.
    lane.is_busy = false;
    if (lane.first_queued != none) {
        start_next(play_at, lane_at);
    }
    if (lane.carrier == Carrier::message) {
        deliver(play_at, lane.inbox);
        if (!play.draining_threads.empty() && !lane.is_busy && play.draining_threads[lane_at] != none) {
            advance(play_at, std::exchange(play.draining_threads[lane_at], none));
        }
        settle(play_at, lane.from);
    } else {
        end_in_switch(play_at, lane_at);
    }
    tell_ended();
}

/// What in-switch traffic carried has arrived.
void Player::end_in_switch(std::uint32_t play_at, std::uint32_t lane_at) {
    Play& play = *plays_[play_at];
    const Lane& lane = play.lanes[lane_at];
    const Connection& connection = std::as_const(*play.schedule).connections()[lane_at];
    const std::span<const RankId> members = play.schedule->group(connection.group);
    if (lane.carrier == Carrier::reduction) {
        deliver(play_at, play.lanes[lane_at].inbox);
    } else {
        for (std::uint32_t member = 0; member < members.size(); ++member) {
            deliver(play_at, play.inboxes[connection.first_inbox + member]);
        }
    }
    if (lane.carrier == Carrier::multicast) {
        settle(play_at, lane.from);
    } else {  // each has contributed
        for (const RankId member : members) {
            settle(play_at, member);
        }
    }
}

/// Runs a thread until it has to wait or ends.
void Player::advance(std::uint32_t play_at, std::uint32_t thread_at) {
    Play& play = *plays_[play_at];
    const std::span<const Step> steps = play.schedule->steps();
    ThreadState& state = play.threads[thread_at];
    do {
        const Step& step = steps[state.step];
        switch (step.verb) {
            case Verb::send:
            case Verb::multicast:
                ++play.open[index(state.rank)];
                post(play_at, step.connection, bytes_of(play, state, step));
                break;
            case Verb::contribute:
            case Verb::contribute_to_all:
                ++play.open[index(state.rank)];
                contribute(play_at, step, bytes_of(play, state, step));
                break;
            case Verb::copy:
            case Verb::reduce:
                break;
            case Verb::signal:
                deliver(play_at, play.inboxes[step.slot]);
                break;
            case Verb::drain:
                if (play.lanes[step.connection].is_busy) {
                    play.draining_threads.resize(play.lanes.size(), none);
                    play.draining_threads[step.connection] = thread_at;
                    return;
                }
                break;
            case Verb::receive:
            case Verb::receive_reduce:
            case Verb::reduce_in_switch:
                if (!take(play.lanes[step.connection].inbox, thread_at)) {
                    return;
                }
                break;
            case Verb::receive_multicast:
            case Verb::receive_sum:
            case Verb::wait:
                if (!take(play.inboxes[step.slot], thread_at)) {
                    return;
                }
                break;
        }
    } while (play.step_on(state));
    state.has_ended = true;
    settle(play_at, state.rank);
}

void Player::contribute(std::uint32_t play_at, const Step& step, double bytes) {
    Play& play = *plays_[play_at];
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

/// Finds the route of a lane's messages: once for all, unless it depends on what else is under way.
void Player::look_up_route(Play& play, std::uint32_t lane_at) {
    Lane& lane = play.lanes[lane_at];
    Connection& connection = play.schedule->connections()[lane_at];
    const fabric::Route& route = connection.route != nullptr
                                     ? *connection.route
                                     : found_route(*play.schedule, connection, *router_, engine_->loads());
    lane.route = engine_->know(route);
    lane.latency = route.latency;
    lane.has_route = connection.route != nullptr || connection.carrier != Carrier::message ||
                     router_->policy() != fabric::RoutingPolicy::adaptive;
    if (lane.has_route) {
        connection.route = &route;
    }
}

void Player::post(std::uint32_t play_at, std::uint32_t lane_at, double bytes) {
    Play& play = *plays_[play_at];
    Lane& lane = play.lanes[lane_at];
    if (!lane.has_route) {
        look_up_route(play, lane_at);
    }
    use_.messages += lane.stands_for;
    ++use_.simulated_messages;
    if (use_.simulated_messages % messages_per_progress == 0 && on_progress) {
        on_progress(now(), use_.messages);
    }
    if (lane.is_busy) {
        queue(lane, {bytes, engine_->now() + lane.latency, none});
        return;
    }
    lane.is_busy = true;
    lane.bytes = bytes;
    if (lane.latency > Seconds{0}) {
        engine_->set_timer(lane.latency, token_for(Purpose::message_ready, play_at, lane_at));
    } else {
        move(play_at, lane_at);
    }
}

/// Puts a message behind those of the lane.
void Player::queue(Lane& lane, const Message& message) {
    if (free_messages_.empty()) {
        free_messages_.push_back(static_cast<std::uint32_t>(messages_.size()));
        messages_.emplace_back();
    }
    const std::uint32_t at = free_messages_.back();
    free_messages_.pop_back();
    messages_[at] = message;
    if (lane.first_queued == none) {
        lane.first_queued = at;
    } else {
        messages_[lane.last_queued].next = at;
    }
    lane.last_queued = at;
}

/// Lets the first of the messages that queue move, or sets a timer for when its latency is spent. At most one timer is
/// set per lane: always for the first message, which only moves when that timer is due.
void Player::start_next(std::uint32_t play_at, std::uint32_t lane_at) {
    Lane& lane = plays_[play_at]->lanes[lane_at];
    const Message message = messages_[lane.first_queued];
    free_messages_.push_back(lane.first_queued);
    lane.first_queued = message.next;
    lane.is_busy = true;
    lane.bytes = message.bytes;
    const Seconds wait = message.ready_at - engine_->now();
    if (wait > Seconds{0}) {
        engine_->set_timer(wait, token_for(Purpose::message_ready, play_at, lane_at));
    } else {
        move(play_at, lane_at);
    }
}

/// Starts the flow of a lane's first message.
void Player::move(std::uint32_t play_at, std::uint32_t lane_at) {
    Play& play = *plays_[play_at];
    Lane& lane = play.lanes[lane_at];
    if (lane.has_route) {
        lane.counted_bytes += lane.bytes;
    } else {
        // Adaptive: what was found when the message was posted gave its latency (minimal paths are alike in that); the
        // path it takes is the least loaded now, with the flows counted that started an instant ago.
        const fabric::Route& route =
            found_route(*play.schedule, play.schedule->connections()[lane_at], *router_, engine_->loads());
        lane.route = engine_->know(route);
        play.count(route, lane.bytes);
    }
    engine_->start_flow(lane.route, lane.bytes, token_for(Purpose::flow_end, play_at, lane_at));
}

void Player::deliver(std::uint32_t play_at, Inbox& inbox) {
    ++inbox.arrived;
    if (inbox.waiting_thread != none) {
        advance(play_at, std::exchange(inbox.waiting_thread, none));
    }
}

/// A thread of the rank ended or a message of its arrived.
void Player::settle(std::uint32_t play_at, RankId rank) {
    Play& play = *plays_[play_at];
    if (--play.open[index(rank)] == 0) {
        ended_.emplace_back(static_cast<PlayId>(play_at), rank);
        if (--play.ranks_left == 0) {  // nothing refers to the performance any more but the queue of ends
            play.count_lanes();
            refuse_leftovers(play);
        }
    }
}

void Player::tell_ended() {
    while (!ended_.empty()) {
        const auto [id, rank] = ended_.front();
        ended_.pop_front();
        conductor_->on_rank_end(id, rank);
        // Once the last of its ranks has been told of, the performance's place is free.
        Play& play = *plays_[static_cast<std::size_t>(id)];
        if (--play.ranks_to_tell == 0) {
            play.schedule = nullptr;
            free_plays_.push_back(static_cast<std::uint32_t>(id));
        }
    }
}

void Player::skip(Seconds time, std::uint64_t messages) {
    skipped_ += time;
    use_.messages += messages;
}

void Player::fold_in_time(PlayId id) {
    time_folded_ = static_cast<std::uint32_t>(id);
    time_fold_.emplace();
}

void Player::skip_repeated(engine::Token token) {
    Play& play = *plays_[time_folded_];
    if (play.schedule == nullptr || play.ranks_left == 0) {
        time_fold_.reset();
        return;
    }
    const auto skip = time_fold_->before_event(token, play, messages_, use_.messages, engine_->now());
    if (!skip) {
        return;
    }
    skipped_ += skip->time;
    use_.messages += skip->messages;
    for (std::uint32_t lane = 0; lane < play.lanes.size(); ++lane) {
        shorten(play, lane, skip->fewer_queued[lane] * skip->times);
    }
    conductor_->on_skip();
}

/// Takes so many alike messages out of a lane's queue, or puts them in if `fewer` is negative, in front, ready to move.
void Player::shorten(Play& play, std::uint32_t lane_at, std::int64_t fewer) {
    Lane& lane = play.lanes[lane_at];
    const auto arrive = static_cast<std::uint32_t>(fewer);  // modulo 2^32, so that the rest adds up
    if (lane.carrier == Carrier::message || lane.carrier == Carrier::multicast) {
        play.open[index(lane.from)] -= arrive;
    } else {  // each has contributed
        for (const RankId member : play.schedule->group(play.schedule->connections()[lane_at].group)) {
            play.open[index(member)] -= arrive;
        }
    }
    for (; fewer > 0; --fewer) {
        free_messages_.push_back(lane.first_queued);
        lane.first_queued = messages_[lane.first_queued].next;
    }
    for (; fewer < 0; ++fewer) {
        const std::uint32_t behind = lane.first_queued;
        const std::uint32_t last = lane.last_queued;
        lane.first_queued = none;
        queue(lane, {lane.bytes, engine_->now(), behind});
        lane.last_queued = last;
    }
}

bool Player::has_ended(PlayId id) const {
    const Play& play = *plays_[static_cast<std::size_t>(id)];
    return play.schedule == nullptr || play.ranks_left == 0;
}

std::vector<std::string> Player::waiting(PlayId id, std::size_t most) const {
    return has_ended(id) ? std::vector<std::string>{} : waiting_in(*plays_[static_cast<std::size_t>(id)], most);
}

}  // namespace lockstep::replay
