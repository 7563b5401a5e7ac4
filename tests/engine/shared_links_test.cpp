#include "sim/engine/fluid/shared_links.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/engine/water_filling.h"
#include <catch2/catch.hpp>

namespace lockstep::engine {
namespace {

/// Links that keep the routes that they are given.
class KeptLinks : public SharedLinks {
  public:
    explicit KeptLinks(const std::vector<double>& capacities, std::size_t patience = 16)
        : SharedLinks(capacities, patience) {}

    void add(std::uint32_t flow, const fabric::Route& route) {
        kept_.push_back(route);
        SharedLinks::add(flow, known_.number(kept_.back(), link_count()), known_);
    }

  private:
    std::deque<fabric::Route> kept_;
    KnownRoutes known_;
};

fabric::Route route_of(const Transfer& transfer) {
    fabric::Route route;
    for (const auto& [wire, share] : transfer.path) {
        route.links.push_back({id_at<LinkId>(wire), share});
    }
    return route;
}

TEST_CASE("SharedLinks: rates after any changes are those of starting afresh", "[engine]") {
    const std::size_t patience = GENERATE(0U, 1U, 16U);  // always afresh, sometimes, hardly ever
    CAPTURE(patience);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        // From few long chains to many short ones: regions small and large.
        const std::size_t wires = 2 + dice.below(60);
        const std::vector<double> capacities = random_capacities(dice, wires);
        KeptLinks links(capacities, patience);
        const std::size_t most = 1 + dice.below(60);
        std::vector<Transfer> kinds = random_transfers(dice, wires, 2 * most);
        std::vector<std::size_t> kind(most, 0);
        std::vector<bool> is_under_way(most, false);
        std::vector<double> rate(most, 0.0);

        for (int instant = 0; instant < 60; ++instant) {
            CAPTURE(instant);
            std::vector<bool> is_touched(most, false);  // one change per flow and instant
            for (std::size_t change = 1 + dice.below(6); change > 0; --change) {
                const std::size_t flow = dice.below(most);
                if (is_touched[flow]) {
                    continue;
                }
                is_touched[flow] = true;
                if (is_under_way[flow]) {
                    links.remove(static_cast<std::uint32_t>(flow));
                    is_under_way[flow] = false;
                    const std::size_t other = dice.below(most);
                    if (!is_under_way[other] && !is_touched[other]) {  // one of the same route
                        is_touched[other] = true;
                        kind[other] = kind[flow];
                        links.add(static_cast<std::uint32_t>(other), route_of(kinds[kind[other]]));
                        is_under_way[other] = true;
                    }
                } else {
                    kind[flow] = dice.below(kinds.size());
                    links.add(static_cast<std::uint32_t>(flow), route_of(kinds[kind[flow]]));
                    is_under_way[flow] = true;
                }
            }
            const auto changed = links.settle();

            std::vector<Transfer> flows;
            std::vector<std::uint32_t> numbers;
            std::vector<std::uint32_t> loads(wires, 0);
            for (std::uint32_t flow = 0; flow < most; ++flow) {
                if (is_under_way[flow]) {
                    flows.push_back(kinds[kind[flow]]);
                    numbers.push_back(flow);
                    for (const auto& part : flows.back().path) {
                        ++loads[part.first];
                    }
                }
            }
            const std::vector<double> filled = rates_by_filling(capacities, flows);
            for (std::size_t i = 0; i < flows.size(); ++i) {
                CAPTURE(numbers[i]);
                REQUIRE(links.rate(numbers[i]) == Approx(filled[i]).epsilon(1e-8));
                if (links.rate(numbers[i]) != rate[numbers[i]]) {
                    REQUIRE(std::find(changed.begin(), changed.end(), numbers[i]) != changed.end());
                }
                rate[numbers[i]] = links.rate(numbers[i]);
            }
            REQUIRE(std::equal(loads.begin(), loads.end(), links.loads().begin(), links.loads().end()));
        }
    }
}

TEST_CASE("SharedLinks: many changes at once, then few, come to the same rates as starting afresh", "[engine]") {
    const std::size_t patience = GENERATE(1U, 16U);
    CAPTURE(patience);
    std::uint64_t shared_afresh = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::size_t wires = 10 + dice.below(100);
        const std::vector<double> capacities = random_capacities(dice, wires);
        KeptLinks links(capacities, patience);
        const std::size_t most = 100 + dice.below(100);
        const std::vector<Transfer> kinds = random_transfers(dice, wires, most);
        std::vector<bool> is_under_way(most, false);
        for (int instant = 0; instant < 12; ++instant) {
            CAPTURE(instant);
            // Every third instant turns half of all flows over, the others two of them.
            std::vector<bool> is_touched(most, false);
            for (std::size_t change = instant % 3 == 0 ? most / 2 : 2; change > 0; --change) {
                const std::size_t flow = dice.below(most);
                if (!is_touched[flow]) {
                    is_touched[flow] = true;
                    if (is_under_way[flow]) {
                        links.remove(static_cast<std::uint32_t>(flow));
                    } else {
                        links.add(static_cast<std::uint32_t>(flow), route_of(kinds[flow]));
                    }
                    is_under_way[flow] = !is_under_way[flow];
                }
            }
            links.settle();
            std::vector<Transfer> flows;
            std::vector<std::uint32_t> numbers;
            for (std::uint32_t flow = 0; flow < most; ++flow) {
                if (is_under_way[flow]) {
                    flows.push_back(kinds[flow]);
                    numbers.push_back(flow);
                }
            }
            const std::vector<double> filled = rates_by_filling(capacities, flows);
            for (std::size_t i = 0; i < flows.size(); ++i) {
                CAPTURE(numbers[i]);
                REQUIRE(links.rate(numbers[i]) == Approx(filled[i]).epsilon(1e-8));
            }
        }
        CHECK(links.work().links_filled > 0);
        shared_afresh += links.work().shared_afresh;
    }
    CHECK((patience == 16 || shared_afresh > 0));
}

TEST_CASE("SharedLinks: flows that come back to their routes get the same rates as on new ones", "[engine]") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::size_t wires = 2 + dice.below(20);
        const std::vector<double> capacities = random_capacities(dice, wires);
        KeptLinks links(capacities);
        const std::size_t most = 2 + dice.below(20);
        std::vector<Transfer> kinds = random_transfers(dice, wires, most);
        std::vector<bool> is_under_way(most, false);
        const std::size_t calm = 1 + dice.below(8);  // of so many instants one brings new routes
        for (std::size_t instant = 0; instant < 60; ++instant) {
            CAPTURE(instant);
            if (instant % calm == 0) {
                const std::size_t flow = dice.below(most);
                if (!is_under_way[flow]) {
                    kinds[flow] = random_transfers(dice, wires, 1).front();
                }
            }
            // All together, each by itself, or one.
            const std::size_t manner = dice.below(3);
            const std::size_t one = dice.below(most);
            for (std::uint32_t flow = 0; flow < most; ++flow) {
                const bool turns = manner == 0 ? is_under_way[flow] == is_under_way[one]
                                               : (manner == 1 ? dice.below(2) == 0 : flow == one);
                if (turns && is_under_way[flow]) {
                    links.remove(flow);
                } else if (turns) {
                    links.add(flow, route_of(kinds[flow]));
                }
                is_under_way[flow] = is_under_way[flow] != turns;
            }
            links.settle();
            std::vector<Transfer> flows;
            std::vector<std::uint32_t> numbers;
            std::vector<std::uint32_t> loads(wires, 0);
            for (std::uint32_t flow = 0; flow < most; ++flow) {
                if (is_under_way[flow]) {
                    flows.push_back(kinds[flow]);
                    numbers.push_back(flow);
                    for (const auto& part : kinds[flow].path) {
                        ++loads[part.first];
                    }
                }
            }
            const std::vector<double> filled = rates_by_filling(capacities, flows);
            for (std::size_t i = 0; i < flows.size(); ++i) {
                CAPTURE(numbers[i]);
                REQUIRE(links.rate(numbers[i]) == Approx(filled[i]).epsilon(1e-8));
            }
            REQUIRE(std::equal(loads.begin(), loads.end(), links.loads().begin(), links.loads().end()));
        }
    }
}

TEST_CASE("SharedLinks: a step of a ring that looks like the last one is not worked out again", "[engine]") {
    // Each of 8 flows has two links for itself; they all end, later all start again.
    KeptLinks links(std::vector<double>(16, 100.0));
    for (int step = 0; step < 5; ++step) {
        for (std::uint32_t flow = 0; flow < 8; ++flow) {
            links.add(flow, route_of({{{2 * flow, 1.0}, {(2 * flow + 3) % 16, 1.0}}, 0, 0}));
        }
        CHECK(links.settle().size() == 8);
        CHECK(links.rate(3) == 100);
        for (std::uint32_t flow = 0; flow < 8; ++flow) {
            links.remove(flow);
        }
        CHECK(links.settle().empty());
    }
    CHECK(links.work().settled == 0);
    CHECK(links.work().links_filled == 0);
}

TEST_CASE("SharedLinks: links in the same situation have the same rates to the last bit", "[engine]") {
    // Two islands of 8 ports in and out with the same flows: in the second they come up in another order, and some
    // that do not count come and go before. Shares of a third and odd capacities make every sum round.
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        Dice dice(seed);
        const std::uint32_t ports = 16;
        std::vector<double> capacities;
        for (std::uint32_t port = 0; port < ports; ++port) {
            capacities.push_back(dice.between(1e9, 2e9));
        }
        const std::vector<double> island = capacities;
        capacities.insert(capacities.end(), island.begin(), island.end());
        KeptLinks links(capacities);
        std::vector<Transfer> flows;
        std::vector<std::uint32_t> order;
        for (std::uint32_t from = 0; from < 8; ++from) {
            for (std::uint32_t to = 8; to < ports; ++to) {
                if (dice.below(2) == 0) {
                    order.push_back(static_cast<std::uint32_t>(flows.size()));
                    const double share = dice.below(2) == 0 ? 1.0 : 1.0 / 3;
                    flows.push_back({{{from, 1.0}, {to, share}}, 0, 0});
                }
            }
        }
        const auto count = static_cast<std::uint32_t>(flows.size());
        for (std::uint32_t flow = 0; flow < count; ++flow) {
            links.add(flow, route_of(flows[flow]));
        }
        links.settle();
        links.add(2 * count, route_of({{{ports + 3, 1.0}, {ports + 8, 0.7}}, 0, 0}));
        for (std::uint32_t at = 0; at < count; ++at) {
            std::swap(order[at], order[at + dice.below(count - at)]);
            Transfer moved = flows[order[at]];
            for (auto& part : moved.path) {
                part.first += ports;
            }
            links.add(count + order[at], route_of(moved));
            if (dice.below(4) == 0) {
                links.settle();
            }
        }
        links.settle();
        links.remove(2 * count);
        links.settle();
        for (std::uint32_t flow = 0; flow < count; ++flow) {
            CAPTURE(flow);
            REQUIRE(links.rate(flow) == links.rate(count + flow));
        }
    }
}

TEST_CASE("SharedLinks: a change reaches no further than the levels it moves", "[engine]") {
    // Flow i of a chain of links of 100 crosses links i and i + 1: 50 each. One more flow on link 0 is held to 10 by
    // a link of its own: link 0 has 90 left for flow 0, which keeps its 50, for link 1 holds it back.
    const std::size_t wires = 50;
    std::vector<double> capacities(wires, 100.0);
    capacities.push_back(10.0);
    KeptLinks links(capacities);
    for (std::uint32_t flow = 0; flow + 1 < wires; ++flow) {
        links.add(flow, route_of({{{flow, 1.0}, {flow + 1, 1.0}}, 0, 0}));
    }
    links.settle();
    const SharedLinks::Work before = links.work();
    links.add(wires, route_of({{{0, 1.0}, {wires, 1.0}}, 0, 0}));
    const auto changed = links.settle();
    CHECK(std::vector<std::uint32_t>(changed.begin(), changed.end()) == std::vector<std::uint32_t>{wires});
    CHECK(links.rate(wires) == 10);
    CHECK(links.rate(0) == 50);
    CHECK(links.work().settled == before.settled + 1);
    CHECK(links.work().rates_moved == before.rates_moved + 1);
    CHECK(links.work().links_filled <= before.links_filled + 2);

    // Another on link 0, held back by nothing else: the level there is (100 - 10) / 2 = 45, so that flow 0 gives up 5
    // of its 50. Flow 1 could have them on link 1, but link 2 holds it to 50: nobody beyond notices.
    links.add(wires + 1, route_of({{{0, 1.0}}, 0, 0}));
    CHECK(links.settle().size() == 2);
    CHECK(links.rate(wires + 1) == 45);
    CHECK(links.rate(0) == 45);
    CHECK(links.rate(1) == 50);
    CHECK(links.work().rates_moved == before.rates_moved + 3);
    CHECK(links.work().links_filled <= before.links_filled + 6);
}

TEST_CASE("SharedLinks: a long chain of bottlenecks settles", "[engine]") {
    // Link i of 100 + i carries a flow of its own and two that each also cross a neighbour: a change at one end reaches
    // the other.
    const std::size_t wires = 200;
    std::vector<double> capacities;
    std::vector<Transfer> flows;
    for (std::size_t wire = 0; wire < wires; ++wire) {
        capacities.push_back(100 + static_cast<double>(wire));
        flows.push_back({{{wire, 1.0}, {(wire + 1) % wires, 1.0}}, 0, 0});
    }
    KeptLinks links(capacities);
    for (std::uint32_t flow = 0; flow < wires; ++flow) {
        links.add(flow, route_of(flows[flow]));
        links.settle();
    }
    flows.push_back({{{0, 1.0}}, 0, 0});
    links.add(static_cast<std::uint32_t>(wires), route_of(flows.back()));
    links.settle();
    const std::vector<double> filled = rates_by_filling(capacities, flows);
    for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
        CHECK(links.rate(flow) == Approx(filled[flow]).epsilon(1e-9));
    }
}

TEST_CASE("SharedLinks: a flow that follows another on the same route touches nobody else", "[engine]") {
    KeptLinks links({100, 100});
    const fabric::Route route{{{id_at<LinkId>(0), 1.0}, {id_at<LinkId>(1), 1.0}}, {}};
    const fabric::Route other{{{id_at<LinkId>(0), 1.0}}, {}};
    links.add(0, route);
    links.add(1, other);
    links.settle();
    links.remove(0);
    links.add(2, fabric::Route(route));  // the same links, not the same object
    const auto changed = links.settle();
    CHECK(std::vector<std::uint32_t>(changed.begin(), changed.end()) == std::vector<std::uint32_t>{2});
    CHECK(links.rate(2) == 50);
    CHECK(links.rate(1) == 50);
}

TEST_CASE("SharedLinks: a capacity that is none is refused", "[engine][error]") {
    CHECK_THROWS_AS(SharedLinks({100, 0}), std::invalid_argument);
    CHECK_THROWS_AS(SharedLinks({-1}), std::invalid_argument);
    CHECK_THROWS_AS(SharedLinks({std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::engine
