#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "sim/collective/chunk_sequence.h"
#include "sim/collective/schedule_steps.h"

namespace lockstep::collective {

namespace {

constexpr std::int64_t most_iterations = 1'000'000'000;
constexpr std::int64_t most_events = std::int64_t{1} << 20;
/// Of a loop in which chunk numbers move: they are held while it is looked at.
constexpr std::uint32_t most_moving_iterations = 1U << 24U;
constexpr std::string_view too_many_numbers = "more than twenty million numbers are to be worked out";

bool is_plain_loop(const StepForm& form) {
    return form.repeat &&
           std::ranges::none_of(form.steps, [](const StepForm& step) { return step.repeat.has_value(); });
}

/// Works the steps of one thread out for one rank.
class Expansion {
  public:
    Expansion(const StepLimits& limits, StepBudget& budget) : limits_(limits), budget_(&budget) {}

    void expand(std::span<const StepForm> steps, std::vector<double>& variables) {
        for (const StepForm& form : steps) {
            if (form.when && worked_out(*form.when, variables) == 0) {
                continue;
            }
            if (form.repeat) {
                expand_loop(form, variables);
            } else {
                append(form, instruction(form, variables));
            }
        }
    }

    std::vector<Block> blocks() && { return std::move(blocks_); }

  private:
    template <class Amount>
    static void spend(Amount& budget, Amount amount, const StepForm& form, std::string_view what) {
        budget -= amount;
        if (budget < 0) {
            form.at.fail(fmt::format("the file asks for too much: {}", what));
        }
    }

    void spend_kept(const StepForm& form, std::size_t instructions, std::uint32_t iterations) {
        spend(budget_->instructions, static_cast<std::int64_t>(instructions), form,
              "more than a million instructions are left when loops are written out");
        spend(budget_->carried_out, static_cast<double>(instructions) * iterations * limits_.rounds, form,
              "more than two billion instructions are to be carried out");
    }

    void expand_loop(const StepForm& form, std::vector<double>& variables) {
        const auto iterations =
            static_cast<std::uint32_t>(whole(*form.repeat, variables, 0, most_iterations, "iterations"));
        if (iterations == 0) {
            return;
        }
        if (iterations > 1 && is_plain_loop(form) && keep_loop(form, variables, iterations)) {
            return;
        }
        for (std::uint32_t iteration = 0; iteration < iterations; ++iteration) {
            variables.push_back(iteration);
            expand(form.steps, variables);
            variables.pop_back();
            // A loop of nothing may not go on for ever either. Writing one out takes as long as some numbers.
            spend<std::int64_t>(budget_->numbers, 2, form, too_many_numbers);
        }
    }

    void append(const StepForm& form, Instruction instruction) {
        spend_kept(form, 1, 1);
        if (blocks_.empty() || !open_) {
            blocks_.emplace_back();
            open_ = true;
        }
        blocks_.back().body.push_back(std::move(instruction));
    }

    double worked_out(const ScopedNumber& number, std::span<const double> variables) {
        --budget_->numbers;
        return number.number(variables);
    }

    std::int64_t whole(const ScopedNumber& number, std::span<const double> variables, std::int64_t least,
                       std::int64_t most, std::string_view what) {
        if (--budget_->numbers < 0) {
            number.value().fail(fmt::format("the file asks for too much: {}", too_many_numbers));
        }
        return number.count(variables, least, most, what);
    }

    /// How many chunks a buffer has for the first round of the thread.
    std::int64_t room(Buffer buffer) const {
        const std::int64_t chunks = buffer == Buffer::scratch ? limits_.scratch_chunks : limits_.chunks;
        return chunks - static_cast<std::int64_t>(limits_.round_stride) * (limits_.rounds - 1);
    }

    std::uint32_t chunk(const PlaceForm& place, const ScopedNumber& number, std::uint32_t count,
                        std::span<const double> variables) {
        if (room(place.buffer) < count && limits_.round_stride > 0) {
            number.value().fail(fmt::format(
                "the last of {} rounds would be {} chunks further on, past the last of the {} that there are",
                limits_.rounds, std::int64_t{limits_.round_stride} * (limits_.rounds - 1),
                place.buffer == Buffer::scratch ? limits_.scratch_chunks : limits_.chunks));
        }
        return static_cast<std::uint32_t>(whole(number, variables, 0, room(place.buffer) - count,
                                                place.buffer == Buffer::scratch ? "a chunk of scratch" : "a chunk"));
    }

    std::uint32_t group(const StepForm& form, std::span<const double> variables) {
        const auto& groups = *limits_.groups;
        if (groups.empty()) {
            form.at.fail(fmt::format("`{}` needs a group: list the ranks in `groups`", word_of(form.verb)));
        }
        const auto at = form.group
                            ? static_cast<std::uint32_t>(whole(*form.group, variables, 0,
                                                               static_cast<std::int64_t>(groups.size()) - 1, "a group"))
                            : 0;
        require_member(form, at, limits_.rank);
        return at;
    }

    void require_member(const StepForm& form, std::uint32_t group, RankId rank) const {
        const auto& members = (*limits_.groups)[group];
        if (std::ranges::find(members, rank) == members.end()) {
            form.at.fail(fmt::format("`{}`: rank {} is not in group {}", word_of(form.verb), index(rank), group));
        }
    }

    RankId peer(const StepForm& form, const Instruction& made, std::span<const double> variables) {
        if (!form.peer) {
            return form.verb == Verb::contribute_to_all || form.verb == Verb::receive_sum
                       ? (*limits_.groups)[made.group].front()
                       : limits_.rank;
        }
        const auto found =
            id_at<RankId>(static_cast<std::size_t>(whole(*form.peer, variables, 0, limits_.ranks - 1, "a rank")));
        switch (form.verb) {
            case Verb::contribute:
            case Verb::receive_multicast:
            case Verb::contribute_to_all:
            case Verb::receive_sum:
                require_member(form, made.group, found);
                break;
            default:
                if (found == limits_.rank) {
                    form.peer->value().fail(
                        fmt::format("rank {} has itself as peer: `copy` and `reduce` work within "
                                    "a rank",
                                    index(found)));
                }
        }
        return found;
    }

    /// All of an instruction but its chunk numbers.
    Instruction frame(const StepForm& form, std::span<const double> variables) {
        Instruction made{.verb = form.verb, .buffer = form.place.buffer, .peer = limits_.rank};
        if (form.verb == Verb::signal || form.verb == Verb::wait) {
            made.event = static_cast<std::uint32_t>(whole(*form.event, variables, 0, most_events - 1, "an event"));
            return made;
        }
        if (is_in_switch(form.verb)) {
            made.group = group(form, variables);
        }
        made.peer = peer(form, made, variables);
        if (form.count) {
            made.count = static_cast<std::uint32_t>(whole(
                *form.count, variables, 1, std::max(limits_.chunks, limits_.scratch_chunks), "a number of chunks"));
        }
        if (form.from) {
            made.from_buffer = form.from->buffer;
        }
        return made;
    }

    Instruction instruction(const StepForm& form, std::span<const double> variables) {
        Instruction made = frame(form, variables);
        if (form.place.is_list) {
            if (limits_.rounds > 1) {
                form.at.fail("a list of chunks cannot move on in `rounds`: write a loop with `repeat` instead");
            }
            spend(budget_->listed_chunks, static_cast<std::int64_t>(form.place.chunks.size()), form,
                  "more than sixteen million chunks are listed");
            std::vector<std::uint32_t> chunks;
            chunks.reserve(form.place.chunks.size());
            for (const ScopedNumber& number : form.place.chunks) {
                chunks.push_back(chunk(form.place, number, 1, variables));
            }
            made.count = static_cast<std::uint32_t>(chunks.size());
            made.chunks = std::make_shared<const std::vector<std::uint32_t>>(std::move(chunks));
            return made;
        }
        if (!form.place.chunks.empty()) {
            made.chunk = {.offset = chunk(form.place, form.place.chunks.front(), made.count, variables)};
        }
        if (form.from) {
            made.from = {.offset = chunk(*form.from, form.from->chunks.front(), made.count, variables)};
        }
        return made;
    }

    /// The index for a loop's chunk numbers, if they move evenly.
    std::optional<ChunkIndex> moving(const StepForm& form, const PlaceForm& place, std::uint32_t count,
                                     std::vector<double>& variables, std::uint32_t iterations) {
        const std::size_t counter = variables.size();
        const ScopedNumber& number = place.chunks.front();
        const bool moves = number.uses(counter);
        if (moves && iterations > most_moving_iterations) {
            number.value().fail(
                fmt::format("a chunk number can move over {} iterations, got {}", most_moving_iterations, iterations));
        }
        std::vector<std::uint32_t> values;
        variables.push_back(0);
        for (std::uint32_t iteration = 0; iteration < (moves ? iterations : 1); ++iteration) {
            variables.back() = iteration;
            values.push_back(chunk(place, number, count, variables));
        }
        variables.pop_back();
        const auto limit = static_cast<std::uint32_t>(room(place.buffer) - count + 1);
        if (auto index = index_of_sequence(values, limit)) {
            return index;
        }
        auto index = index_of_visits(values, limit);
        if (index) {
            spend<std::int64_t>(budget_->listed_chunks, limit, form, "more than sixteen million chunks are listed");
        }
        return index;
    }

    /// Whether anything but the chunk numbers depends on the loop's counter.
    static bool changes(const StepForm& form, std::size_t counter) {
        const auto uses = [&](const std::optional<ScopedNumber>& number) { return number && number->uses(counter); };
        return form.place.is_list || uses(form.when) || uses(form.peer) || uses(form.count) || uses(form.group) ||
               uses(form.event);
    }

    /// Appends the loop as one, if it can stay one.
    bool keep_loop(const StepForm& form, std::vector<double>& variables, std::uint32_t iterations) {
        if (std::ranges::any_of(form.steps, [&](const StepForm& step) { return changes(step, variables.size()); })) {
            return false;
        }
        Block block{.iterations = iterations};
        for (const StepForm& step : form.steps) {
            variables.push_back(0);
            const bool is_done = !step.when || worked_out(*step.when, variables) != 0;
            Instruction made = is_done ? frame(step, variables) : Instruction{};
            variables.pop_back();
            if (!is_done) {
                continue;
            }
            if (!step.place.chunks.empty()) {
                const auto index = moving(step, step.place, made.count, variables, iterations);
                if (!index) {
                    return false;
                }
                made.chunk = *index;
            }
            if (step.from) {
                const auto index = moving(step, *step.from, made.count, variables, iterations);
                if (!index) {
                    return false;
                }
                made.from = *index;
            }
            block.body.push_back(std::move(made));
        }
        spend_kept(form, block.body.size(), iterations);
        if (!block.body.empty()) {
            blocks_.push_back(std::move(block));
            open_ = false;
        }
        return true;
    }

    StepLimits limits_;
    StepBudget* budget_;
    std::vector<Block> blocks_ = {};
    bool open_ = false;  ///< whether the last block takes more single instructions
};

}  // namespace

std::vector<Block> expand(std::span<const StepForm> steps, std::vector<double> variables, const StepLimits& limits,
                          StepBudget& budget) {
    Expansion expansion(limits, budget);
    expansion.expand(steps, variables);
    return std::move(expansion).blocks();
}

}  // namespace lockstep::collective
