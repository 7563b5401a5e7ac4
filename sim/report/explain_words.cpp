#include "sim/report/explain_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/report/explain_cells.h"
#include "sim/report/explain_pattern.h"

namespace lockstep::report {

using collective::Buffer;
using collective::Operation;
using collective::Verb;

namespace {

/// What is done with what arrives.
enum class Effect : std::uint8_t { stores, adds, switch_sum, switch_sum_for_all, switch_copy, own_copy, own_sum };

Effect effect_of(Verb verb) {
    switch (verb) {
        case Verb::receive_reduce:
            return Effect::adds;
        case Verb::reduce_in_switch:
            return Effect::switch_sum;
        case Verb::receive_sum:
            return Effect::switch_sum_for_all;
        case Verb::receive_multicast:
            return Effect::switch_copy;
        case Verb::copy:
            return Effect::own_copy;
        case Verb::reduce:
            return Effect::own_sum;
        default:
            return Effect::stores;
    }
}

std::string counted(std::size_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

bool all_into(const std::vector<const Move*>& moves, Buffer buffer) {
    return std::ranges::all_of(moves, [&](const Move* move) { return move->buffer == buffer; });
}

/// Whether what arrives is at once what is due there.
bool completes(const Step& step, const std::vector<const Move*>& moves) {
    std::set<std::pair<RankId, std::uint32_t>> complete;
    for (const Change& change : step.changes) {
        if (change.held.complete) {
            complete.insert({change.rank, change.chunk});
        }
    }
    return std::ranges::all_of(moves, [&](const Move* move) {
        return std::ranges::all_of(move->to, [&](RankId rank) {
            return std::ranges::all_of(move->chunks, [&](std::uint32_t chunk) {
                return complete.contains({rank, chunk});
            });
        });
    });
}

/// What becomes of what arrives: a sentence of its own, or nothing where it is only kept.
std::string consequence(const Explanation& explanation, const Step& step, Effect effect,
                        const std::vector<const Move*>& moves) {
    if (explanation.schedule.operation == Operation::barrier) {
        return " There is nothing in it: it only says who has come.";
    }
    const bool complete = completes(step, moves);
    if (effect == Effect::adds) {
        return complete ? " What arrives completes the sum there." : " What arrives is added to what is there.";
    }
    if (all_into(moves, Buffer::scratch)) {
        return " What arrives is set aside.";
    }
    return complete && adds_up(explanation.schedule.operation) ? " What arrives is a complete sum." : "";
}

/// The distinct chunks of some moves, ascending.
std::vector<std::uint32_t> chunks_of(const std::vector<const Move*>& moves) {
    std::set<std::uint32_t> chunks;
    for (const Move* const move : moves) {
        chunks.insert(move->chunks.begin(), move->chunks.end());
    }
    return {chunks.begin(), chunks.end()};
}

std::vector<std::uint32_t> receivers_of(const std::vector<const Move*>& moves) {
    std::set<std::uint32_t> ranks;
    for (const Move* const move : moves) {
        for (const RankId rank : move->to) {
            ranks.insert(static_cast<std::uint32_t>(rank));
        }
    }
    return {ranks.begin(), ranks.end()};
}

std::string group_sentence(const Explanation& explanation, const Step& step, Effect effect,
                           const std::vector<const Move*>& moves) {
    const bool all = receivers_of(moves).size() == explanation.schedule.ranks;
    const std::string who = receivers_of(moves).size() == 1 ? fmt::format("rank {}", receivers_of(moves).front())
                            : all                           ? std::string("each rank")
                                                            : fmt::format("ranks {}", listed(receivers_of(moves)));
    const std::string chunks = chunks_text(chunks_of(moves));
    switch (effect) {
        case Effect::switch_sum:
            return moves.size() == 1
                       ? fmt::format("The switch reads {} from all members, adds up, and hands the sum to {}.", chunks,
                                     who)
                       : fmt::format("The switch adds up {} on the way and hands {} the sum of its own part.", chunks,
                                     who);
        case Effect::switch_sum_for_all:
            return fmt::format("The switch adds up {} of {} and hands the sum to all of them.", chunks,
                               moves.front()->from.size() == explanation.schedule.ranks
                                   ? std::string("all ranks")
                                   : fmt::format("each group of {}", moves.front()->from.size()));
        case Effect::switch_copy: {
            std::set<std::uint32_t> roots;
            for (const Move* const move : moves) {
                roots.insert(static_cast<std::uint32_t>(move->from.front()));
            }
            const std::vector<std::uint32_t> from(roots.begin(), roots.end());
            const bool by_all = from.size() == explanation.schedule.ranks;
            return fmt::format("{} once to the switch, which copies it to everybody.",
                               by_all             ? std::string("Every rank writes its own part")
                               : from.size() == 1 ? fmt::format("Rank {} writes {}", from.front(), chunks)
                                                  : fmt::format("Ranks {} write {}", listed(from), chunks));
        }
        case Effect::own_copy:
        case Effect::own_sum: {
            std::string text = fmt::format("{} {} for itself ({}).", who,
                                           effect == Effect::own_copy ? "moves data" : "adds up what it has", chunks);
            if (receivers_of(moves).size() > 1 && !all) {
                text = fmt::format("{} {} for themselves ({}).", who,
                                   effect == Effect::own_copy ? "move data" : "add up what they have", chunks);
            }
            text.front() = static_cast<char>(text.front() - 'a' + 'A');
            return text;
        }
        default:
            return pattern_of(explanation, moves) + "." + consequence(explanation, step, effect, moves);
    }
}

}  // namespace

std::string listed(std::span<const std::uint32_t> numbers, std::size_t most) {
    std::vector<std::string> words;
    std::size_t left = numbers.size();
    for (std::size_t at = 0; at < numbers.size();) {
        std::size_t end = at + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
            ++end;
        }
        if (words.size() + 1 >= most && end < numbers.size()) {
            words.push_back(fmt::format("{} more", left));
            break;
        }
        if (end - at > 2) {
            words.push_back(fmt::format("{}–{}", numbers[at], numbers[end - 1]));
        } else {
            end = at + 1;
            words.push_back(fmt::format("{}", numbers[at]));
        }
        left -= end - at;
        at = end;
    }
    return words_joined(words);
}

std::string listed(std::span<const RankId> ranks, std::size_t most) {
    std::vector<std::uint32_t> numbers;
    for (const RankId rank : ranks) {
        numbers.push_back(static_cast<std::uint32_t>(rank));
    }
    std::ranges::sort(numbers);
    return listed(numbers, most);
}

std::string chunks_text(std::span<const std::uint32_t> chunks) {
    return fmt::format("chunk{} {}", chunks.size() == 1 ? "" : "s", listed(chunks));
}

std::string bytes_text(Bytes bytes) {
    constexpr std::int64_t least_kibibytes = 10 * 1024;
    if (bytes.value < least_kibibytes && bytes.value % 1024 != 0) {
        return fmt::format("{} B", bytes.value);
    }
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes.value);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string title(const Explanation& explanation) {
    return fmt::format("{} {}", explanation.schedule.algorithm, collective::name_of(explanation.schedule.operation));
}

std::string setting(const Explanation& explanation) {
    const collective::Schedule& schedule = explanation.schedule;
    std::string text =
        fmt::format("{} on {}", counted(schedule.ranks, "rank"), explanation.communicator.fabric().name());
    if (collective::has_root(schedule.operation)) {
        text += fmt::format(", root {}", index(schedule.root));
    }
    if (schedule.operation == Operation::barrier) {
        return text;
    }
    text += fmt::format(", {} in {}", bytes_text(explanation.bytes), counted(schedule.chunks, "chunk"));
    if (!schedule.sizes && schedule.chunks > 1) {
        text += fmt::format(" of {}{}", explanation.bytes.value % schedule.chunks == 0 ? "" : "about ",
                            bytes_text(Bytes{explanation.bytes.value / schedule.chunks}));
    }
    if (schedule.channels > 1) {
        text += fmt::format(", {} channels", schedule.channels);
    }
    return text;
}

std::string sentence(const Explanation& explanation, std::size_t step_at) {
    const Step& step = explanation.steps[step_at];
    std::map<Effect, std::vector<const Move*>> groups;
    for (const Move& move : step.moves) {
        groups[effect_of(move.verb)].push_back(&move);
    }
    std::string text;
    for (const auto& [effect, moves] : groups) {
        text += text.empty() ? "" : " ";
        text += group_sentence(explanation, step, effect, moves);
    }
    const std::uint64_t before = step_at == 0 ? explanation.complete_at_start : explanation.steps[step_at - 1].complete;
    if (step.complete == explanation.results) {
        text += " Now all is where it belongs.";
    } else if (step.complete > before) {
        text += fmt::format(" Now {} of {} results are complete.", step.complete, explanation.results);
    }
    return text;
}

}  // namespace lockstep::report
