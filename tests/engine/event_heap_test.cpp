#include "sim/engine/event_heap.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

TEST_CASE("EventHeap: yields events by time after any moves", "[engine]") {
    Dice dice(GENERATE(1U, 2U, 3U));
    EventHeap heap;
    std::map<std::uint32_t, EventHeap::Event> expected;
    const auto earliest = [&] {
        return std::min_element(expected.begin(), expected.end(),
                                [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
    };
    for (int step = 0; step < 3000; ++step) {
        const auto id = static_cast<std::uint32_t>(dice.below(100));
        const EventHeap::Event event{static_cast<double>(dice.below(20)), id};
        switch (dice.below(5)) {
            case 0:
                if (!expected.empty()) {
                    const EventHeap::Event popped = heap.pop();
                    REQUIRE(popped.time == earliest()->second.time);
                    REQUIRE(expected.at(popped.id).time == popped.time);
                    expected.erase(popped.id);
                }
                break;
            case 1:
                if (!expected.empty()) {
                    const std::uint32_t gone =
                        std::next(expected.begin(), static_cast<std::ptrdiff_t>(dice.below(expected.size())))->first;
                    heap.remove(gone);
                    expected.erase(gone);
                }
                break;
            case 2:
                for (std::uint32_t many = 0; many < 5; ++many) {
                    const EventHeap::Event moved{static_cast<double>(dice.below(20)), (id + many) % 100};
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
            REQUIRE(heap.top().time == earliest()->second.time);
        }
    }
}

}  // namespace
}  // namespace lockstep::engine
