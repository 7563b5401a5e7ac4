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
    };

    /// script: what uses it, noted one after the other. Requires: ranks and channel below the limits.
    void note_use(RankId from, RankId to, std::uint32_t channel, ConnectionEnd end, std::uint32_t script,
                  const Digest& how) {
        Entry& entry = entries_[find_or_add(from, to, channel)];
        if (entry.script != script) {
            entry.script = script;
            entry.sends = 0;
            entry.takes = 0;
        }
        if (end == ConnectionEnd::sender) {
            entry.is_sent_on = true;
            entry.uses += mix(mix(how, 1), entry.sends++);
        } else {
            entry.is_taken_from = true;
            entry.uses += mix(mix(how, 2), entry.takes++);
        }
    }

    const std::vector<Entry>& entries() const { return entries_; }
    /// Its number. Requires: it has been used.
    std::uint32_t number(RankId from, RankId to, std::uint32_t channel) const {
        return slots_[slot(key_of(from, to, channel))].number;
    }

  private:
    struct Slot {
        std::uint64_t key = UINT64_MAX;
        std::uint32_t number = 0;
    };

    static std::uint64_t key_of(RankId from, RankId to, std::uint32_t channel) {
        return static_cast<std::uint64_t>(index(from)) << 40U | static_cast<std::uint64_t>(index(to)) << 16U | channel;
    }

    std::size_t slot(std::uint64_t key) const {
        std::uint64_t hash = key * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 32U;
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].key != key && slots_[at].key != UINT64_MAX) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }

    std::uint32_t find_or_add(RankId from, RankId to, std::uint32_t channel) {
        if (2 * (entries_.size() + 1) > slots_.size()) {
            grow();
        }
        const std::uint64_t key = key_of(from, to, channel);
        Slot& found = slots_[slot(key)];
        if (found.key == UINT64_MAX) {
            found = {key, static_cast<std::uint32_t>(entries_.size())};
            entries_.push_back({.from = from, .to = to, .channel = channel});
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
};

}  // namespace lockstep::replay
