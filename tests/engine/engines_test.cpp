#include "sim/engine/engines.h"

#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/engine/wires.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

namespace lockstep::engine {
namespace {

const EngineKind& each_engine() { return engines()[GENERATE(0U, 1U)]; }

/// Notes every event with its time.
class Log : public Events {
  public:
    struct Entry {
        bool is_timer;
        Token token;
        double time;
    };

    explicit Log(Engine& engine) : engine_(engine) {}
    void on_timer(Token token) override { entries.push_back({true, token, engine_.now().value}); }
    void on_flow_end(Token token) override { entries.push_back({false, token, engine_.now().value}); }

    std::vector<Entry> entries;

  private:
    Engine& engine_;
};

TEST_CASE("engines: fluid is the default and unknown names are refused with the nearest", "[engine][error]") {
    REQUIRE(engines().size() == 2);
    CHECK(engines()[0].name == "fluid");
    CHECK(engines()[1].name == "simgrid");
    CHECK(engine_named("simgrid").name == "simgrid");
    CHECK_THROWS_AS(engine_named("fluit"), InputError);
    CHECK_THROWS_WITH(engine_named("fluit"), "unknown engine `fluit` — did you mean `fluid`?");
}

TEST_CASE("Engine: timers of the same time go off in the order they were set", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const auto engine = kind.make(made.fabric);
    Log log(*engine);
    engine->set_timer({2}, 0);
    engine->set_timer({1}, 1);
    engine->set_timer({2}, 2);
    engine->set_timer({0}, 3);
    engine->set_timer({2}, 4);
    CHECK(engine->run(log) == 5);
    std::vector<Token> order;
    for (const Log::Entry& entry : log.entries) {
        CHECK(entry.is_timer);
        order.push_back(entry.token);
    }
    CHECK(order == std::vector<Token>{3, 1, 0, 2, 4});
    CHECK(log.entries[0].time == 0);
    CHECK(log.entries[1].time == 1);
    CHECK(log.entries[2].time == 2);
}

TEST_CASE("Engine: a timer and a flow of the same instant come in the order of their starts", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100, 100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    const fabric::Route other{{{made.links[1], 1.0}}, {}};
    const auto engine = kind.make(made.fabric);
    Log log(*engine);
    engine->start_flow(route, 100, 0);
    engine->set_timer({1}, 1);
    engine->start_flow(other, 100, 2);
    engine->run(log);
    REQUIRE(log.entries.size() == 3);
    for (Token token = 0; token < 3; ++token) {
        CHECK(log.entries[token].token == token);
        CHECK(log.entries[token].time == 1);
    }
}

TEST_CASE("Engine: run goes on where the last one ended", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    const auto engine = kind.make(made.fabric);
    Log log(*engine);
    CHECK(engine->run(log) == 0);
    engine->start_flow(route, 100, 0);
    CHECK(engine->run(log) == 1);
    CHECK(engine->now().value == 1);
    engine->start_flow(route, 50, 1);
    engine->set_timer({0.25}, 2);
    CHECK(engine->run(log) == 2);
    CHECK(engine->now().value == 1.5);
    CHECK(log.entries[1].time == 1.25);
}

TEST_CASE("Engine: loads count the flows under way on each link", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100, 100});
    const fabric::Route both{{{made.links[0], 1.0}, {made.links[1], 0.5}}, {}};
    const fabric::Route one{{{made.links[0], 1.0}}, {}};

    // At 2 s the second flow has ended, the first has not; at 3 s both have.
    class Loads : public Events {
      public:
        Loads(const Engine& engine, const Wires& wires) : engine_(engine), wires_(wires) {}
        void on_timer(Token) override {}
        void on_flow_end(Token) override {
            seen.push_back(engine_.loads()[index(wires_.links[0])]);
            seen.push_back(engine_.loads()[index(wires_.links[1])]);
        }
        std::vector<std::uint32_t> seen;

      private:
        const Engine& engine_;
        const Wires& wires_;
    };
    const auto engine = kind.make(made.fabric);
    Loads loads(*engine, made);
    engine->start_flow(both, 200, 0);
    engine->start_flow(one, 100, 1);
    CHECK(engine->loads()[index(made.links[0])] == 2);
    CHECK(engine->loads()[index(made.links[1])] == 1);
    engine->run(loads);
    CHECK(loads.seen == std::vector<std::uint32_t>{1, 1, 0, 0});
}

TEST_CASE("Engine: of flows that end together none counts as load when the first is reported", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    class First : public Events {
      public:
        explicit First(const Engine& engine) : engine_(engine) {}
        void on_timer(Token) override {}
        void on_flow_end(Token) override { loads.push_back(engine_.loads()[0] + engine_.loads()[1]); }
        std::vector<std::uint32_t> loads;

      private:
        const Engine& engine_;
    };
    const auto engine = kind.make(made.fabric);
    First first(*engine);
    engine->start_flow(route, 100, 0);
    engine->start_flow(route, 100, 1);
    engine->run(first);
    CHECK(first.loads == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("Engine: what handlers start at an instant begins at that instant", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    // A relay of 1000 flows of 1 s each over one link, through a timer of no delay each time.
    class Relay : public Events {
      public:
        Relay(Engine& engine, const fabric::Route& route) : engine_(engine), route_(route) {}
        void on_timer(Token token) override { engine_.start_flow(route_, 100, token + 1); }
        void on_flow_end(Token token) override {
            if (token < 1000) {
                engine_.set_timer({0}, token);
            }
        }

      private:
        Engine& engine_;
        const fabric::Route& route_;
    };
    const auto engine = kind.make(made.fabric);
    Relay relay(*engine, route);
    engine->set_timer({0}, 0);
    CHECK(engine->run(relay) == 2000);
    CHECK(engine->now().value == 1000);
}

TEST_CASE("Engine: an exception of a handler comes out of run and spares later engines", "[engine][error]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    class Thrower : public Events {
      public:
        void on_timer(Token) override { throw std::runtime_error("timer"); }
        void on_flow_end(Token) override { throw std::runtime_error("flow"); }
    };
    Thrower thrower;
    for (int i = 0; i < 3; ++i) {
        const auto engine = kind.make(made.fabric);
        engine->start_flow(route, 100, 0);
        engine->start_flow(route, 900, 1);
        engine->start_flow(route, 900, 2);
        engine->set_timer({1}, 3);
        engine->set_timer({50}, 4);
        CHECK_THROWS_WITH(engine->run(thrower), "timer");
        if (i == 1) {
            CHECK_THROWS_WITH(engine->run(thrower), "flow");
        }
    }
    const auto engine = kind.make(made.fabric);
    Log log(*engine);
    engine->start_flow(route, 100, 7);
    CHECK(engine->run(log) == 1);
    CHECK(log.entries[0].time == Approx(1).epsilon(1e-12));
}

TEST_CASE("Engine: one that was never run is taken down with its flows", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    const auto engine = kind.make(made.fabric);
    engine->start_flow(route, 100, 0);
    engine->set_timer({1}, 0);
    CHECK(engine->now().value == 0);
}

TEST_CASE("Engine: impossible arguments are refused", "[engine][error]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    const auto engine = kind.make(made.fabric);
    const double infinity = std::numeric_limits<double>::infinity();
    const fabric::Route route{{{made.links[0], 1.0}}, {}};
    const fabric::Route outside{{{id_at<LinkId>(2), 1.0}}, {}};
    const fabric::Route nothing{{{made.links[0], 0.0}}, {}};
    CHECK_THROWS_AS(engine->set_timer({-1}, 0), std::invalid_argument);
    CHECK_THROWS_AS(engine->set_timer({infinity}, 0), std::invalid_argument);
    CHECK_THROWS_AS(engine->start_flow(route, -1, 0), std::invalid_argument);
    CHECK_THROWS_AS(engine->start_flow(route, infinity - infinity, 0), std::invalid_argument);
    CHECK_THROWS_AS(engine->start_flow(outside, 1, 0), std::invalid_argument);
    CHECK_THROWS_AS(engine->start_flow(nothing, 1, 0), std::invalid_argument);
    Log log(*engine);
    CHECK(engine->run(log) == 0);
}

TEST_CASE("Engine: run is refused from within a handler", "[engine][error]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({100});
    class Nested : public Events {
      public:
        explicit Nested(Engine& engine) : engine_(engine) {}
        void on_timer(Token) override { engine_.run(*this); }
        void on_flow_end(Token) override {}

      private:
        Engine& engine_;
    };
    const auto engine = kind.make(made.fabric);
    Nested nested(*engine);
    engine->set_timer({1}, 0);
    CHECK_THROWS_AS(engine->run(nested), std::logic_error);
}

TEST_CASE("Engine: a fabric without links runs its timers", "[engine]") {
    const EngineKind& kind = each_engine();
    CAPTURE(kind.name);
    const Wires made = wires({});
    const auto engine = kind.make(made.fabric);
    Log log(*engine);
    engine->set_timer({1}, 0);
    engine->start_flow(fabric::Route{}, 100, 1);
    CHECK(engine->run(log) == 2);
}

TEST_CASE("simgrid: a second engine beside a living one is refused", "[engine][error]") {
    const Wires made = wires({100});
    const auto engine = engine_named("simgrid").make(made.fabric);
    CHECK_THROWS_AS(engine_named("simgrid").make(made.fabric), std::logic_error);
    // The first still works.
    Log log(*engine);
    engine->set_timer({1}, 0);
    CHECK(engine->run(log) == 1);
}

TEST_CASE("simgrid: a split that is no ratio of small numbers is refused by name", "[engine][error]") {
    const Wires made = wires({100, 100});
    const auto engine = engine_named("simgrid").make(made.fabric);
    const fabric::Route route{{{made.links[0], 0.1234567891234}, {made.links[1], 0.8765432108766}}, {}};
    CHECK_THROWS_AS(engine->start_flow(route, 1, 0), InputError);
    CHECK_THROWS_WITH(engine->start_flow(route, 1, 0), Catch::Contains("use the engine `fluid`"));
}

}  // namespace
}  // namespace lockstep::engine
