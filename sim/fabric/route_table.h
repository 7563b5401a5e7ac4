#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/fabric/route.h"

namespace lockstep::fabric {

/// Finds routes by key with one probe of one array, since every message asks for its route and a ring of 100,000 GPUs
/// does not fit the processor's cache. Open addressing, linear probing, at most half full; nothing is ever taken out.
template <class Key, class Hash>
class RouteTable {
  public:
    /// Returns: nullptr if there is none.
    const Route* find(const Key& key) const {
        for (std::size_t i = Hash()(key) & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].route == nullptr || slots_[i].key == key) {
                return slots_[i].route;
            }
        }
    }

    /// Requires: find(key) is nullptr.
    void insert(const Key& key, const Route* route) {
        if (2 * ++count_ > slots_.size()) {
            std::vector<Slot> smaller = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
            for (const Slot& slot : smaller) {
                if (slot.route != nullptr) {
                    place(slot);
                }
            }
        }
        place({key, route});
    }

  private:
    struct Slot {
        Key key{};
        const Route* route = nullptr;
    };

    void place(const Slot& slot) {
        std::size_t i = Hash()(slot.key) & (slots_.size() - 1);
        while (slots_[i].route != nullptr) {
            i = (i + 1) & (slots_.size() - 1);
        }
        slots_[i] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);  // as many as a power of two
    std::size_t count_ = 0;
};

}  // namespace lockstep::fabric
