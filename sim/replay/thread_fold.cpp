#include "sim/replay/thread_fold.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/replay/connection_route.h"
#include "sim/replay/refinement.h"
#include "sim/replay/step_kinds.h"

namespace lockstep::replay {

using collective::Verb;

namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// What is done with what arrives takes no time.
Verb in_time(Verb verb) { return verb == Verb::receive_reduce ? Verb::receive : verb; }

/// Numbers different digests in the order in which they come up.
class Numbering {
  public:
    explicit Numbering(std::size_t expected) { numbers_.reserve(expected); }
    /// Returns: its number, and whether it is new.
    std::pair<std::uint32_t, bool> number(const Digest& digest) {
        const auto [entry, fresh] = numbers_.try_emplace(digest, static_cast<std::uint32_t>(numbers_.size()));
        return {entry->second, fresh};
    }

  private:
    std::unordered_map<Digest, std::uint32_t, DigestHash> numbers_;
};

}  // namespace

/// Finds the classes.
class ThreadFold::Finder {
  public:
    Finder(ThreadFold& fold, const fabric::Fabric& fabric, fabric::Router& router)
        : fold_(fold), schedule_(*fold.schedule_), fabric_(fabric), router_(router) {}

    void find() {
        const std::size_t threads = schedule_.threads().size();
        // With more than half as many classes as threads there is little to gain.
        const std::size_t most = threads / 2;
        if (router_.policy() == fabric::RoutingPolicy::adaptive) {
            return give_up("adaptive routing makes every path depend on all others");
        }
        if (!schedule_.has_equal_chunks()) {
            return give_up("chunks are of unlike size");
        }
        read_threads();
        if (count_different(colours_) > most) {
            return give_up("threads do different things");
        }
        if (!is_sound()) {
            return give_up("the schedule is not sound");
        }
        tie();
        refinement_.refine(threads, most);
        classify_threads();
        if (fold_.representatives_.size() > most) {
            return give_up("messages take unlike paths, or go to threads that do different things");
        }
        classify_links();
        classify_ties();
        if (!sums_are_taken_as_given()) {
            return give_up("sums in switches are taken by fewer kinds of threads than contribute, or more");
        }
    }

  private:
    void give_up(const char* reason) { fold_.broken_by_ = reason; }

    std::uint32_t tie_of(const Step& step) {
        if (!is_event(step.verb)) {
            return step.connection;
        }
        std::uint32_t& tie = fold_.event_ties_[step.slot];
        if (tie == none) {
            tie = static_cast<std::uint32_t>(fold_.first_use_.size());
            fold_.first_use_.push_back(none);
        }
        return tie;
    }

    /// Colours threads by what they do, and notes on which ties.
    void read_threads() {
        fold_.event_ties_.assign(schedule_.inbox_count(), none);
        fold_.first_use_.assign(schedule_.connections().size(), none);
        for (std::uint32_t at = 0; at < schedule_.threads().size(); ++at) {
            const StepThread& thread = schedule_.threads()[at];
            Digest colour = mix(Digest{1, 1}, thread.rounds);
            for (std::uint32_t l = 0; l < thread.loop_count; ++l) {
                const StepLoop& loop = schedule_.loop(thread.first_loop + l);
                const Digest in_loop = mix(mix(Digest{2, 2}, l), loop.iterations);
                std::uint64_t runs = 0;
                bool is_waiting = false;
                for (std::uint32_t s = 0; s < loop.step_count; ++s) {
                    const Step& step = schedule_.step(loop.first_step + s);
                    if (is_local(step.verb)) {
                        continue;  // takes no time
                    }
                    runs += waits(step.verb) != is_waiting ? 1 : 0;
                    is_waiting = waits(step.verb);
                    const auto verb = static_cast<std::uint64_t>(in_time(step.verb));
                    const Digest what = mix(mix(in_loop, runs), verb << 32U | step.count);
                    colour += what;
                    note_use(at, step, what);
                }
            }
            colours_.push_back(colour);
        }
    }

    void note_use(std::uint32_t thread, const Step& step, const Digest& what) {
        const std::uint32_t tie = tie_of(step);
        const End end = end_of(step.verb);
        // A thread's uses of a tie are few: by any thread the last are the first found.
        std::uint32_t use = fold_.first_use_[tie];
        while (use != none && fold_.uses_[use].thread == thread && fold_.uses_[use].end != end) {
            use = fold_.uses_[use].next;
        }
        if (use == none || fold_.uses_[use].thread != thread) {
            use = static_cast<std::uint32_t>(fold_.uses_.size());
            fold_.uses_.push_back({.thread = thread,
                                   .end = end,
                                   .place = step.slot,
                                   .digest = static_cast<std::uint64_t>(end),
                                   .next = fold_.first_use_[tie]});
            fold_.first_use_[tie] = use;
        }
        // In order: messages of one connection may differ in size.
        fold_.uses_[use].digest = mix(what, fold_.uses_[use].digest).a;
    }

    /// Whether each connection has all its ends, each in the hands of one thread. What is not sound is left to be
    /// played as it is, and complained of.
    bool is_sound() const {
        std::vector<std::uint32_t> contributed;
        for (std::uint32_t tie = 0; tie < schedule_.connections().size(); ++tie) {
            const Connection& connection = schedule_.connections()[tie];
            contributed.clear();
            std::size_t senders = 0;
            std::size_t takers = 0;
            for (std::uint32_t use = fold_.first_use_[tie]; use != none; use = fold_.uses_[use].next) {
                senders += fold_.uses_[use].end == End::posts ? 1 : 0;
                takers += fold_.uses_[use].end == End::takes ? 1 : 0;
                if (fold_.uses_[use].end == End::contributes) {
                    contributed.push_back(fold_.uses_[use].place);
                }
            }
            std::sort(contributed.begin(), contributed.end());
            if (std::adjacent_find(contributed.begin(), contributed.end()) != contributed.end()) {
                return false;
            }
            const std::size_t members =
                connection.carrier != Carrier::message ? schedule_.group(connection.group).size() : 1;
            const bool gathers = connection.carrier == Carrier::reduction || connection.carrier == Carrier::sum;
            const bool spreads = has_inbox_per_member(connection.carrier);
            if (senders != (gathers ? 0 : 1) || contributed.size() != (gathers ? members : 0) ||
                takers != (spreads ? members : 1)) {
                return false;
            }
        }
        return true;
    }

    /// An in-switch sum has one member for each class of threads that contribute, and an inbox for each member.
    bool sums_are_taken_as_given() const {
        return std::all_of(fold_.first_ties_.begin(), fold_.first_ties_.end(), [&](std::uint32_t tie) {
            return tie >= schedule_.connections().size() || schedule_.connections()[tie].carrier != Carrier::sum ||
                   fold_.classes_at(tie, End::contributes).size() == fold_.classes_at(tie, End::takes).size();
        });
    }

    std::uint32_t thing_of(LinkId link) {
        std::uint32_t& thing = thing_of_link_[index(link)];
        if (thing == none) {
            thing = refinement_.add_thing(mix(Digest{3, 3}, bits(fabric_.link(link).bandwidth.value)));
            links_.push_back(link);
        }
        return thing;
    }

    static std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

    /// Ties join the threads at their ends and the links between.
    void tie() {
        thing_of_link_.assign(fabric_.link_count(), none);
        for (const Digest& colour : colours_) {
            refinement_.add_thing(colour);
        }
        for (std::uint32_t tie = 0; tie < fold_.first_use_.size(); ++tie) {
            if (tie < schedule_.connections().size()) {
                Connection& connection = schedule_.connections()[tie];
                if (connection.route == nullptr) {
                    connection.route = &found_route(schedule_, connection, router_, {});
                }
                refinement_.add_tie(mix(mix(Digest{4, 4}, static_cast<std::uint64_t>(connection.carrier)),
                                        bits(connection.route->latency.value)));
                for (const fabric::RouteShare& share : connection.route->links) {
                    refinement_.add_role(thing_of(share.link), bits(share.share));
                }
            } else {
                refinement_.add_tie(Digest{5, 5});
            }
            for (std::uint32_t use = fold_.first_use_[tie]; use != none; use = fold_.uses_[use].next) {
                refinement_.add_role(fold_.uses_[use].thread, fold_.uses_[use].digest);
            }
        }
    }

    void classify_threads() {
        const std::size_t threads = schedule_.threads().size();
        Numbering classes(threads / 2);
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
            const auto [number, fresh] = classes.number(refinement_.colour(thread));
            fold_.class_of_thread_.push_back(number);
            if (fresh) {
                fold_.representatives_.push_back(thread);
            }
        }
    }

    void classify_links() {
        Numbering classes(links_.size() / 2);
        std::vector<LinkId> first;
        for (const LinkId link : links_) {
            const auto [number, fresh] = classes.number(refinement_.colour(thing_of_link_[index(link)]));
            if (fresh) {
                first.push_back(link);
            }
            fold_.stand_ins_.push_back({link, first[number]});
        }
    }

    /// The classes of ties, with the load that each puts on links that stand for others.
    void classify_ties() {
        Numbering classes(fold_.first_use_.size() / 2);
        std::vector<std::tuple<std::uint32_t, LinkId, double>> loads;  // class, link, share
        for (std::uint32_t tie = 0; tie < fold_.first_use_.size(); ++tie) {
            const auto [number, fresh] = classes.number(refinement_.tie_colour(tie));
            fold_.class_of_tie_.push_back(number);
            if (fresh) {
                fold_.first_ties_.push_back(tie);
                fold_.stands_for_.push_back(0);
                fold_.routes_.emplace_back();
            }
            if (tie >= schedule_.connections().size()) {
                continue;
            }
            const Connection& connection = schedule_.connections()[tie];
            fold_.stands_for_[number] += connection.stands_for;
            fold_.routes_[number].latency = connection.route->latency;
            for (const fabric::RouteShare& share : connection.route->links) {
                if (fold_.stand_ins_[thing_of_link_[index(share.link)] - schedule_.threads().size()].counted ==
                    share.link) {
                    loads.emplace_back(number, share.link, share.share);
                }
            }
        }
        std::stable_sort(loads.begin(), loads.end(), [](const auto& a, const auto& b) {
            return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
        });
        for (const auto& [number, link, share] : loads) {
            auto& links = fold_.routes_[number].links;
            if (links.empty() || links.back().link != link) {
                links.push_back({link, 0.0});
            }
            links.back().share += share;
        }
    }

    ThreadFold& fold_;
    PreparedSchedule& schedule_;
    const fabric::Fabric& fabric_;
    fabric::Router& router_;
    Refinement refinement_ = {};
    std::vector<Digest> colours_ = {};
    std::vector<std::uint32_t> thing_of_link_ = {};
    std::vector<LinkId> links_ = {};  ///< by thing, after the threads
};

std::vector<RankId> ThreadFold::classes_at(std::uint32_t tie, End end) const {
    std::vector<RankId> classes;
    for (std::uint32_t use = first_use_[tie]; use != none; use = uses_[use].next) {
        if (uses_[use].end == end) {
            classes.push_back(id_at<RankId>(class_of_thread_[uses_[use].thread]));
        }
    }
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
}

ThreadFold::End ThreadFold::end_of(Verb verb) {
    if (contributes(verb)) {
        return End::contributes;
    }
    return posts(verb) || verb == Verb::drain ? End::posts : End::takes;
}

ThreadFold::ThreadFold(PreparedSchedule& schedule, const fabric::Fabric& fabric, fabric::Router& router)
    : schedule_(&schedule) {
    Finder(*this, fabric, router).find();
}

void ThreadFold::spread(std::vector<double>& bytes) const {
    for (const StandIn& stand_in : stand_ins_) {
        bytes[index(stand_in.link)] = bytes[index(stand_in.counted)];
    }
}

double message_count(const PreparedSchedule& schedule) {
    double count = 0;
    for (const StepThread& thread : schedule.threads()) {
        for (std::uint32_t l = 0; l < thread.loop_count; ++l) {
            const StepLoop& loop = schedule.loop(thread.first_loop + l);
            double in_loop = 0;
            for (std::uint32_t s = 0; s < loop.step_count; ++s) {
                const Step& step = schedule.step(loop.first_step + s);
                if (contributes(step.verb)) {
                    const Connection& connection = schedule.connections()[step.connection];
                    in_loop += 1.0 / static_cast<double>(schedule.group(connection.group).size());
                } else if (posts(step.verb) && !is_event(step.verb)) {
                    in_loop += 1;
                }
            }
            count += in_loop * loop.iterations * thread.rounds;
        }
    }
    return count;
}

}  // namespace lockstep::replay
