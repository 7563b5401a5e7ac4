#include "sim/base/arithmetic.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using lockstep::Arithmetic;

namespace {

double no_names(const std::string& name) { throw std::invalid_argument("unknown " + name); }

double worked_out(const std::string& text) { return Arithmetic(text, no_names).value(); }

}  // namespace

TEST_CASE("Arithmetic: % is the remainder that is never negative for a positive divisor", "[base]") {
    CHECK(worked_out("7 % 4") == 3);
    CHECK(worked_out("-1 % 4") == 3);
    CHECK(worked_out("-4 % 4") == 0);
    CHECK(worked_out("(0 - 5) % 4") == 3);
    CHECK(worked_out("2 * 7 % 4") == 2);  // as strong as *, from the left
    CHECK(worked_out("1 + 7 % 4") == 4);
    CHECK_THROWS_WITH(worked_out("7 % 0"), "`7 % 0` has no finite value");
}

TEST_CASE("Arithmetic: comparisons are 1 or 0", "[base]") {
    CHECK(worked_out("2 < 3") == 1);
    CHECK(worked_out("3 <= 2") == 0);
    CHECK(worked_out("2 + 2 == 4") == 1);
    CHECK(worked_out("2 != 2") == 0);
    CHECK(worked_out("1 < 2 && 3 > 2") == 1);
    CHECK(worked_out("1 > 2 || 3 < 2") == 0);
}

TEST_CASE("Arithmetic: xor takes whole numbers, log2 is exact for powers of two", "[base]") {
    CHECK(worked_out("xor(5, 2^2)") == 1);
    CHECK(worked_out("xor(0, 7)") == 7);
    CHECK_THROWS_AS(worked_out("xor(0.5, 1)"), std::invalid_argument);
    CHECK_THROWS_AS(worked_out("xor(0 - 1, 1)"), std::invalid_argument);
    for (int power = 0; power <= 50; ++power) {
        CAPTURE(power);
        CHECK(worked_out("log2(2^" + std::to_string(power) + ")") == power);
    }
    CHECK_THROWS_AS(worked_out("log2(0)"), std::invalid_argument);
}

TEST_CASE("Arithmetic: variables are given anew each time, other names once", "[base]") {
    const std::array<std::string, 2> variables{"rank", "step"};
    const Arithmetic sum(
        "rank + ranks", [](const std::string& name) { return name == "ranks" ? 8.0 : no_names(name); }, variables);
    CHECK(sum.value(std::array{1.0, 7.0}) == 9);
    CHECK(sum.value(std::array{3.0, 7.0}) == 11);
    CHECK(sum.uses(0));
    CHECK_FALSE(sum.uses(1));
    CHECK_THROWS_AS(sum.value(), std::invalid_argument);
    CHECK_THROWS_WITH(Arithmetic("rank + rnks", no_names, variables), "unknown rnks");
    // A variable that could be assigned to would be a way to change what the caller counts on.
    CHECK_THROWS_AS(Arithmetic("rank = 3", no_names, variables), std::invalid_argument);
}

TEST_CASE("Arithmetic: a list is asked by place", "[base]") {
    const std::vector<Arithmetic::List> lists{{"ring", {0, 3, 1, 2}}, {"other", {9}}};
    const std::array<std::string, 1> variables{"step"};
    const Arithmetic next("ring((step + 1) % 4) + other(0)", no_names, variables, lists);
    CHECK(next.value(std::array{0.0}) == 12);
    CHECK(next.value(std::array{3.0}) == 9);
    const Arithmetic beyond("ring(step)", no_names, variables, lists);
    CHECK_THROWS_AS(beyond.value(std::array{4.0}), std::invalid_argument);
    CHECK_THROWS_AS(beyond.value(std::array{-1.0}), std::invalid_argument);
    CHECK_THROWS_AS(beyond.value(std::array{0.5}), std::invalid_argument);
}

TEST_CASE("Arithmetic: one that is moved goes on working", "[base]") {
    const std::array<std::string, 1> variables{"step"};
    Arithmetic first("step * two(0)", no_names, variables, std::vector<Arithmetic::List>{{"two", {2}}});
    const Arithmetic second = std::move(first);
    CHECK(second.value(std::array{21.0}) == 42);
}
