#include "sim/collective/load_programs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/collective/schedule_steps.h"

namespace lockstep::collective {

namespace {

constexpr std::int64_t most_rounds = 1'000'000'000;

bool is_word(const YamlValue& value, std::string_view word) { return value.is_scalar() && value.written() == word; }

/// A thread of a program as the file says it.
struct ThreadForm {
    YamlValue at;
    std::optional<ScopedNumber> channel = {};  ///< none: the first
    bool on_all_channels = false;
    std::optional<ScopedNumber> rounds = {};
    std::optional<ScopedNumber> round_stride = {};
    std::vector<StepForm> steps = {};
};

using ProgramForm = std::vector<ThreadForm>;

/// Reads programs and works them out, one after the other, so that only one is held as it is written.
class ProgramLoader {
  public:
    ProgramLoader(YamlMap& root, Scope& scope, const Schedule& head) : root_(&root), scope_(&scope), head_(&head) {}

    std::vector<RankProgram> load() {
        programs_.resize(head_->ranks);
        const auto steps = root_->find("steps");
        const auto threads = root_->find("threads");
        const auto programs = root_->find("programs");
        const int ways = static_cast<int>(steps.has_value()) + static_cast<int>(threads.has_value()) +
                         static_cast<int>(programs.has_value());
        if (ways != 1) {
            root_->self().fail(fmt::format(
                "expected one of `steps` (of every rank), `threads` (of every rank) and `programs` (for some ranks "
                "each), got {}",
                ways == 0 ? "none" : "more"));
        }
        // Which ranks a program is for does not depend on the rank: that name has a meaning only from here on.
        const std::vector<YamlValue> items = programs ? programs->list() : std::vector<YamlValue>();
        const std::vector<std::vector<RankId>> selections = read_selections(items);
        scope_->add_variable("rank");
        scope_->add_variable("channel");
        read_names();
        if (programs) {
            read_programs(items, selections);
        } else {
            const ProgramForm form = steps ? single_thread(*steps) : read_threads(*threads);
            for (std::uint32_t rank = 0; rank < head_->ranks; ++rank) {
                add(form, id_at<RankId>(rank));
            }
        }
        return std::move(programs_);
    }

  private:
    void read_names() {
        const auto value = root_->find("let");
        if (!value) {
            return;
        }
        YamlMap map = value->map();
        for (const auto& [name, number] : map.entries()) {
            names_.emplace_back(number, *scope_);
            scope_->add_variable(name, map.key_position(name));
        }
    }

    /// The values of the variables for a rank and channel.
    std::vector<double> variables(RankId rank, std::uint32_t channel) {
        std::vector<double> values{static_cast<double>(index(rank)), static_cast<double>(channel)};
        for (const ScopedNumber& name : names_) {
            --budget_.numbers;
            values.push_back(name.number(values));
        }
        return values;
    }

    ProgramForm single_thread(const YamlValue& steps) {
        ProgramForm form;
        form.push_back({.at = steps, .steps = read_steps(steps, *scope_)});
        return form;
    }

    ProgramForm read_threads(const YamlValue& value) {
        ProgramForm form;
        for (const YamlValue& item : value.list()) {
            YamlMap map = item.map();
            ThreadForm thread{.at = item};
            if (const auto channel = map.find("channel")) {
                thread.on_all_channels = is_word(*channel, "all");
                if (!thread.on_all_channels) {
                    thread.channel.emplace(*channel, *scope_);
                }
            }
            if (const auto rounds = map.find("rounds")) {
                thread.rounds.emplace(*rounds, *scope_);
                thread.round_stride.emplace(map.require("round_stride"), *scope_);
            }
            thread.steps = read_steps(map.require("steps"), *scope_);
            map.finish();
            form.push_back(std::move(thread));
        }
        return form;
    }

    /// The ranks of each program; each rank in at most one.
    std::vector<std::vector<RankId>> read_selections(std::span<const YamlValue> items) const {
        std::vector<std::vector<RankId>> selections;
        std::vector<bool> is_taken(head_->ranks, false);
        std::optional<std::size_t> rest;
        for (const YamlValue& item : items) {
            const YamlValue ranks = item.map().require("ranks");
            if (is_word(ranks, "others")) {
                if (rest) {
                    ranks.fail("the other ranks have a program already");
                }
                rest = selections.size();
                selections.emplace_back();
                continue;
            }
            selections.push_back(selected_ranks(ranks, *scope_, head_->ranks));
            for (const RankId rank : selections.back()) {
                if (is_taken[index(rank)]) {
                    ranks.fail(fmt::format("rank {} has a program already", index(rank)));
                }
                is_taken[index(rank)] = true;
            }
        }
        for (std::uint32_t rank = 0; rest && rank < head_->ranks; ++rank) {
            if (!is_taken[rank]) {
                selections[*rest].push_back(id_at<RankId>(rank));
            }
        }
        return selections;
    }

    void read_programs(std::span<const YamlValue> items, std::span<const std::vector<RankId>> selections) {
        for (std::size_t at = 0; at < items.size(); ++at) {
            YamlMap map = items[at].map();
            static_cast<void>(map.require("ranks"));
            const auto steps = map.find("steps");
            const auto threads = map.find("threads");
            map.finish();
            if (steps.has_value() == threads.has_value()) {
                items[at].fail("expected `steps`, or `threads` with steps each");
            }
            const ProgramForm form = steps ? single_thread(*steps) : read_threads(*threads);
            for (const RankId rank : selections[at]) {
                add(form, rank);
            }
        }
    }

    void add(const ProgramForm& form, RankId rank) {
        owners_.clear();
        for (const ThreadForm& thread : form) {
            if (thread.on_all_channels) {
                for (std::uint32_t channel = 0; channel < head_->channels; ++channel) {
                    add_thread(thread, rank, channel);
                }
            } else {
                const std::vector<double> values = variables(rank, 0);
                const auto channel =
                    thread.channel ? thread.channel->count(values, 0, head_->channels - 1, "a channel") : 0;
                add_thread(thread, rank, static_cast<std::uint32_t>(channel));
            }
        }
    }

    void add_thread(const ThreadForm& form, RankId rank, std::uint32_t channel) {
        const std::vector<double> values = variables(rank, channel);
        Thread thread{.channel = channel};
        if (form.rounds) {
            thread.rounds =
                static_cast<std::uint32_t>(form.rounds->count(values, 0, most_rounds, "a number of rounds"));
            const std::int64_t most = std::max(head_->chunks, head_->scratch_chunks);
            thread.round_stride =
                static_cast<std::uint32_t>(form.round_stride->count(values, 0, most, "a number of chunks"));
        }
        if (thread.rounds == 0) {
            return;
        }
        thread.blocks = expand(form.steps, values,
                               {.rank = rank,
                                .ranks = head_->ranks,
                                .chunks = head_->chunks,
                                .scratch_chunks = head_->scratch_chunks,
                                .groups = &head_->groups,
                                .rounds = thread.rounds,
                                .round_stride = thread.round_stride},
                               budget_);
        if (thread.blocks.empty()) {
            return;
        }
        require_own_ends(form, rank, thread);
        programs_[index(rank)].push_back(std::move(thread));
    }

    /// Throws: InputError where another thread of the rank sends to, or takes from, the same peer on this channel: they
    /// would take turns by chance.
    void require_own_ends(const ThreadForm& form, RankId rank, const Thread& thread) {
        const std::size_t place = programs_[index(rank)].size();
        for (const Block& block : thread.blocks) {
            for (const Instruction& instruction : block.body) {
                const bool sends = instruction.verb == Verb::send;
                if (!sends && instruction.verb != Verb::receive && instruction.verb != Verb::receive_reduce) {
                    continue;
                }
                const auto [owner, fresh] = owners_.try_emplace({thread.channel, sends, instruction.peer}, place);
                if (!fresh && owner->second != place) {
                    form.at.fail(fmt::format(
                        "two threads of rank {} {} rank {} on channel {}: give one of them "
                        "another channel",
                        index(rank), sends ? "send to" : "receive from", index(instruction.peer), thread.channel));
                }
            }
        }
    }

    YamlMap* root_;
    Scope* scope_;
    const Schedule* head_;
    std::vector<ScopedNumber> names_ = {};
    StepBudget budget_ = {};
    std::map<std::tuple<std::uint32_t, bool, RankId>, std::size_t> owners_ = {};  ///< of one rank
    std::vector<RankProgram> programs_ = {};
};

}  // namespace

std::vector<RankId> selected_ranks(const YamlValue& value, const Scope& scope, std::uint32_t ranks) {
    std::vector<RankId> members;
    const auto count = [&](const YamlValue& at, std::int64_t least, std::int64_t most, std::string_view what) {
        return ScopedNumber(at, scope).count({}, least, most, what);
    };
    const auto rank_at = [&](const YamlValue& at) {
        return id_at<RankId>(static_cast<std::size_t>(count(at, 0, std::int64_t{ranks} - 1, "a rank")));
    };
    if (is_word(value, "all")) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            members.push_back(id_at<RankId>(rank));
        }
    } else if (value.is_list()) {
        std::vector<bool> is_listed(ranks, false);
        for (const YamlValue& item : value.list()) {
            const RankId rank = rank_at(item);
            if (is_listed[index(rank)]) {
                item.fail(fmt::format("rank {} is listed twice", index(rank)));
            }
            is_listed[index(rank)] = true;
            members.push_back(rank);
        }
    } else if (value.is_map()) {
        YamlMap map = value.map();
        const std::int64_t from = count(map.require("from"), 0, ranks, "a rank");
        const std::int64_t to = count(map.require("to"), -1, std::int64_t{ranks} - 1, "a rank");
        const auto by = map.find("by");
        const std::int64_t distance = by ? count(*by, 1, ranks, "a distance") : 1;
        map.finish();
        for (std::int64_t rank = from; rank <= to; rank += distance) {
            members.push_back(id_at<RankId>(static_cast<std::size_t>(rank)));
        }
    } else {
        members.push_back(rank_at(value));
    }
    return members;
}

std::vector<RankProgram> load_programs(YamlMap& root, Scope& scope, const Schedule& head) {
    return ProgramLoader(root, scope, head).load();
}

}  // namespace lockstep::collective
