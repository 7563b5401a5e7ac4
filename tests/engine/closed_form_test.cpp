#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

#include "sim/engine/engines.h"

namespace lockstep::engine {
namespace {

Approx near(double value) { return Approx(value).epsilon(1e-9); }

const EngineKind& each_engine() {
    const std::size_t i = GENERATE(0U, 1U);
    INFO(engines()[i].name);
    return engines()[i];
}

TEST_CASE("Engine: a flow alone takes bytes over bandwidth", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 1 MB over 100 MB/s; over two links the slower counts.
    CHECK(ends_of(kind, {100e6}, {{{{0, 1.0}}, 1e6, 0}})[0] == near(0.01));
    CHECK(ends_of(kind, {100e6, 50e6}, {{{{0, 1.0}, {1, 1.0}}, 1e6, 0}})[0] == near(0.02));
}

TEST_CASE("Engine: two flows on one link take half each", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 50 B/s each until the short one ends at 100 / 50 = 2 s; the long one has 200 - 100 left at 100 B/s: 3 s.
    const auto ends = ends_of(kind, {100}, {{{{0, 1.0}}, 100, 0}, {{{0, 1.0}}, 200, 0}});
    CHECK(ends[0] == near(2));
    CHECK(ends[1] == near(3));
}

TEST_CASE("Engine: a flow held back elsewhere leaves its share to the others", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // The first gets 10 B/s of link 0, which leaves 90 of link 1 to the second: 900 B take 10 s. The first has sent 100
    // by then; it stays at 10 B/s: 200 / 10 = 20 s.
    const auto ends = ends_of(kind, {10, 100}, {{{{0, 1.0}, {1, 1.0}}, 200, 0}, {{{1, 1.0}}, 900, 0}});
    CHECK(ends[0] == near(20));
    CHECK(ends[1] == near(10));
}

TEST_CASE("Engine: the long flow of a parking lot gets the share of its worst link", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // Links of 100, 60, 100 B/s; one flow crosses all three, one flow each crosses one. The long flow gets 60 / 2 = 30,
    // as does the short flow of the middle; the outer short flows get 70. Bytes are chosen so that all end at 10 s.
    const auto ends = ends_of(
        kind, {100, 60, 100},
        {{{{0, 1.0}, {1, 1.0}, {2, 1.0}}, 300, 0}, {{{0, 1.0}}, 700, 0}, {{{1, 1.0}}, 300, 0}, {{{2, 1.0}}, 700, 0}});
    for (const double end : ends) {
        CHECK(end == near(10));
    }
}

TEST_CASE("Engine: a flow striped over four planes meets one on a single plane", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // Planes of 100 B/s. Striped rate r uses r/4 of each plane; the other has the same rate by fairness on plane 0:
    // r/4 + r = 100, r = 80. It ends at 400 / 80 = 5 s; the striped one has sent 400 of 2400 and goes on at 4 * 100: 5
    // + 5 s.
    const auto ends = ends_of(kind, {100, 100, 100, 100},
                              {{{{0, 0.25}, {1, 0.25}, {2, 0.25}, {3, 0.25}}, 2400, 0}, {{{0, 1.0}}, 400, 0}});
    CHECK(ends[1] == near(5));
    CHECK(ends[0] == near(10));
}

TEST_CASE("Engine: uneven splits share by rate, also when a finer split joins later", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // Link 0 of 90 B/s. A sends a third of itself over it (rest over link 1, wide), B half (rest over link 2, wide), C
    // all. Alone A has 270 B/s: 270 B in the first second. With B from 1 s: r/3 + r/2 = 90, r = 108 for one second.
    // With C from 2 s: r * 11/6 = 90, r = 540/11 for one second, in which all three end.
    const double last = 540.0 / 11;
    const auto ends = ends_of(kind, {90, 1e6, 1e6},
                              {{{{0, 1.0 / 3}, {1, 2.0 / 3}}, 270 + 108 + last, 0},
                               {{{0, 0.5}, {2, 0.5}}, 108 + last, 1},
                               {{{0, 1.0}}, last, 2}});
    for (const double end : ends) {
        CHECK(end == near(3));
    }
}

TEST_CASE("Engine: shares above one count as that many flows in one", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 3 r + r = 100, r = 25: both of 50 B end at 2 s.
    const auto ends = ends_of(kind, {100}, {{{{0, 3.0}}, 50, 0}, {{{0, 1.0}}, 50, 0}});
    CHECK(ends[0] == near(2));
    CHECK(ends[1] == near(2));
    // Alone with share 8: 100 / 8 B/s.
    CHECK(ends_of(kind, {100}, {{{{0, 8.0}}, 50, 0}})[0] == near(4));
}

TEST_CASE("Engine: a flow that starts in the middle of another slows it from then on", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // A alone sends 150 of 300 B by 1.5 s. Then 50 B/s each: B's 100 B last until 3.5 s, A has 300 - 150 - 100 = 50
    // left at 100 B/s: 4 s.
    const auto ends = ends_of(kind, {100}, {{{{0, 1.0}}, 300, 0}, {{{0, 1.0}}, 100, 1.5}});
    CHECK(ends[0] == near(4));
    CHECK(ends[1] == near(3.5));
}

TEST_CASE("Engine: an empty route and zero bytes take no time", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const auto ends = ends_of(kind, {100}, {{{}, 1e12, 2}, {{{0, 1.0}}, 0, 2}, {{}, 0, 0}});
    CHECK(ends[0] == near(2));
    CHECK(ends[1] == near(2));
    CHECK(ends[2] == 0);
}

TEST_CASE("Engine: two equal senders into one port end at the very same instant", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 1 MB each through own links of 100 GB/s into a port of 50 GB/s: 25 GB/s each, 40 us.
    const auto ends =
        ends_of(kind, {100e9, 100e9, 50e9}, {{{{0, 1.0}, {2, 1.0}}, 1e6, 0}, {{{1, 1.0}, {2, 1.0}}, 1e6, 0}});
    CHECK(ends[0] == near(40e-6));
    CHECK(ends[0] == ends[1]);
}

TEST_CASE("Engine: symmetrical flows that share with others stay together to the last bit", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // Seven senders with a third of each flow over the port, sizes pairwise different but for the last three.
    std::vector<Transfer> transfers;
    for (std::size_t i = 0; i < 7; ++i) {
        transfers.push_back({{{i, 1.0}, {7, 1.0 / 3}}, i < 4 ? 1e6 / static_cast<double>(i + 3) : 1e6, 0});
    }
    const auto ends = ends_of(kind, {9e9, 9e9, 9e9, 9e9, 9e9, 9e9, 9e9, 7e9}, transfers);
    CHECK(ends[4] == ends[5]);
    CHECK(ends[5] == ends[6]);
}

TEST_CASE("Engine: ends of the same instant come in the order of their starts", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100, 100, 300, 50});
    // All end at 4 s. 2 sends 800 B alone until 8/3 s, then it and 4 send 200 B at 150 B/s. 3 has no bytes and starts
    // at 4 s.
    const std::vector<Transfer> transfers{{{{0, 1.0}}, 400, 0}, {{{1, 1.0}}, 300, 1},       {{{2, 1.0}}, 1000, 0},
                                          {{}, 0, 4},           {{{2, 1.0}}, 200, 8.0 / 3}, {{{3, 1.0}}, 50, 3}};
    const auto engine = kind.make(made.fabric);
    Transfers run(*engine, made, transfers);
    const auto ends = run.run();
    for (const double end : ends) {
        CHECK(end == near(4));
    }
    // 3 is started by a timer of 4 s, so after all others.
    CHECK(run.order() == std::vector<Token>{0, 2, 1, 4, 5, 3});
    CHECK(run.reported() == 6 + 4);
}

TEST_CASE("Engine: times from a nanosecond to a million seconds keep their precision", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 450 B at 450 GB/s: 1 ns; half the rate for two: 2 ns.
    CHECK(ends_of(kind, {450e9}, {{{{0, 1.0}}, 450, 0}})[0] == near(1e-9));
    const auto tiny = ends_of(kind, {450e9}, {{{{0, 1.0}}, 450, 0}, {{{0, 1.0}}, 450, 0}});
    CHECK(tiny[0] == near(2e-9));
    // A thousandth of a byte: 2.2 fs.
    CHECK(ends_of(kind, {450e9}, {{{{0, 1.0}}, 1e-3, 0}})[0] == near(1e-3 / 450e9));
    const auto huge = ends_of(kind, {1e9}, {{{{0, 1.0}}, 1e15, 0}, {{{0, 1.0}}, 1e14, 5e5}});
    // The second takes 2e5 s at half rate, so the first ends at 1e6 + 1e5 s.
    CHECK(huge[1] == near(7e5));
    CHECK(huge[0] == near(1.1e6));
}

TEST_CASE("Engine: a short flow beside a long one is exact", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    // 1 KB flows of 20 ns at half rate inside a flow of 10 ms, at 1 ms and 9 ms: each costs the long one 10 ns.
    const auto ends = ends_of(kind, {100e9}, {{{{0, 1.0}}, 1e9, 0}, {{{0, 1.0}}, 1e3, 1e-3}, {{{0, 1.0}}, 1e3, 9e-3}});
    CHECK(ends[1] - 1e-3 == Approx(20e-9).epsilon(1e-6));
    CHECK(ends[2] - 9e-3 == Approx(20e-9).epsilon(1e-6));
    CHECK(ends[0] == near(0.01 + 20e-9));
}

}  // namespace
}  // namespace lockstep::engine
