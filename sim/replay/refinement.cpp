#include "sim/replay/refinement.h"

#include <algorithm>
#include <numeric>

namespace lockstep::replay {

void Refinement::expect(std::size_t ties, std::size_t of_each) {
    kinds_.reserve(ties);
    first_role_.reserve(ties);
    roles_.reserve(ties * of_each);
}

std::uint32_t Refinement::add_thing(const Digest& colour) {
    colours_.push_back(colour);
    return static_cast<std::uint32_t>(colours_.size() - 1);
}

std::uint32_t Refinement::add_tie(const Digest& kind) {
    kinds_.push_back(kind);
    first_role_.push_back(static_cast<std::uint32_t>(roles_.size()));
    return static_cast<std::uint32_t>(kinds_.size() - 1);
}

void Refinement::add_role(std::uint32_t thing, std::uint64_t label) {
    const auto [entry, fresh] = label_numbers_.try_emplace(label, static_cast<std::uint32_t>(labels_.size()));
    if (fresh) {
        labels_.push_back(mix(Digest{7, 7}, label));
    }
    roles_.push_back({thing, entry->second});
}

std::span<const Refinement::Role> Refinement::roles(std::uint32_t tie) const {
    const std::size_t end = tie + 1 < first_role_.size() ? first_role_[tie + 1] : roles_.size();
    return std::span(roles_).subspan(first_role_[tie], end - first_role_[tie]);
}

/// Members (things, then ties) by class. What one class tells another apart by is how the other's members hold on to
/// it: things to ties and ties to things, so that no class is split by itself.
class Refinement::Partition {
  public:
    Partition(const Refinement& input, std::size_t watched)
        : input_(input), things_(input.colours_.size()), members_(things_ + input.kinds_.size()), watched_(watched) {
        find_ties();
        start();
    }

    void refine(std::size_t most) {
        while (!waiting_.empty() && watched_classes_ <= most) {
            const std::uint32_t by = waiting_.back();
            waiting_.pop_back();
            split_by(by);
        }
    }

    std::uint32_t class_of(std::size_t member) const { return class_of_[member]; }
    std::size_t thing_classes() const {
        return static_cast<std::size_t>(std::count_if(classes_.begin(), classes_.end(),
                                                      [&](const Class& one) { return order_[one.begin] < things_; }));
    }

  private:
    struct Class {
        std::uint32_t begin;  ///< in order_
        std::uint32_t end;
        std::uint32_t met = 0;  ///< members met, which come first
        bool is_even = true;    ///< those met were all met alike
    };

    /// By thing: the ties that hold it. Else roles are by tie.
    void find_ties() {
        first_tie_.assign(things_ + 1, 0);
        for (const Role& role : input_.roles_) {
            ++first_tie_[role.thing + 1];
        }
        std::partial_sum(first_tie_.begin(), first_tie_.end(), first_tie_.begin());
        ties_.resize(input_.roles_.size());
        std::vector<std::uint32_t> next(first_tie_.begin(), first_tie_.end() - 1);
        for (std::uint32_t tie = 0; tie < input_.kinds_.size(); ++tie) {
            for (const Role& role : input_.roles(tie)) {
                ties_[next[role.thing]++] = {static_cast<std::uint32_t>(things_ + tie), role.label};
            }
        }
    }

    std::span<const Role> held_by(std::uint32_t member) const {
        if (member >= things_) {
            return input_.roles(static_cast<std::uint32_t>(member - things_));
        }
        return std::span(ties_).subspan(first_tie_[member], first_tie_[member + 1] - first_tie_[member]);
    }

    void start() {
        std::unordered_map<Digest, std::uint32_t, DigestHash> numbers;
        std::vector<std::uint32_t> sizes;
        class_of_.resize(members_);
        for (std::size_t member = 0; member < members_; ++member) {
            const std::uint64_t sort = member < watched_ ? 0 : member < things_ ? 1 : 2;
            const Digest& given = member < things_ ? input_.colours_[member] : input_.kinds_[member - things_];
            const auto number =
                numbers.try_emplace(mix(given, sort), static_cast<std::uint32_t>(numbers.size())).first->second;
            class_of_[member] = number;
            sizes.resize(numbers.size());
            ++sizes[number];
        }
        std::uint32_t begin = 0;
        for (const std::uint32_t size : sizes) {
            classes_.push_back({.begin = begin, .end = begin});
            begin += size;
        }
        order_.resize(members_);
        place_of_.resize(members_);
        for (std::uint32_t member = 0; member < members_; ++member) {
            put(member, classes_[class_of_[member]].end++);
        }
        how_.resize(members_);
        for (std::uint32_t number = 0; number < classes_.size(); ++number) {
            waiting_.push_back(number);
            watched_classes_ += is_watched(number) ? 1 : 0;
        }
    }

    bool is_watched(std::uint32_t number) const { return order_[classes_[number].begin] < watched_; }

    void put(std::uint32_t member, std::uint32_t place) {
        order_[place] = member;
        place_of_[member] = place;
    }

    /// Tells members of other classes apart by how they hold on to those of class `by`.
    void split_by(std::uint32_t by) {
        met_.clear();
        for (std::uint32_t place = classes_[by].begin; place < classes_[by].end; ++place) {
            for (const Role& held : held_by(order_[place])) {
                Digest& how = how_[held.thing];
                if (how == Digest{}) {
                    met_.push_back(held.thing);
                }
                how += input_.labels_[held.label];
            }
        }
        touched_.clear();
        for (const std::uint32_t member : met_) {
            const std::uint32_t number = class_of_[member];
            Class& its = classes_[number];
            if (its.met == 0) {
                touched_.push_back(number);
            } else {
                its.is_even = its.is_even && how_[member] == how_[order_[its.begin]];
            }
            const std::uint32_t front = its.begin + its.met++;
            const std::uint32_t place = place_of_[member];
            put(order_[front], place);
            put(member, front);
        }
        for (const std::uint32_t number : touched_) {
            split(number);
        }
        for (const std::uint32_t member : met_) {
            how_[member] = {};
        }
    }

    /// Splits a class by how its members were met.
    void split(std::uint32_t number) {
        const Class whole = classes_[number];
        classes_[number].met = 0;
        classes_[number].is_even = true;
        if (whole.is_even && whole.begin + whole.met == whole.end) {
            return;
        }
        const auto first = order_.begin() + whole.begin;
        const auto rest = first + whole.met;
        if (!whole.is_even) {
            std::sort(first, rest, [&](std::uint32_t x, std::uint32_t y) { return how_[x] < how_[y]; });
            for (std::uint32_t place = whole.begin; place < whole.begin + whole.met; ++place) {
                place_of_[order_[place]] = place;
            }
        }
        parts_.clear();
        for (std::uint32_t begin = whole.begin; begin < whole.begin + whole.met;) {
            std::uint32_t end = begin + 1;
            while (end < whole.begin + whole.met && how_[order_[end]] == how_[order_[begin]]) {
                ++end;
            }
            parts_.push_back({.begin = begin, .end = end});
            begin = end;
        }
        if (whole.begin + whole.met < whole.end) {
            parts_.push_back({.begin = whole.begin + whole.met, .end = whole.end});
        }
        // The largest keeps the number. How others hold on to it follows from how they hold on to the whole and to the
        // other parts, so that it need not be looked at for itself.
        const auto largest = std::max_element(parts_.begin(), parts_.end(), [](const Class& x, const Class& y) {
            return x.end - x.begin < y.end - y.begin;
        });
        classes_[number] = *largest;
        watched_classes_ += is_watched(number) ? parts_.size() - 1 : 0;
        for (auto part = parts_.begin(); part != parts_.end(); ++part) {
            if (part == largest) {
                continue;
            }
            const auto fresh = static_cast<std::uint32_t>(classes_.size());
            classes_.push_back(*part);
            for (std::uint32_t place = part->begin; place < part->end; ++place) {
                class_of_[order_[place]] = fresh;
            }
            waiting_.push_back(fresh);
        }
    }

    const Refinement& input_;
    std::size_t things_;
    std::size_t members_;
    std::size_t watched_;
    std::size_t watched_classes_ = 0;
    std::vector<std::uint32_t> first_tie_ = {};
    std::vector<Role> ties_ = {};  ///< the `thing` is a tie's member number
    std::vector<Class> classes_ = {};
    std::vector<std::uint32_t> order_ = {};     ///< members by class
    std::vector<std::uint32_t> place_of_ = {};  ///< in order_
    std::vector<std::uint32_t> class_of_ = {};
    std::vector<std::uint32_t> waiting_ = {};  ///< classes by which others have not been told apart yet
    std::vector<Digest> how_ = {};             ///< by member: how it holds on to the class in question
    std::vector<std::uint32_t> met_ = {};
    std::vector<std::uint32_t> touched_ = {};
    std::vector<Class> parts_ = {};
};

std::size_t Refinement::refine(std::size_t watched, std::size_t most) {
    Partition partition(*this, watched);
    partition.refine(most);
    const auto colour_of = [&](std::size_t member) { return mix(Digest{8, 8}, partition.class_of(member)); };
    const std::size_t things = colours_.size();
    for (std::size_t thing = 0; thing < things; ++thing) {
        colours_[thing] = colour_of(thing);
    }
    for (std::size_t tie = 0; tie < kinds_.size(); ++tie) {
        kinds_[tie] = colour_of(things + tie);
    }
    return partition.thing_classes();
}

std::size_t count_different(std::span<const Digest> digests) {
    std::vector<Digest> sorted(digests.begin(), digests.end());
    std::sort(sorted.begin(), sorted.end());
    return static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
}

}  // namespace lockstep::replay
