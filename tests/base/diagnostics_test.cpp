#include "sim/base/diagnostics.h"

#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace lockstep;

TEST_CASE("diagnostics: a position prints only the parts there are", "[base]") {
    CHECK(to_text(SourcePosition{"topo.yaml", 3, 14}) == "topo.yaml:3:14");
    CHECK(to_text(SourcePosition{"topo.yaml", 3, 0}) == "topo.yaml:3");
    CHECK(to_text(SourcePosition{"topo.yaml", 0, 0}) == "topo.yaml");
    CHECK(to_text(SourcePosition{}).empty());
    CHECK(std::string(InputError({"topo.yaml", 3, 14}, "wrong").what()) == "topo.yaml:3:14: wrong");
    CHECK(std::string(InputError({}, "wrong").what()) == "wrong");
    CHECK(std::string(InputError("--seed: wrong").what()) == "--seed: wrong");
}

TEST_CASE("nearest_word: a slip of the finger finds its word", "[base]") {
    const std::vector<std::string> known{"bandwidth", "latency", "nodes", "kind", "a"};
    CHECK(nearest_word("bandwith", known) == "bandwidth");   // one letter missing
    CHECK(nearest_word("bandwdith", known) == "bandwidth");  // two letters swapped
    CHECK(nearest_word("ltaenyc", known) == "latency");      // two swaps: within a third of seven letters
    CHECK(nearest_word("node", known) == "nodes");
    CHECK(nearest_word("Latency", known) == "latency");
    CHECK(nearest_word("NODES", known) == "nodes");
    CHECK(nearest_word("kinds", known) == "kind");
    CHECK_FALSE(nearest_word("bucket", known));
    CHECK_FALSE(nearest_word("", known));
    CHECK_FALSE(nearest_word("b", known));  // any one-letter word is one substitution away from "a": no likeness
    CHECK_FALSE(nearest_word("bandwidth", {}));
    CHECK_FALSE(nearest_word(std::string(1'000'000, 'x'), known));
}

TEST_CASE("nearest_word: the first of equally near words wins", "[base]") {
    const std::vector<std::string> known{"ring2", "ring1"};
    CHECK(nearest_word("ring3", known) == "ring2");
}

TEST_CASE("suggestion: names the near word, or lists at most twelve", "[base]") {
    const std::vector<std::string> known{"bandwidth", "latency"};
    CHECK(suggestion("bandwith", known) == " — did you mean `bandwidth`?");
    CHECK(suggestion("colour", known) == "; known: bandwidth, latency");
    CHECK(suggestion("colour", {}).empty());
    std::vector<std::string> many;
    for (int i = 0; i < 13; ++i) {
        many.push_back("word" + std::to_string(i));
    }
    CHECK(suggestion("x", many) ==
          "; known: word0, word1, word2, word3, word4, word5, word6, word7, word8, word9, word10, word11, …");
    many.pop_back();
    CHECK(suggestion("x", many) ==
          "; known: word0, word1, word2, word3, word4, word5, word6, word7, word8, word9, word10, word11");
}

TEST_CASE("excerpt: long texts are cut and control characters escaped", "[base]") {
    CHECK(excerpt("400") == "`400`");
    CHECK(excerpt("a\nb\x1b") == "`a\\nb\\x1b`");
    CHECK(excerpt(std::string(60, 'x')) == "`" + std::string(60, 'x') + "`");
    CHECK(excerpt(std::string(61, 'x')) == "`" + std::string(60, 'x') + "…`");
    // Counted in characters, so that none is cut in two.
    std::string umlauts;
    for (int i = 0; i < 61; ++i) {
        umlauts += "ä";
    }
    CHECK(excerpt(umlauts) == "`" + umlauts.substr(0, 120) + "…`");
}

TEST_CASE("InputError: stays on one line and is not of any length", "[base][error]") {
    CHECK(std::string(InputError({"a\nb", 1, 2}, "x\n\x1b[31my").what()) == "a\\nb:1:2: x\\n\\x1b[31my");
    CHECK(std::string(InputError("x\ny").what()) == "x\\ny");
    CHECK(std::string(InputError({std::string(100'000, 'f'), 1, 2}, std::string(100'000, 'm')).what()).size() < 5000);
    CHECK(suggestion("ab\nd", std::vector<std::string>{"ab\nc"}) == " — did you mean `ab\\nc`?");
}
