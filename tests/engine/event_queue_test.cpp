#include "sim/engine/event_queue.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

TEST_CASE("EventQueue: yields all events of the first date after any moves", "[engine]") {
    Dice dice(GENERATE(1U, 2U, 3U));
    const std::size_t dates = GENERATE(3U, 20U, 5000U);  // nearly all shared, some, hardly any
    EventQueue queue;
    std::map<std::uint32_t, double> expected;
    const auto first = [&] {
        return std::min_element(expected.begin(), expected.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; })
            ->second;
    };
    for (int step = 0; step < 3000; ++step) {
        const auto id = static_cast<std::uint32_t>(dice.below(100));
        switch (dice.below(6)) {
            case 0:
                if (!expected.empty()) {
                    std::vector<std::uint32_t> due;
                    for (const auto& [event, date] : expected) {
                        if (date == first()) {
                            due.push_back(event);
                        }
                    }
                    std::vector<std::uint32_t> popped;
                    // A date may come in several parts, if it was forgotten in between.
                    for (const double now = queue.next(); !queue.empty() && queue.next() == now;) {
                        queue.pop([&](std::uint32_t event) { popped.push_back(event); });
                    }
                    std::sort(popped.begin(), popped.end());
                    REQUIRE(popped == due);
                    for (const std::uint32_t event : due) {
                        expected.erase(event);
                    }
                }
                break;
            case 1:
                for (std::uint32_t many = 0; many < 30; ++many) {
                    const auto date = static_cast<double>(dice.below(dates));
                    queue.set(date, (id + many) % 100, EventQueue::Order::broken);
                    expected[(id + many) % 100] = date;
                }
                queue.restore_order();
                break;
            default:
                expected[id] = static_cast<double>(dice.below(dates));
                queue.set(expected[id], id, EventQueue::Order::kept);
        }
        REQUIRE(queue.empty() == expected.empty());
        if (!expected.empty()) {
            REQUIRE(queue.next() == first());
        }
    }
}

TEST_CASE("EventQueue: events of one date share one entry, in the order in which they were set", "[engine]") {
    EventQueue queue;
    for (std::uint32_t id = 0; id < 10; ++id) {
        queue.set(id % 2 == 0 ? 1.0 : 2.0, id, EventQueue::Order::kept);
    }
    CHECK(queue.date_count() == 2);
    queue.set(2.0, 0, EventQueue::Order::kept);  // behind 1, 3, 5, 7, 9
    std::vector<std::uint32_t> popped;
    const auto tell = [&](std::uint32_t id) { popped.push_back(id); };
    queue.pop(tell);
    CHECK(popped == std::vector<std::uint32_t>{2, 4, 6, 8});
    popped.clear();
    queue.pop(tell);
    CHECK(popped == std::vector<std::uint32_t>{1, 3, 5, 7, 9, 0});
    CHECK(queue.empty());
}

}  // namespace
}  // namespace lockstep::engine
