#include "sim/report/table.h"

#include <cstdlib>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace lockstep::report {

TEST_CASE("Table: words stand left and numbers right under their titles", "[report][golden]") {
    Table table({{"name", "", Align::left}, {"time", "(us)"}});
    table.add({"ring", "3.50"});
    table.add({"halving", "123.4"});
    CHECK(table.text("# ", "  ", 100) ==
          "# name      time\n"
          "#           (us)\n"
          "  ring      3.50\n"
          "  halving  123.4\n");
}

TEST_CASE("Table: a column that shrinks gives way until the table fits", "[report]") {
    Table table({{"from", "", Align::left, true}, {"bytes"}});
    table.add({"rack12.node3456.gpu1234", "17"});
    // 20 = 13 for the name, 2 between, 5 for the title of the numbers.
    const std::string text = table.text("", 20);
    CHECK(text == "from           bytes\nrack12…pu1234     17\n");
}

TEST_CASE("Table: lines have no spaces at their ends", "[report]") {
    Table table({{"a", "", Align::left}, {"b", "", Align::left}});
    table.add({"long word", ""});
    CHECK(table.text("", 100) == "a          b\nlong word\n");
}

TEST_CASE("Table: a row of another length is refused", "[report][error]") {
    Table table({{"a"}, {"b"}});
    CHECK_THROWS_AS(table.add({"1"}), std::invalid_argument);
}

TEST_CASE("display_width: counts characters, not bytes", "[report]") {
    CHECK(display_width("gpu0 → leaf") == 11);
    CHECK(display_width("") == 0);
}

TEST_CASE("shortened: keeps both ends and never cuts a character", "[report]") {
    CHECK(shortened("abcdef", 6) == "abcdef");
    CHECK(shortened("abcdef", 5) == "ab…ef");
    CHECK(shortened("ääääää", 4) == "ää…ä");
    CHECK(shortened("abcdef", 1) == "…");
}

TEST_CASE("grouped: separates thousands", "[report]") {
    CHECK(grouped(999.4) == "999");
    CHECK(grouped(1000.0) == "1,000");
    CHECK(grouped(1234567.0) == "1,234,567");
    CHECK(grouped(-1234.0) == "-1,234");
}

TEST_CASE("measured: gives decimals by magnitude", "[report]") {
    CHECK(measured(0.0) == "0.00");
    CHECK(measured(0.0123) == "0.0123");
    CHECK(measured(0.99996) == "1.00");
    CHECK(measured(3.504) == "3.50");
    CHECK(measured(99.996) == "100.0");
    CHECK(measured(12345.6) == "12346");
}

TEST_CASE("rounded_parts: what is printed adds up to the rounded sum", "[report]") {
    // Three thirds of 100: rounded one by one they would print 99.9.
    const auto texts = rounded_parts({100.0 / 3, 100.0 / 3, 100.0 / 3}, 1);
    CHECK(texts == std::vector<std::string>{"33.4", "33.3", "33.3"});
    const auto parts = GENERATE(std::vector<double>{0.05, 0.05, 0.05, 99.85}, std::vector<double>{12.34, 56.78, 30.88},
                                std::vector<double>{100.0, 0.0, 0.0});
    double sum = 0.0;
    for (const std::string& text : rounded_parts(parts, 1)) {
        sum += std::strtod(text.c_str(), nullptr);
    }
    CHECK(sum == Approx(100.0).margin(1e-9));
}

}  // namespace lockstep::report
