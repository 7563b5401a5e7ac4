#include "sim/report/explain_text.h"

#include <algorithm>
#include <sstream>

#include "tests/report/explained.h"
#include <catch2/catch.hpp>

#include "sim/report/explain_words.h"
#include "sim/report/table.h"

namespace lockstep::report {

using collective::Operation;
using testing::Explained;

namespace {

std::string text_of(const Explanation& told, Colour colour = Colour::never, const TextLimits& limits = {}) {
    std::ostringstream out;
    write_text(out, told, colour, limits);
    return out.str();
}

std::size_t widest_line(const std::string& text) {
    std::size_t widest = 0;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        widest = std::max(widest, display_width(line));
    }
    return widest;
}

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

TEST_CASE("cells show whose contributions are in, changes in brackets, complete ones with a tick", "[explain]") {
    const Explained ring("ring", 3, {.operation = Operation::all_reduce, .bytes = {900}});
    const std::string text = text_of(*ring);
    INFO(text);
    CHECK(text.find("Step 1 of 4   so far 1 of 4 α, 300 B of 1200 B\n") != std::string::npos);
    CHECK(text.find("    0 → 1  chunk 0  + 0··\n") != std::string::npos);
    CHECK(text.find("  rank 0  0··    0··   [0·2]\n"
                    "  rank 1 [01·]   ·1·    ·1·\n"
                    "  rank 2  ··2   [·12]   ··2\n") != std::string::npos);
    // The last step leaves all nine complete, three of them new.
    const std::string end = text.substr(text.find("Step 4 of 4"));
    CHECK(count(end, "012 ✓") == 6);
    CHECK(count(end, "[012]✓") == 3);
}

TEST_CASE("of data that only moves, cells say whose it is", "[explain]") {
    const std::string gather = text_of(*Explained("direct", 3, {.operation = Operation::all_gather, .bytes = {900}}));
    CHECK(gather.find("  rank 0  0 ✓  -    -\n") != std::string::npos);
    CHECK(gather.find("  rank 0  0 ✓ [1]✓ [2]✓\n") != std::string::npos);
    const std::string exchange =
        text_of(*Explained("pairwise", 3, {.operation = Operation::all_to_all, .bytes = {900}}));
    // Rank 0 ends with chunk 0 of everybody.
    CHECK(exchange.find("  rank 0  0.0 ✓ [1.0]✓  2.0 ✓\n") != std::string::npos);
}

TEST_CASE("much is left out, and that is said", "[explain]") {
    // 24 ranks: more rows, columns, messages and steps than are printed.
    const Explained ring("ring", 24, {.operation = Operation::all_reduce, .bytes = {std::int64_t{1} << 20}});
    const std::string text = text_of(*ring);
    CHECK(widest_line(text) <= 100);
    CHECK(text.find("… not shown: chunks") != std::string::npos);
    CHECK(text.find("and ranks 12 to 19; --json and --html have all") != std::string::npos);
    // 46 steps, of which the first twelve and the last four are printed.
    CHECK(text.find("… not shown: steps 13 to 42; --json and --html have all") != std::string::npos);
    CHECK(text.find("Step 12 of 46") != std::string::npos);
    CHECK(text.find("Step 13 of 46") == std::string::npos);
    CHECK(text.find("Step 43 of 46") != std::string::npos);
    CHECK(text.find("    … 8 more\n") != std::string::npos);
    // What is left out is still followed: in the end all is complete.
    CHECK(text.find("Now all is where it") != std::string::npos);
    CHECK(text.substr(text.find("Step 46 of 46")).find("all ✓") != std::string::npos);

    const std::string narrow = text_of(*ring, Colour::never, {.width = 60, .steps = 2, .rows = 4, .moves = 4});
    CHECK(widest_line(
              narrow.substr(narrow.find("Cells say"), narrow.find("What came out") - narrow.find("Cells say"))) <= 60);
    CHECK(count(narrow, "\nStep ") == 2);
}

TEST_CASE("colour is there where it is asked for, and only adds", "[explain]") {
    const Explained ring("ring", 3, {.operation = Operation::all_reduce, .bytes = {900}});
    const std::string plain = text_of(*ring);
    const std::string coloured = text_of(*ring, Colour::always);
    CHECK(plain.find('\x1b') == std::string::npos);
    CHECK(coloured.find("\x1b[32m") != std::string::npos);
    std::string stripped;
    for (std::size_t at = 0; at < coloured.size(); ++at) {
        if (coloured[at] == '\x1b') {
            at = coloured.find('m', at);
        } else {
            stripped += coloured[at];
        }
    }
    CHECK(stripped == plain);
}

TEST_CASE("lists of numbers are short", "[explain]") {
    const auto text = [](std::vector<std::uint32_t> numbers) { return listed(numbers); };
    CHECK(text({}).empty());
    CHECK(text({4}) == "4");
    CHECK(text({4, 5}) == "4 and 5");
    CHECK(text({0, 1, 2, 5}) == "0–2 and 5");
    CHECK(text({0, 2, 4, 6, 8, 10}) == "0, 2, 4, 6, 8 and 10");
    CHECK(text({0, 2, 4, 6, 8, 10, 12, 14}) == "0, 2, 4, 6, 8 and 3 more");
}

}  // namespace lockstep::report
