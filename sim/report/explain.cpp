#include "sim/report/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "sim/report/explain_holdings.h"
#include "sim/report/explain_words.h"

namespace lockstep::report {

using collective::Buffer;
using collective::Content;
using collective::Schedule;
using collective::Transfer;
using collective::Verb;

namespace {

bool is_sum(Verb verb) { return verb == Verb::reduce_in_switch || verb == Verb::receive_sum; }
bool is_own(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }
bool adds(Verb verb) { return verb == Verb::receive_reduce || verb == Verb::reduce; }

/// Finds routes once each and keeps how they are drawn.
class Routes {
  public:
    Routes(const Lesson& lesson, std::vector<std::vector<RoutePath>>& drawn)
        : communicator_(&lesson.communicator),
          router_(&lesson.router),
          no_loads_(lesson.communicator.fabric().link_count(), 0),
          drawn_(&drawn) {}

    std::size_t of(const Move& move) {
        // Only ecmp tells the flows of a pair apart.
        const std::uint32_t flow = router_->policy() == fabric::RoutingPolicy::ecmp ? move.channel : 0;
        const auto [found, is_new] = known_.try_emplace({move.verb, move.from, move.to, flow}, drawn_->size());
        if (is_new) {
            const fabric::Route& route = this->route(move, flow);
            routes_.push_back(&route);
            drawn_->push_back(paths(move, route));
        }
        return found->second;
    }

    const fabric::Route& at(std::size_t route) const { return *routes_[route]; }

    /// The largest latency and the least rate of the routes found: what the α–β model is about, as far as the schedule
    /// can tell. None where there are none.
    std::optional<collective::PortModel> model() const {
        std::optional<collective::PortModel> model;
        const auto alike = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); };
        for (const fabric::Route* const route : routes_) {
            double rate = std::numeric_limits<double>::infinity();
            for (const fabric::RouteShare& share : route->links) {
                rate = std::min(rate, communicator_->fabric().link(share.link).bandwidth.value / share.share);
            }
            if (!model) {
                model = collective::PortModel{route->latency, {rate}};
                continue;
            }
            model->uniform =
                model->uniform && alike(model->alpha.value, route->latency.value) && alike(model->rate.value, rate);
            model->alpha = std::max(model->alpha, route->latency);
            model->rate = std::min(model->rate, Bandwidth{rate});
        }
        return model;
    }

  private:
    std::vector<VertexId> gpus(const std::vector<RankId>& ranks) const {
        std::vector<VertexId> gpus;
        for (const RankId rank : ranks) {
            gpus.push_back(communicator_->gpu(rank));
        }
        return gpus;
    }

    const fabric::Route& route(const Move& move, std::uint32_t flow) {
        const VertexId from = communicator_->gpu(move.from.front());
        const VertexId to = communicator_->gpu(move.to.front());
        switch (move.verb) {
            case Verb::reduce_in_switch:
                return router_->reduction_route(gpus(move.from), to);
            case Verb::receive_multicast:
                return router_->multicast_route(gpus(move.to), from);
            case Verb::receive_sum:
                return router_->sum_route(gpus(move.from));
            default:
                return router_->route(from, to, flow, no_loads_);
        }
    }

    std::vector<RoutePath> paths(const Move& move, const fabric::Route& route) const {
        const fabric::Fabric& fabric = communicator_->fabric();
        if (is_sum(move.verb) || move.verb == Verb::receive_multicast) {
            return switch_paths(fabric, route, gpus(move.from), gpus(move.to));
        }
        return paths_of(fabric, route, communicator_->gpu(move.from.front()), communicator_->gpu(move.to.front()));
    }

    const collective::Communicator* communicator_;
    fabric::Router* router_;
    std::vector<std::uint32_t> no_loads_;
    std::vector<std::vector<RoutePath>>* drawn_;
    std::vector<const fabric::Route*> routes_;
    std::map<std::tuple<Verb, std::vector<RankId>, std::vector<RankId>, std::uint32_t>, std::size_t> known_;
};

/// Puts transfers together to steps.
class Teller {
  public:
    Teller(const Lesson& lesson, Explanation& explanation)
        : schedule_(lesson.schedule),
          fabric_(lesson.communicator.fabric()),
          gpus_(lesson.communicator.gpus()),
          explanation_(explanation),
          contents_(explanation.contents),
          memory_(lesson.schedule, contents_),
          routes_(lesson, explanation.routes) {
        std::array<std::vector<Held>, all_buffers.size()> start;
        for (const Buffer buffer : all_buffers) {
            start[static_cast<std::size_t>(buffer)] = memory_.all(buffer);
        }
        start_ = std::move(start);
        complete_ = static_cast<std::uint64_t>(std::ranges::count_if(memory_.all(schedule_.result), &Held::complete));
        explanation.complete_at_start = complete_;
    }

    void tell(std::vector<Transfer>& transfers) {
        for (std::size_t at = 0; at < transfers.size();) {
            Step& step = explanation_.steps.emplace_back();
            step.number = transfers[at].turn;
            std::map<SharedMove, std::size_t> shared;
            for (; at < transfers.size() && transfers[at].turn == step.number; ++at) {
                add(step, shared, transfers[at]);
            }
            finish(step);
        }
        keep_holdings();
        spend_bytes();
        explanation_.model = routes_.model();
    }

  private:
    /// What arrivals of one operation of a switch, at several ranks, have in common.
    using SharedMove = std::tuple<Verb, RankId, std::uint32_t, std::uint32_t, Buffer, std::vector<std::uint32_t>>;

    void add(Step& step, std::map<SharedMove, std::size_t>& shared, Transfer& transfer) {
        const bool is_shared = transfer.verb == Verb::receive_multicast || transfer.verb == Verb::receive_sum;
        if (is_shared) {
            const auto [found, is_new] = shared.try_emplace(
                {transfer.verb, transfer.from, transfer.channel, transfer.group, transfer.buffer, transfer.chunks},
                step.moves.size());
            if (!is_new) {
                step.moves[found->second].to.push_back(transfer.to);
                change(transfer.to, step.moves[found->second]);
                return;
            }
        }
        if (is_own(transfer.verb) && !step.moves.empty()) {
            Move& last = step.moves.back();
            if (last.verb == transfer.verb && last.to.front() == transfer.to && last.buffer == transfer.buffer &&
                last.channel == transfer.channel) {
                extend(last, transfer);
                return;
            }
        }
        Move move{.verb = transfer.verb,
                  .from = {transfer.from},
                  .to = {transfer.to},
                  .channel = transfer.channel,
                  .buffer = transfer.buffer,
                  .chunks = std::move(transfer.chunks),
                  .bytes = transfer.bytes};
        if (is_sum(transfer.verb)) {
            move.from = schedule_.groups[transfer.group];
        }
        for (Content& content : transfer.contents) {
            move.contents.push_back(contents_.keep(std::move(content)));
        }
        change(transfer.to, move);
        step.moves.push_back(std::move(move));
    }

    /// More that the rank copies for itself.
    void extend(Move& move, Transfer& transfer) {
        const std::size_t before = move.chunks.size();
        move.chunks.insert(move.chunks.end(), transfer.chunks.begin(), transfer.chunks.end());
        for (Content& content : transfer.contents) {
            move.contents.push_back(contents_.keep(std::move(content)));
        }
        change(transfer.to, move, before);
    }

    /// first: of the move's chunks that are new.
    void change(RankId rank, const Move& move, std::size_t first = 0) {
        const std::uint32_t most_times = schedule_.operation == collective::Operation::barrier ? 1 : UINT32_MAX;
        for (std::size_t c = first; c < move.chunks.size(); ++c) {
            const Held before = memory_.at(move.buffer, rank, move.chunks[c]);
            const ContentAt content =
                adds(move.verb) ? contents_.sum(before.content, move.contents[c], most_times) : move.contents[c];
            const Held after = memory_.put(move.buffer, rank, move.chunks[c], content);
            complete_ += after.complete ? 1 : 0;
            complete_ -= before.complete ? 1 : 0;  // a schedule that is wrong may store over what is due
            changed_.try_emplace({move.buffer, rank, move.chunks[c]}, before);
        }
    }

    void finish(Step& step) {
        for (const auto& [place, before] : changed_) {
            const auto& [buffer, rank, chunk] = place;
            step.changes.push_back({rank, buffer, chunk, memory_.at(buffer, rank, chunk)});
            has_changed_[static_cast<std::size_t>(buffer)] = true;
        }
        changed_.clear();
        std::ranges::stable_sort(step.moves, {}, [](const Move& move) {
            return std::tuple(is_own(move.verb), is_sum(move.verb) ? move.to.front() : move.from.front(),
                              is_sum(move.verb) ? RankId{0} : move.to.front());
        });
        std::map<LinkId, double> loads;
        for (Move& move : step.moves) {
            if (!is_own(move.verb)) {
                move.route = routes_.of(move);
                for (const fabric::RouteShare& share : routes_.at(*move.route).links) {
                    loads[share.link] += share.share * static_cast<double>(move.bytes.value);
                    double& largest = largest_share_[share.link];
                    largest = std::max(largest, share.share);
                }
            }
        }
        for (const auto& [link, bytes] : loads) {
            if (bytes > 0) {
                step.links.push_back({link, bytes});
            }
        }
        step.complete = complete_;
    }

    /// What each step needs of the ranks' ports: of links that a GPU's traffic is striped over, all together are one
    /// port; of those that it picks from, each is one.
    void spend_bytes() {
        std::set<VertexId> gpus(gpus_.begin(), gpus_.end());
        double bytes = 0;
        for (Step& step : explanation_.steps) {
            double most = 0;
            for (const LinkLoad& load : step.links) {
                if (gpus.contains(fabric_.from(load.link)) || gpus.contains(fabric_.to(load.link))) {
                    most = std::max(most, load.bytes / largest_share_.at(load.link));
                }
            }
            bytes += most;
            step.spent.bytes = bytes;
        }
    }

    void keep_holdings() {
        for (const Buffer buffer : all_buffers) {
            if (buffer != schedule_.result && !has_changed_[static_cast<std::size_t>(buffer)]) {
                continue;
            }
            Holdings& holdings = explanation_.holdings.emplace_back();
            holdings.buffer = buffer;
            holdings.chunks = memory_.size_of(buffer);
            holdings.start = std::move(start_[static_cast<std::size_t>(buffer)]);
            for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
                for (std::uint32_t chunk = 0; chunk < holdings.chunks; ++chunk) {
                    const bool is_due = memory_.is_due(buffer, rank, chunk);
                    holdings.is_due.push_back(is_due);
                    explanation_.results += is_due ? 1 : 0;
                }
            }
        }
    }

    const Schedule& schedule_;
    const fabric::Fabric& fabric_;
    std::span<const VertexId> gpus_;
    Explanation& explanation_;
    ContentList contents_;
    RankHoldings memory_;
    Routes routes_;
    std::array<std::vector<Held>, all_buffers.size()> start_;
    std::array<bool, all_buffers.size()> has_changed_{};
    std::map<std::tuple<Buffer, RankId, std::uint32_t>, Held> changed_;  ///< in this step: what was there before it
    std::uint64_t complete_ = 0;
    std::map<LinkId, double> largest_share_;  ///< of any flow on the link
};

/// Latencies that the book counts up to each step: one for each, where steps overlap not more than are counted, and
/// where steps have several, as many for each.
void spend_alphas(Explanation& explanation) {
    if (!explanation.cost || explanation.steps.empty()) {
        return;
    }
    const double alphas = explanation.cost->alphas;
    const double steps = explanation.steps.back().number;
    for (Step& step : explanation.steps) {
        step.spent.alphas = steps < alphas ? alphas * step.number / steps : std::min<double>(step.number, alphas);
    }
}

}  // namespace

Explanation explain(const Lesson& lesson) {
    Explanation explanation{.communicator = lesson.communicator,
                            .schedule = lesson.schedule,
                            .bytes = lesson.request.bytes,
                            .summary = lesson.summary,
                            .cost = lesson.cost};
    explanation.proof = collective::prove(lesson.schedule, lesson.request.bytes, collective::Turns::forward,
                                          collective::Record::transfers);
    std::vector<Transfer> transfers = std::move(explanation.proof.transfers);
    explanation.proof.transfers.clear();
    std::ranges::stable_sort(transfers, {}, [](const Transfer& transfer) { return transfer.turn; });
    Teller(lesson, explanation).tell(transfers);
    spend_alphas(explanation);
    for (std::size_t step = 0; step < explanation.steps.size(); ++step) {
        explanation.steps[step].sentence = sentence(explanation, step);
    }
    return explanation;
}

bool uses_switches(const Explanation& explanation) {
    return std::ranges::any_of(explanation.steps, [](const Step& step) {
        return std::ranges::any_of(
            step.moves, [](const Move& move) { return is_sum(move.verb) || move.verb == Verb::receive_multicast; });
    });
}

}  // namespace lockstep::report
