#include "sim/replay/idle_time.h"

#include <algorithm>
#include <array>
#include <optional>

namespace lockstep::replay {

using workload::CallId;
using workload::Program;
using workload::TaskId;

History::History(const workload::TaskGraph& graph, const Cast& cast)
    : graph_(&graph), cast_(&cast), steps_(graph.steps) {
    first_of_actor_.reserve(actor_count());
    for (std::size_t actor = 0; actor < actor_count(); ++actor) {
        first_of_actor_.push_back(half_);
        half_ += program(id_at<ActorId>(actor)).size();
    }
    intervals_.resize(2 * half_);
}

Seconds History::end_of(std::uint32_t step, ActorId actor) const {
    Seconds end{0};
    for (std::size_t task = 0; task < program(actor).size(); ++task) {
        end = std::max(end, at(step, actor, static_cast<TaskId>(task)).end);
    }
    return end;
}

namespace {

/// A task in one of the two steps kept.
struct Instance {
    std::uint32_t step = 0;
    TaskId task{};
};

/// By call of the cast and step kept (step % 2): when the last rank arrived.
using Arrivals = std::vector<std::array<Seconds, 2>>;

Arrivals last_arrivals(const History& history) {
    Arrivals arrivals(history.cast().calls().size());
    for (std::size_t at = 0; at < history.actor_count(); ++at) {
        const auto actor = id_at<ActorId>(at);
        const Program& program = history.program(actor);
        for (std::size_t task = 0; task < program.size(); ++task) {
            const std::uint32_t call =
                program[task].call ? history.cast().place_of(actor, static_cast<TaskId>(task)).call : Cast::none;
            if (call == Cast::none) {
                continue;
            }
            for (std::uint32_t step = history.last_step(); history.keeps(step); --step) {
                Seconds& last = arrivals[call][step % 2];
                last = std::max(last, history.at(step, actor, static_cast<TaskId>(task)).start);
                if (step == 0) {
                    break;
                }
            }
        }
    }
    return arrivals;
}

/// Explains the time of one actor.
class ActorAccount {
  public:
    ActorAccount(const History& history, const Arrivals& arrivals, ActorId actor, std::vector<Seconds>& exposed_by_call)
        : history_(&history),
          arrivals_(&arrivals),
          actor_(actor),
          program_(&history.program(actor)),
          exposed_by_call_(&exposed_by_call) {
        std::vector<std::optional<TaskId>> last_on_stream(history.graph().streams.size());
        before_on_stream_.resize(program_->size());
        for (std::size_t task = 0; task < program_->size(); ++task) {
            auto& last = last_on_stream[static_cast<std::size_t>((*program_)[task].stream)];
            before_on_stream_[task] = last;
            last = static_cast<TaskId>(task);
        }
        last_on_stream_ = std::move(last_on_stream);
    }

    RankTime explain(Seconds from, Seconds to) {
        std::vector<Kernel> kernels;
        for (std::uint32_t step = history_->last_step(); history_->keeps(step); --step) {
            for (std::size_t task = 0; task < program_->size(); ++task) {
                const Instance instance{step, static_cast<TaskId>(task)};
                const Interval& when = interval(instance);
                if (!(*program_)[task].call && when.end > from && when.start < to) {
                    kernels.push_back({when, instance});
                }
            }
            if (step == 0) {
                break;
            }
        }
        std::stable_sort(kernels.begin(), kernels.end(),
                         [](const Kernel& a, const Kernel& b) { return a.when.start < b.when.start; });
        Seconds busy_until = from;
        for (const Kernel& kernel : kernels) {
            if (kernel.when.start > busy_until) {
                explain_gap(busy_until, kernel.when.start, kernel.instance);
                busy_until = kernel.when.start;
            }
            if (kernel.when.end > busy_until) {
                time_.compute += std::min(kernel.when.end, to) - busy_until;
                busy_until = std::min(kernel.when.end, to);
            }
        }
        if (to > busy_until) {
            explain_gap(busy_until, to, std::nullopt);
        }
        return time_;
    }

  private:
    struct Kernel {
        Interval when;
        Instance instance;
    };

    const Interval& interval(const Instance& instance) const {
        return history_->at(instance.step, actor_, instance.task);
    }

    /// Walks back from `to`, at which `next` could start (none: the step ended), until `from`.
    void explain_gap(Seconds from, Seconds to, std::optional<Instance> next) {
        Seconds explained = to;
        while (explained > from) {
            const std::optional<Instance> cause = last_ended_before(next, explained);
            if (!cause || interval(*cause).end <= from) {
                time_.overhead += explained - from;
                return;
            }
            time_.overhead += explained - interval(*cause).end;
            explained = interval(*cause).end;
            const Seconds start = std::max(from, interval(*cause).start);
            // A kernel within a gap is one that takes no time, so only collectives have anything to answer for.
            if ((*program_)[static_cast<std::size_t>(cause->task)].call) {
                blame(*cause, start, explained);
            }
            explained = start;
            next = cause;
        }
    }

    /// Of what `next` waited for, the one that ended last.
    std::optional<Instance> last_ended_before(const std::optional<Instance>& next, Seconds limit) const {
        std::optional<Instance> latest;
        const auto consider = [&](std::uint32_t step, TaskId task) {
            const Instance instance{step, task};
            const Seconds end = interval(instance).end;
            if (end <= limit && (!latest || end > interval(*latest).end)) {
                latest = instance;
            }
        };
        if (!next) {
            for (std::size_t task = 0; task < program_->size(); ++task) {
                consider(history_->last_step(), static_cast<TaskId>(task));
            }
            return latest;
        }
        const auto at = static_cast<std::size_t>(next->task);
        for (const TaskId before : (*program_)[at].after) {
            consider(next->step, before);
        }
        if (before_on_stream_[at]) {
            consider(next->step, *before_on_stream_[at]);
        } else if (next->step > 0 && history_->keeps(next->step - 1)) {
            consider(next->step - 1, *last_on_stream_[static_cast<std::size_t>((*program_)[at].stream)]);
        }
        return latest;
    }

    void blame(const Instance& cause, Seconds from, Seconds to) {
        const Cast::Place& place = history_->cast().place_of(actor_, cause.task);
        if (place.call == Cast::none) {
            return;  // took no time
        }
        const CallId call = *(*program_)[static_cast<std::size_t>(cause.task)].call;
        const Seconds complete = std::clamp((*arrivals_)[place.call][cause.step % 2], from, to);
        const auto kind = history_->graph().calls[static_cast<std::size_t>(call)].kind;
        time_.straggler_wait += complete - from;
        time_.exposed[static_cast<std::size_t>(kind)] += to - complete;
        (*exposed_by_call_)[static_cast<std::size_t>(call)] += (to - complete) * history_->cast().stands_for(actor_);
    }

    const History* history_;
    const Arrivals* arrivals_;
    ActorId actor_;
    const Program* program_;
    std::vector<std::optional<TaskId>> before_on_stream_;  ///< by TaskId: the task before it on its stream, in one step
    std::vector<std::optional<TaskId>> last_on_stream_;
    std::vector<Seconds>* exposed_by_call_;
    RankTime time_;
};

}  // namespace

TimeAccount account_time(const History& history) {
    const std::uint32_t last = history.last_step();
    Seconds end{0};
    Seconds end_before{0};
    for (std::size_t actor = 0; actor < history.actor_count(); ++actor) {
        end = std::max(end, history.end_of(last, id_at<ActorId>(actor)));
        if (last > 0) {
            end_before = std::max(end_before, history.end_of(last - 1, id_at<ActorId>(actor)));
        }
    }
    TimeAccount account{.step_time = end - end_before};
    account.exposed_by_call.resize(history.graph().calls.size());
    const Arrivals arrivals = last_arrivals(history);
    for (std::size_t at = 0; at < history.actor_count(); ++at) {
        const auto actor = id_at<ActorId>(at);
        const Seconds own_end = history.end_of(last, actor);
        ActorAccount own(history, arrivals, actor, account.exposed_by_call);
        if (last > 0) {
            account.actors.push_back(own.explain(own_end - account.step_time, own_end));
        } else {
            // A single step begins for all at once, and nothing follows: who ends early waits for the others.
            account.actors.push_back(own.explain(Seconds{0}, own_end));
            account.actors.back().straggler_wait += account.step_time - own_end;
        }
    }
    return account;
}

}  // namespace lockstep::replay
