#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/engine/engine.h"
#include "sim/fabric/route.h"
#include "sim/replay/play.h"
#include "sim/replay/prepared_schedule.h"
#include "sim/replay/result.h"
#include "sim/replay/time_fold.h"

namespace lockstep::replay {

/// One performance of a schedule by its communicator.
enum class PlayId : std::uint32_t {};

/// Who asks the player for timers and performances, and hears when they end.
class Conductor {
  public:
    virtual ~Conductor() = default;
    virtual void on_timer(std::uint64_t token) = 0;
    /// The rank has run its whole program and its messages have arrived. Never called from within a call to the player.
    virtual void on_rank_end(PlayId play, RankId rank) = 0;
    /// The player's clock has moved on by itself (fold_in_time): timers under way come that much too late.
    virtual void on_skip() {}
};

/// Plays schedules on an engine: turns the instructions of ranks into flows, any number of performances side by side.
///
/// A message spends its route's latency and then moves its bytes; messages of one connection move one after another, in
/// order, while their latencies overlap. So a message alone takes latency + bytes/rate (cut-through: latency adds per
/// link, the payload's time counts once), and a train of them keeps the links busy.
class Player final : private engine::Events {
  public:
    /// All must outlive the player.
    Player(engine::Engine& engine, fabric::Router& router, Conductor& conductor);
    ~Player() override;

    std::function<void(Seconds now, std::uint64_t messages)> on_progress;  ///< called every some ten thousand messages

    Seconds now() const { return engine_->now() + skipped_; }
    void set_timer(Seconds delay, std::uint64_t token);

    /// A new performance in which no rank has arrived yet.
    /// link_bytes: where to add what crosses each link, by LinkId; may be null; must outlive the performance.
    PlayId open(PreparedSchedule& schedule, std::vector<double>* link_bytes);
    /// The rank arrives and starts its program. Once per rank and performance.
    void arrive(PlayId id, RankId rank);
    /// From now on, adds up what the performance repeats instead of playing it (TimeFold). Requires: it is the only one
    /// as long as it lasts, and the conductor sets no timers meanwhile but those that it sets anew in on_skip.
    void fold_in_time(PlayId id);
    /// Moves the clock on, while no performance is open: timers come as much later. messages: for which the time
    /// stands.
    void skip(Seconds time, std::uint64_t messages);
    /// Works until nothing is left to happen. Throws: SimulationError naming the ranks where a performance ends with
    /// messages that nobody took.
    void run();

    /// What keeps the ranks of a performance from ending: "rank 3 waits for a message from rank 2 (channel 0)", at most
    /// `most` of them. Empty if all have ended.
    std::vector<std::string> waiting(PlayId id, std::size_t most) const;
    bool has_ended(PlayId id) const;

    const SimulatorUse& use() const { return use_; }

  private:
    void on_timer(engine::Token token) override;
    void on_flow_end(engine::Token token) override;

    void advance(std::uint32_t play_at, std::uint32_t thread_at);
    void post(std::uint32_t play_at, std::uint32_t lane_at, double bytes);
    void contribute(std::uint32_t play_at, const Step& step, double bytes);
    void queue(Lane& lane, const Message& message);
    void start_next(std::uint32_t play_at, std::uint32_t lane_at);
    void move(std::uint32_t play_at, std::uint32_t lane_at);
    void deliver(std::uint32_t play_at, Inbox& inbox);
    void settle(std::uint32_t play_at, RankId rank);
    void end_in_switch(std::uint32_t play_at, std::uint32_t lane_at);
    void look_up_route(Play& play, std::uint32_t lane_at);
    void tell_ended();
    void skip_repeated(engine::Token token);
    void shorten(Play& play, std::uint32_t lane_at, std::int64_t fewer);

    engine::Engine* engine_;
    fabric::Router* router_;
    Conductor* conductor_;
    std::vector<std::unique_ptr<Play>> plays_;
    std::vector<std::uint32_t> free_plays_;
    std::vector<Message> messages_;
    std::vector<std::uint32_t> free_messages_;
    std::deque<std::pair<PlayId, RankId>> ended_;
    SimulatorUse use_;
    std::optional<TimeFold> time_fold_;  ///< of the performance at time_folded_
    std::uint32_t time_folded_ = 0;
    Seconds skipped_{};  ///< what the engine's clock does not know of
};

}  // namespace lockstep::replay
