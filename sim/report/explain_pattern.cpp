#include "sim/report/explain_pattern.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/report/explain_words.h"

namespace lockstep::report {

namespace {

class Pattern {
  public:
    Pattern(const Explanation& explanation, std::span<const Move* const> moves)
        : explanation_(explanation), ranks_(explanation.schedule.ranks) {
        for (const Move* const move : moves) {
            const auto from = static_cast<std::uint32_t>(move->from.front());
            const auto to = static_cast<std::uint32_t>(move->to.front());
            receivers_[from].insert(to);
            senders_[to].insert(from);
            chunks_per_pair_[{from, to}] += move->chunks.size();
            to_on_channel_[{move->channel, from}].insert(to);
            from_on_channel_[{move->channel, to}].insert(from);
            chunks_per_message_.insert(move->chunks.size());
            channels_.insert(move->channel);
        }
    }

    /// "Every rank sends a chunk to the next rank"
    std::string text() const {
        if (const auto all = everybody()) {
            return *all;
        }
        if (const auto all = everybody_of_node()) {
            return *all;
        }
        if (const auto rings = on_each_channel()) {
            return *rings;
        }
        if (receivers_.size() == 1 && senders_.size() > 1) {
            return fmt::format("Rank {} sends {} to {}", receivers_.begin()->first, load("each"),
                               ranks(keys(senders_)));
        }
        if (senders_.size() == 1) {
            return fmt::format("{} {} to rank {}", subject("sends"), load("each"), senders_.begin()->first);
        }
        if (const auto pairs = in_pairs()) {
            return *pairs;
        }
        if (const auto shift = shifted()) {
            return *shift;
        }
        return fmt::format("{} {}: {}", subject("sends"), load({}), pairs_text());
    }

  private:
    static std::vector<std::uint32_t> keys(const std::map<std::uint32_t, std::set<std::uint32_t>>& map) {
        std::vector<std::uint32_t> keys;
        for (const auto& [key, value] : map) {
            keys.push_back(key);
        }
        return keys;
    }

    std::string ranks(const std::vector<std::uint32_t>& numbers) const {
        if (numbers.size() == ranks_) {
            return "every rank";
        }
        return numbers.size() == 1 ? fmt::format("rank {}", numbers.front()) : fmt::format("ranks {}", listed(numbers));
    }

    /// Those that send, as the subject of a verb in the third person.
    std::string subject(std::string_view verb) const {
        const std::vector<std::uint32_t> from = keys(receivers_);
        if (from.size() == ranks_) {
            return fmt::format("Every rank {}", verb);
        }
        if (from.size() == 1) {
            return fmt::format("Rank {} {}", from.front(), verb);
        }
        return fmt::format("Ranks {} {}", listed(from), verb.substr(0, verb.size() - 1));
    }

    /// "a chunk", "2 chunks", "1 to 4 chunks"; of one sender with several receivers `each` comes behind.
    std::string load(std::string_view each) const {
        if (explanation_.schedule.operation == collective::Operation::barrier) {
            return "a message";
        }
        std::size_t least = SIZE_MAX;
        std::size_t most = 0;
        for (const auto& [pair, chunks] : chunks_per_pair_) {
            least = std::min(least, chunks);
            most = std::max(most, chunks);
        }
        const std::string text = least < most ? fmt::format("{} to {} chunks", least, most)
                                 : most == 1  ? std::string("a chunk")
                                              : fmt::format("{} chunks", most);
        const bool several = chunks_per_pair_.size() > 1;
        return each.empty() || !several || most == 1 ? text : fmt::format("{} {}", text, each);
    }

    std::optional<std::string> everybody() const {
        const bool all =
            ranks_ > 2 && receivers_.size() == ranks_ &&
            std::ranges::all_of(receivers_, [&](const auto& one) { return one.second.size() + 1 == ranks_; });
        if (!all) {
            return std::nullopt;
        }
        return fmt::format("Every rank sends {} to every other", load({}));
    }

    /// To all others of the node, and to nobody else.
    std::optional<std::string> everybody_of_node() const {
        const auto& nodes = explanation_.communicator.nodes();
        if (nodes.size() < 2 || receivers_.size() != ranks_) {
            return std::nullopt;
        }
        for (const auto& [from, to] : receivers_) {
            const auto& node = nodes[explanation_.communicator.node_of(id_at<RankId>(from))];
            const bool is_all = node.size() > 2 && to.size() + 1 == node.size() &&
                                std::ranges::all_of(node, [&, sender = from](RankId rank) {
                                    return index(rank) == sender || to.contains(static_cast<std::uint32_t>(rank));
                                });
            if (!is_all) {
                return std::nullopt;
            }
        }
        return fmt::format("Every rank sends {} to every other of its node", load({}));
    }

    /// One message of every rank on each of several channels, and one to every rank.
    std::optional<std::string> on_each_channel() const {
        const auto single = [](const auto& one) { return one.second.size() == 1; };
        const std::size_t expected = channels_.size() * ranks_;
        if (channels_.size() < 2 || to_on_channel_.size() != expected || from_on_channel_.size() != expected ||
            chunks_per_message_.size() != 1 || !std::ranges::all_of(to_on_channel_, single) ||
            !std::ranges::all_of(from_on_channel_, single)) {
            return std::nullopt;
        }
        const std::size_t chunks = *chunks_per_message_.begin();
        return fmt::format("On each of {} channels every rank sends {} to its next rank there", channels_.size(),
                           chunks == 1 ? std::string("a chunk") : fmt::format("{} chunks", chunks));
    }

    bool one_each() const {
        const auto single = [](const auto& one) { return one.second.size() == 1; };
        return std::ranges::all_of(receivers_, single) && std::ranges::all_of(senders_, single);
    }

    /// Both ways between two and two.
    std::optional<std::string> in_pairs() const {
        if (!one_each() || !std::ranges::all_of(receivers_, [&](const auto& one) {
                const auto back = receivers_.find(*one.second.begin());
                return back != receivers_.end() && back->second.contains(one.first);
            })) {
            return std::nullopt;
        }
        std::vector<std::string> pairs;
        for (const auto& [from, to] : receivers_) {
            if (from < *to.begin()) {
                pairs.push_back(fmt::format("{}↔{}", from, *to.begin()));
            }
        }
        return fmt::format("{} with one other rank: {}", fmt::format("{} {}", subject("swaps"), load({})),
                           elided(pairs));
    }

    /// All the same distance on.
    std::optional<std::string> shifted() const {
        if (!one_each()) {
            return std::nullopt;
        }
        std::set<std::uint32_t> distances;
        for (const auto& [from, to] : receivers_) {
            distances.insert((*to.begin() + ranks_ - from) % ranks_);
        }
        if (distances.size() != 1) {
            return std::nullopt;
        }
        const std::uint32_t distance = *distances.begin();
        const std::string whom = distance == 1            ? std::string("the next rank")
                                 : distance + 1 == ranks_ ? std::string("the rank before it")
                                 : 2 * distance <= ranks_ ? fmt::format("the rank {} further on", distance)
                                                          : fmt::format("the rank {} further back", ranks_ - distance);
        return fmt::format("{} {} to {}", subject("sends"), load({}), whom);
    }

    static std::string elided(std::vector<std::string> items) {
        constexpr std::size_t most = 8;
        if (items.size() > most) {
            const std::size_t more = items.size() - most + 1;
            items.resize(most - 1);
            return fmt::format("{} and {} more", fmt::join(items, ", "), more);
        }
        return words_joined(items);
    }

    std::string pairs_text() const {
        std::vector<std::string> pairs;
        for (const auto& [pair, chunks] : chunks_per_pair_) {
            pairs.push_back(fmt::format("{}→{}", pair.first, pair.second));
        }
        return elided(std::move(pairs));
    }

    const Explanation& explanation_;
    std::uint32_t ranks_;
    std::map<std::uint32_t, std::set<std::uint32_t>> receivers_;  ///< by sender
    std::map<std::uint32_t, std::set<std::uint32_t>> senders_;    ///< by receiver
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> chunks_per_pair_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> to_on_channel_;  ///< by channel, sender
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> from_on_channel_;  ///< and receiver
    std::set<std::size_t> chunks_per_message_;
    std::set<std::uint32_t> channels_;
};

}  // namespace

std::string pattern_of(const Explanation& explanation, std::span<const Move* const> moves) {
    return Pattern(explanation, moves).text();
}

std::string words_joined(std::span<const std::string> words) {
    if (words.size() < 2) {
        return words.empty() ? std::string() : words.front();
    }
    return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

}  // namespace lockstep::report
