#include "sim/engine/event_heap.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

TEST_CASE("EventHeap: yields events by time, then sequence, after any moves", "[engine]") {
    Dice dice(GENERATE(1U, 2U, 3U));
    EventHeap heap;
    std::map<std::uint32_t, EventHeap::Event> expected;
    std::uint64_t sequence = 0;
    const auto earliest = [&] {
        return std::min_element(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second.time, a.second.sequence) < std::pair(b.second.time, b.second.sequence);
        });
    };
    for (int step = 0; step < 3000; ++step) {
        const auto id = static_cast<std::uint32_t>(dice.below(100));
        const EventHeap::Event event{static_cast<double>(dice.below(20)), sequence++, id};
        switch (dice.below(4)) {
            case 0:
                if (!expected.empty()) {
                    const auto first = earliest();
                    const EventHeap::Event popped = heap.pop();
                    REQUIRE(popped.id == first->first);
                    REQUIRE(popped.time == first->second.time);
                    expected.erase(first);
                }
                break;
            case 1:
                for (std::uint32_t many = 0; many < 5; ++many) {
                    const EventHeap::Event moved{static_cast<double>(dice.below(20)), sequence++, (id + many) % 100};
                    heap.set_without_order(moved);
                    expected[moved.id] = moved;
                }
                heap.restore_order();
                break;
            default:
                heap.set(event);
                expected[id] = event;
        }
        REQUIRE(heap.size() == expected.size());
        if (!expected.empty()) {
            REQUIRE(heap.top().id == earliest()->first);
        }
    }
}

}  // namespace
}  // namespace lockstep::engine
