// How SharedLinks finds the levels of its links.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/engine/fluid/shared_links.h"

namespace lockstep::engine {

namespace {

// Levels that differ by less than this part of themselves would be equal but for rounding: one takes the value of the
// other, so that symmetrical flows keep the same rate, to the last bit, and end at the same instant.
constexpr double tie = 1e-12;

// A link with more than this part of its capacity left is not full, however its room was rounded since it was last
// added up: the roundings of a billion moves are far less.
constexpr double surely_room = 1e-6;

// Doubles of no sign order as their bits do, and among integers the processor chooses without a jump that it would have
// to guess.
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
double from_bits(std::uint64_t value) { return std::bit_cast<double>(value); }

bool is_tied(double a, double b) { return std::abs(a - b) <= tie * std::min(a, b); }

}  // namespace

/// Nobody uses the link.
void SharedLinks::set_unused(Link& link) {
    link.level = infinity;
    link.room = link.capacity;
    link.wake_at = surely_room * link.capacity;
}

/// Requires: the link is idle.
void SharedLinks::unsettle(std::uint32_t number) {
    make_room(1);
    links_[number].is_idle = 0;
    unsettled_[end_unsettled_++] = number;
}

void SharedLinks::note_moved(std::uint32_t number) {
    if (paths_[number].moved_in != round_) {
        paths_[number].moved_in = round_;
        moved_.push_back(number);
    }
}

/// The least level on a path, without that of one link.
double SharedLinks::allowed_elsewhere(const Path& path, std::uint32_t but) {
    std::uint64_t least = bits(infinity);
    for (const Crossing& crossing : crossings_of(path)) {
        const std::uint64_t level = crossing.link == but ? bits(infinity) : bits(links_[crossing.link].level);
        least = std::min(least, level);
    }
    steps_ += path.count;
    return from_bits(least);
}

/// Fills unsettled links until there is none. Levels are worked out in the order in which they were noticed to be
/// unsettled: what is wrong at first is put right later, the smallest level in the first pass and at least the next in
/// each pass. Returns: false if it gave up because that takes too long.
bool SharedLinks::repair() {
    const std::size_t most_steps = patience_ * crossings_laid_;
    for (; next_unsettled_ < end_unsettled_; ++next_unsettled_) {
        if (steps_ > most_steps) {
            return false;
        }
        const std::uint32_t number = unsettled_[next_unsettled_];
        Link& link = links_[number];
        const double level = filled_level(number);
        ++work_.links_filled;
        // What has taken long may go round in circles between values that differ by rounding.
        const bool is_settled = level == link.level || (steps_ > crossings_laid_ && is_tied(level, link.level));
        if (!is_settled) {
            set_level(number, level);
            ++work_.levels_moved;
        }
        link.is_idle = link.count > 1 ? 1 : 0;  // only now: while its own flows move there is nothing to notice
    }
    return true;
}

/// Returns: the level to which the link's flows fill it, infinite if what they get elsewhere does not; and in
/// contenders_ those whose rate changes with the level.
double SharedLinks::filled_level(std::uint32_t number) {
    Link& link = links_[number];
    const std::span<const Occupant> occupants = active_occupants_of(link);
    if (contenders_.size() <= occupants.size()) {
        contenders_.resize(2 * occupants.size() + 1);
    }
    steps_ += occupants.size();
    // A flow slower than the level is held back elsewhere and uses what it has; the others share what is left.
    const std::uint64_t present = bits(link.level);
    const double* const rates = rates_.data();
    Contender* const contenders = contenders_.data();
    Sum fixed;
    Sum shares;
    std::uint64_t fastest_fixed = 0;
    std::size_t count = 0;
    for (const Occupant& occupant : occupants) {
        const std::uint64_t rate = bits(rates[occupant.path]);
        const std::uint64_t is_fixed = rate < present ? 1 : 0;
        const std::uint64_t fixed_rate = rate & (0 - is_fixed);
        fixed.add(occupant.share * from_bits(fixed_rate));
        fastest_fixed = std::max(fastest_fixed, fixed_rate);
        shares.add(from_bits(bits(occupant.share) & (is_fixed - 1)));
        contenders[count] = {occupant.path, occupant.share, infinity};
        count += 1 - is_fixed;
    }
    contender_count_ = count;
    link.room = fixed.left_of(link.capacity) - (link.level < infinity ? shares.total() * link.level : 0.0);
    if (link.count == 1) {  // its level is known, and stays whatever the flow gets
        const std::uint32_t path = occupants[0].path;
        contenders[0].elsewhere = count == 0 ? rates[path] : allowed_elsewhere(paths_[path], number);
        contender_count_ = 1;
        return link.capacity / occupants[0].share;
    }
    if (count == 0) {
        return fixed.total() <= link.capacity * (1 + tie) ? infinity : level_among_all(number);
    }
    const double level = fixed.left_of(link.capacity) / shares.total();
    if (level <= link.level) {
        const double fastest = from_bits(fastest_fixed);
        if (fastest > level * (1 + tie)) {
            return level_among_all(number);
        }
        return fastest > level * (1 - tie) ? fastest : level;
    }
    for (std::size_t at = 0; at < count; ++at) {
        contenders[at].elsewhere = allowed_elsewhere(paths_[contenders[at].path], number);
    }
    return level_among_contenders(link, fixed, level);
}

/// The same, by looking at all flows of the link: a level so low that it holds back more than those that it did.
double SharedLinks::level_among_all(std::uint32_t number) {
    Link& link = links_[number];
    contender_count_ = 0;
    double shares = 0.0;
    for (const Occupant& occupant : active_occupants_of(link)) {
        const double rate = rates_[occupant.path];
        const double elsewhere = rate < link.level ? rate : allowed_elsewhere(paths_[occupant.path], number);
        contenders_[contender_count_++] = {occupant.path, occupant.share, elsewhere};
        shares += occupant.share;
    }
    return level_among_contenders(link, Sum(), link.capacity / shares);
}

/// Shares among the contenders what the others leave. Each pass takes those who get less elsewhere than the guess for
/// fixed, which raises it: the steps of Newton's method on a sum of ramps.
/// guess: at most the level.
double SharedLinks::level_among_contenders(const Link& link, Sum fixed, double guess) {
    while (true) {
        Sum used = fixed;
        Sum shares;
        double slowest = infinity;  // of those not fixed
        for (std::size_t at = 0; at < contender_count_; ++at) {
            const Contender& contender = contenders_[at];
            if (contender.elsewhere < guess * (1 - tie)) {
                used.add(contender.share * contender.elsewhere);
            } else {
                shares.add(contender.share);
                slowest = std::min(slowest, contender.elsewhere);
            }
        }
        steps_ += contender_count_;
        if (shares.sum == 0.0) {
            return infinity;
        }
        const double level = used.left_of(link.capacity) / shares.total();
        if (level <= slowest * (1 + tie)) {
            return level < slowest * (1 - tie) ? level : slowest;
        }
        guess = level;
    }
}

/// Moves the link's level, its contenders to their rates with that, and unsettles the links where that matters.
void SharedLinks::set_level(std::uint32_t number, double level) {
    Link* const links = links_.data();
    links[number].level = level;
    links[number].wake_at = level < infinity ? infinity : surely_room * links[number].capacity;
    for (std::size_t at = 0; at < contender_count_; ++at) {
        const Contender& contender = contenders_[at];
        const double was = rates_[contender.path];
        const double is = std::min(contender.elsewhere, level);
        if (is == was) {
            continue;
        }
        const Path& path = paths_[contender.path];
        rates_[contender.path] = is;
        note_moved(contender.path);
        steps_ += path.count;
        make_room(path.count);
        const double grown = was < infinity ? is - was : is;  // infinite: a new flow that nothing held back yet
        std::uint32_t* const unsettled = unsettled_.data();
        std::size_t end = end_unsettled_;
        for (const Crossing& crossing : crossings_of(path)) {
            // Written without a jump, of which half would be guessed wrong.
            Link& link = links[crossing.link];
            link.room -= crossing.share * grown;
            const std::uint32_t wakes = link.is_idle & (link.room < link.wake_at ? 1U : 0U);
            link.is_idle ^= wakes;
            unsettled[end] = crossing.link;
            end += wakes;
        }
        end_unsettled_ = end;
    }
}

void SharedLinks::reach(std::uint32_t number) {
    Link& link = links_[number];
    if (link.reached_in != round_) {
        link.reached_in = round_;
        number_of_[number] = problem_.add_link(link.capacity);
        reached_links_.push_back(number);
    }
}

/// Shares all links anew that the unsettled ones are connected to by flows.
void SharedLinks::share_afresh() {
    problem_.clear();
    number_of_.resize(links_.size());
    reached_links_.clear();
    reached_paths_.clear();
    for (; next_unsettled_ < end_unsettled_; ++next_unsettled_) {
        reach(unsettled_[next_unsettled_]);
    }
    for (std::size_t at = 0; at < reached_links_.size(); ++at) {  // grows on the way
        for (const Occupant& occupant : occupants_of(links_[reached_links_[at]])) {
            Path& path = paths_[occupant.path];
            if (path.reached_in == round_ || path.flow == none) {
                continue;
            }
            path.reached_in = round_;
            reached_paths_.push_back(occupant.path);
            problem_.add_flow();
            for (const Crossing& crossing : crossings_of(path)) {
                reach(crossing.link);
                problem_.add_crossing(number_of_[crossing.link], crossing.share);
            }
        }
    }
    problem_.solve();
    ++work_.shared_afresh;
    work_.most_afresh = std::max<std::uint64_t>(work_.most_afresh, reached_paths_.size());

    for (const std::uint32_t number : reached_links_) {
        Link& link = links_[number];
        link.is_idle = link.count > 1 ? 1 : 0;
        set_unused(link);
        if (link.count == 1) {
            set_alone(link, occupants_of(link).front().share);
        }
    }
    for (std::uint32_t at = 0; at < reached_paths_.size(); ++at) {
        const std::uint32_t path = reached_paths_[at];
        const double rate = problem_.rate(at);
        Link& bottleneck = links_[reached_links_[problem_.bottleneck(at)]];
        bottleneck.level = rate;
        bottleneck.wake_at = infinity;
        for (const Crossing& crossing : crossings_of(paths_[path])) {
            links_[crossing.link].room -= crossing.share * rate;
        }
        if (rate != rates_[path]) {
            rates_[path] = rate;
            note_moved(path);
        }
    }
}

/// Whether the links of the flows that moved carry no more than they can, are full where they hold a flow back, and
/// have no flow that is faster than its least level. What did not move was right before.
bool SharedLinks::is_max_min() const {
    for (const std::uint32_t number : moved_) {
        for (const Crossing& crossing : crossings_of(paths_[number])) {
            const Link& link = links_[crossing.link];
            std::uint32_t first_moved = link.first;  // each link once: for this one
            while (paths_[occupants_[first_moved].path].moved_in != round_) {
                ++first_moved;
            }
            if (occupants_[first_moved].path == number && !is_right(link)) {
                return false;
            }
        }
    }
    return true;
}

bool SharedLinks::is_right(const Link& link) const {
    constexpr double rounding = 1e-9;
    double used = 0.0;
    double fastest = 0.0;
    for (std::uint32_t at = link.first; at < link.first + link.count; ++at) {
        const Occupant& occupant = occupants_[at];
        const Path& path = paths_[occupant.path];
        if (path.flow == none) {
            continue;
        }
        double least = infinity;
        for (std::uint32_t crossing = path.first; crossing < path.first + path.count; ++crossing) {
            least = std::min(least, links_[crossings_[crossing].link].level);
        }
        const double rate = rates_[occupant.path];
        if (rate != least || rate == infinity) {
            return false;
        }
        used += occupant.share * rate;
        fastest = std::max(fastest, rate);
    }
    const bool holds_back = link.level < infinity && fastest >= link.level;
    return used <= link.capacity * (1 + rounding) && (!holds_back || used >= link.capacity * (1 - rounding)) &&
           (link.count == 1 || std::abs(link.capacity - used - link.room) <= rounding * link.capacity);
}

}  // namespace lockstep::engine
