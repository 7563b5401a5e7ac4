#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/replay/refinement.h"

namespace lockstep::replay {

enum class ConnectionEnd : std::uint8_t { sender, receiver };

/// Connections by who sends to whom on which channel, and how programs use them; found in constant time, in the order
/// of first use.
class ConnectionTable {
  public:
    static constexpr std::size_t most_ranks = std::size_t{1} << 24U;
    static constexpr std::uint32_t most_channels = 1U << 16U;

    struct Entry {
        RankId from{};
        RankId to{};
        std::uint32_t channel = 0;
        std::uint32_t script = UINT32_MAX;  ///< that was noted last
        std::uint32_t sends = 0;            ///< uses by it so far, by which those of one end are told apart
        std::uint32_t takes = 0;
        bool is_sent_on = false;
        bool is_taken_from = false;
        Digest uses = {};  ///< of all uses at both ends

        void add(std::uint32_t by, ConnectionEnd end, const Digest& how) {
            if (script != by) {
                script = by;
                sends = 0;
                takes = 0;
            }
            if (end == ConnectionEnd::sender) {
                is_sent_on = true;
                uses += mix(mix(how, 1), sends++);
            } else {
                is_taken_from = true;
                uses += mix(mix(how, 2), takes++);
            }
        }
    };

    /// script: what uses it, noted one after the other. Requires: ranks and channel below the limits, and settle()
    /// after the last.
    void note_use(RankId from, RankId to, std::uint32_t channel, ConnectionEnd end, std::uint32_t script,
                  const Digest& how) {
        if (noted_.size() == most_noted) {
            settle();
        }
        noted_.push_back({key_of(from, to, channel), how, script, end});
        if (!slots_.empty()) {
            __builtin_prefetch(&slots_[first_slot(noted_.back().key)]);
        }
    }

    /// Uses wait until there are some: by then the processor has fetched where they are kept, which fits no cache.
    void settle() {
        numbers_.clear();
        for (const Use& use : noted_) {
            numbers_.push_back(find_or_add(use.key));
            __builtin_prefetch(&entries_[numbers_.back()], 1);
        }
        for (std::size_t at = 0; at < noted_.size(); ++at) {
            entries_[numbers_[at]].add(noted_[at].script, noted_[at].end, noted_[at].how);
        }
        noted_.clear();
    }

    const std::vector<Entry>& entries() const { return entries_; }
    /// Its number. Requires: it has been used.
    std::uint32_t number(RankId from, RankId to, std::uint32_t channel) const {
        return slots_[slot(key_of(from, to, channel))].number;
    }

  private:
    static constexpr std::size_t most_noted = 64;

    struct Slot {
        std::uint64_t key = UINT64_MAX;
        std::uint32_t number = 0;
    };
    struct Use {
        std::uint64_t key;
        Digest how;
        std::uint32_t script;
        ConnectionEnd end;
    };

    static std::uint64_t key_of(RankId from, RankId to, std::uint32_t channel) {
        return static_cast<std::uint64_t>(index(from)) << 40U | static_cast<std::uint64_t>(index(to)) << 16U | channel;
    }

    std::size_t first_slot(std::uint64_t key) const {
        const std::uint64_t hash = key * 0x9E3779B97F4A7C15ULL;
        return (hash ^ hash >> 32U) & (slots_.size() - 1);
    }

    std::size_t slot(std::uint64_t key) const {
        std::size_t at = first_slot(key);
        while (slots_[at].key != key && slots_[at].key != UINT64_MAX) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }

    std::uint32_t find_or_add(std::uint64_t key) {
        if (2 * (entries_.size() + 1) > slots_.size()) {
            grow();
        }
        Slot& found = slots_[slot(key)];
        if (found.key == UINT64_MAX) {
            found = {key, static_cast<std::uint32_t>(entries_.size())};
            entries_.push_back({.from = id_at<RankId>(key >> 40U),
                                .to = id_at<RankId>(key >> 16U & (most_ranks - 1)),
                                .channel = static_cast<std::uint32_t>(key & (most_channels - 1))});
        }
        return found.number;
    }

    void grow() {
        slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), {});
        for (std::uint32_t number = 0; number < entries_.size(); ++number) {
            const Entry& entry = entries_[number];
            const std::uint64_t key = key_of(entry.from, entry.to, entry.channel);
            slots_[slot(key)] = {key, number};
        }
    }

    std::vector<Entry> entries_;
    std::vector<Slot> slots_;
    std::vector<Use> noted_;              ///< not settled yet
    std::vector<std::uint32_t> numbers_;  ///< of their entries, while they are settled
};

}  // namespace lockstep::replay
