#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/replay/step_kinds.h"
#include "sim/replay/thread_fold.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

constexpr std::uint32_t none = UINT32_MAX;

}  // namespace

/// Writes the representatives' part.
class ThreadFold::Writer {
  public:
    explicit Writer(const ThreadFold& fold)
        : fold_(fold), schedule_(*fold.schedule_), chosen_(fold.first_ties_.size() * ends) {}

    PreparedSchedule write() {
        for (std::uint32_t number = 0; number < fold_.first_ties_.size(); ++number) {
            add_connection(number);
        }
        for (std::uint32_t place = 0; place < fold_.representatives_.size(); ++place) {
            add_thread(place);
        }
        return PreparedSchedule::of_parts(std::move(parts_), schedule_);
    }

  private:
    static constexpr std::size_t ends = 3;

    void add_connection(std::uint32_t number) {
        const std::uint32_t tie = fold_.first_ties_[number];
        first_inbox_.push_back(static_cast<std::uint32_t>(parts_.inboxes));
        if (tie >= schedule_.connections().size()) {
            connection_.push_back(none);
            ++parts_.inboxes;
            return;
        }
        connection_.push_back(static_cast<std::uint32_t>(parts_.connections.size()));
        Connection connection = std::as_const(schedule_).connections()[tie];
        connection.first_inbox = first_inbox_.back();
        connection.route = &fold_.routes_[number];
        connection.stands_for = fold_.stands_for_[number];
        const auto takers = fold_.classes_at(tie, End::takes);
        const bool spreads = has_inbox_per_member(connection.carrier);
        const bool gathers = connection.carrier == Carrier::reduction || connection.carrier == Carrier::sum;
        connection.to = takers.front();
        connection.from = gathers ? takers.front() : fold_.classes_at(tie, End::posts).front();
        if (connection.carrier != Carrier::message) {
            connection.group = static_cast<std::uint32_t>(parts_.groups.size());
            parts_.groups.push_back(gathers ? fold_.classes_at(tie, End::contributes) : takers);
        }
        parts_.inboxes += spreads ? takers.size() : 0;
        parts_.connections.push_back(connection);
    }

    void add_thread(std::uint32_t place) {
        const StepThread& thread = schedule_.threads()[fold_.representatives_[place]];
        parts_.gpus.push_back(schedule_.gpu(thread.rank));
        const auto first_loop = static_cast<std::uint32_t>(parts_.loops.size());
        for (std::uint32_t l = 0; l < thread.loop_count; ++l) {
            const StepLoop& loop = schedule_.loop(thread.first_loop + l);
            const auto first_step = static_cast<std::uint32_t>(parts_.steps.size());
            for (std::uint32_t s = 0; s < loop.step_count; ++s) {
                add_step(place, schedule_.step(loop.first_step + s));
            }
            const std::uint32_t steps = static_cast<std::uint32_t>(parts_.steps.size()) - first_step;
            if (steps > 0) {  // else nothing in it takes time
                parts_.loops.push_back({loop.iterations, first_step, steps});
            }
        }
        const std::uint32_t loops = static_cast<std::uint32_t>(parts_.loops.size()) - first_loop;
        if (loops > 0) {
            parts_.threads.push_back({.rank = id_at<RankId>(place),
                                      .rounds = thread.rounds,
                                      .round_stride = 0,
                                      .first_loop = first_loop,
                                      .loop_count = loops});
        }
    }

    /// Of ties of one class that the thread holds at the same end, the first stands for all.
    bool is_chosen(std::uint32_t place, std::uint32_t number, End end, std::uint32_t tie) {
        Chosen& chosen = chosen_[number * ends + static_cast<std::size_t>(end)];
        if (chosen.place != place) {
            chosen = {place, tie};
        }
        return chosen.tie == tie;
    }

    void add_step(std::uint32_t place, const Step& step) {
        if (is_local(step.verb)) {
            return;
        }
        const std::uint32_t tie = is_event(step.verb) ? fold_.event_ties_[step.slot] : step.connection;
        const std::uint32_t number = fold_.class_of_tie_[tie];
        const End end = end_of(step.verb);
        if (!is_chosen(place, number, end, tie)) {
            return;
        }
        Step written = step;
        written.connection = connection_[number];
        written.slot = first_inbox_[number];
        if (is_event(step.verb)) {
            const std::uint32_t times = step.verb == Verb::signal ? signallers(number, place) : 1;
            parts_.steps.insert(parts_.steps.end(), times, written);
            return;
        }
        const Carrier carrier = std::as_const(schedule_).connections()[tie].carrier;
        if (end == End::contributes || (end == End::takes && has_inbox_per_member(carrier))) {
            const auto classes = fold_.classes_at(tie, end);
            const auto at = std::find(classes.begin(), classes.end(), id_at<RankId>(place)) - classes.begin();
            written.slot = (end == End::contributes ? 0 : written.slot) + static_cast<std::uint32_t>(at);
        }
        parts_.steps.push_back(written);
    }

    /// How many threads of a class signal one event: the one of the class that is left does it as often.
    std::uint32_t signallers(std::uint32_t number, std::uint32_t place) const {
        std::uint32_t count = 0;
        for (std::uint32_t use = fold_.first_use_[fold_.first_ties_[number]]; use != none;
             use = fold_.uses_[use].next) {
            count += fold_.uses_[use].end == End::posts && fold_.class_of_thread_[fold_.uses_[use].thread] == place;
        }
        return count;
    }

    struct Chosen {
        std::uint32_t place = none;
        std::uint32_t tie = none;
    };

    const ThreadFold& fold_;
    PreparedSchedule& schedule_;
    PreparedSchedule::Parts parts_ = {};
    std::vector<std::uint32_t> connection_ = {};   ///< by class of ties
    std::vector<std::uint32_t> first_inbox_ = {};  ///< by class of ties
    std::vector<Chosen> chosen_;                   ///< by class of ties and end: by the thread last written
};

PreparedSchedule ThreadFold::prepared() const { return Writer(*this).write(); }

}  // namespace lockstep::replay
