#include "sim/base/yaml.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace lockstep;
using Catch::Contains;

namespace {

YamlFile file_of(std::string_view text) { return YamlFile::parse(text, "f.yaml"); }

/// The value of the top-level key `v`.
YamlValue value_of(const std::string& text) { return file_of(text).root().require("v"); }

/// The value of `v: <scalar>`, beside a few parameters; it stands at line 9, column 4.
YamlValue scalar(const std::string& text) {
    return value_of(
        "parameters:\n"
        "  nodes: {default: 4, help: h}\n"
        "  rate: {default: 400 Gb/s, help: h}\n"
        "  half: {default: 0.5, help: h}\n"
        "  on: {default: true, help: h}\n"
        "  policy: {default: ecmp, help: h}\n"
        "  zero: {default: 0 GB/s, help: h}\n"
        "  many: {default: $nodes, help: h}\n"
        "v: " +
        text + "\n");
}

}  // namespace

TEST_CASE("YamlFile: reads mappings, lists and scalars in block and flow style", "[base]") {
    const YamlFile file = file_of(
        "# comment\n"
        "name: pod\n"
        "link: {bandwidth: 450 GB/s, latency: 1.2 us}\n"
        "nics:\n"
        "  - model: cx7\n"
        "    count: 8\n"
        "  - model: cx6\n"
        "    count: 0\n"
        "sizes: [1 MiB, 2 MiB]\n");
    YamlMap root = file.root();
    CHECK(root.require("name").text() == "pod");
    YamlMap link = root.require("link").map();
    CHECK(link.require("bandwidth").bandwidth().value == 450e9);
    CHECK(link.require("latency").seconds().value == 1.2e-6);
    CHECK_FALSE(link.find("kind"));
    link.finish();
    const auto nics = root.require("nics").list();
    REQUIRE(nics.size() == 2);
    CHECK(nics[1].path() == "nics[1]");
    CHECK(to_text(nics[1].position()) == "f.yaml:7:5");
    const YamlValue count = nics[0].map().require("count");
    CHECK(count.path() == "nics[0].count");
    CHECK(to_text(count.position()) == "f.yaml:6:12");
    CHECK(count.count(1, 8) == 8);
    const auto sizes = root.require("sizes").list();
    REQUIRE(sizes.size() == 2);
    CHECK(sizes[1].bytes().value == 2 << 20);
    root.finish();
    CHECK(root.key_position("nics").line == 4);
    CHECK_THROWS_AS(root.key_position("nic"), std::invalid_argument);
}

TEST_CASE("YamlFile: values outlive the file they come from", "[base]") {
    const auto value = [] {
        return file_of("a:\n  b: [x, {c: 450 GB/s}]\n").root().require("a").map().require("b").list()[1];
    }();
    CHECK(value.map().require("c").bandwidth().value == 450e9);
    CHECK(to_text(value.position()) == "f.yaml:2:10");
}

TEST_CASE("YamlFile: columns count characters and lines count line feeds", "[base]") {
    CHECK(to_text(value_of("ä: ö\nv: {ü: 1, n: \"é\"}\n").map().require("n").position()) == "f.yaml:2:14");
    CHECK(to_text(value_of("\xEF\xBB\xBF"
                           "v: x\n")
                      .position()) == "f.yaml:1:4");
    CHECK(to_text(value_of("a: 1\r\nv: x\r\n").position()) == "f.yaml:2:4");
    CHECK(value_of("a: 1\r\nv: x\r\n").text() == "x");
    CHECK(value_of("v: 1.2 \u00b5s\n").seconds().value == 1.2e-6);
    CHECK_THROWS_WITH(file_of("\u00b5\u00b5\u00b5: 1\nx: {\u00b5: 1, \u00b5: 2}"),
                      "f.yaml:2:11: duplicate key `\u00b5`, which is in line 2 already");
}

TEST_CASE("YamlMap: unknown, missing and duplicate keys are errors with positions", "[base][error]") {
    const auto read = [](const std::string& text) {
        YamlMap root = file_of(text).root();
        YamlMap link = root.require("link").map();
        link.require("bandwidth").bandwidth();
        link.find("latency");
        link.finish();
        root.finish();
    };
    CHECK_NOTHROW(read("link:\n  bandwidth: 1 GB/s\n"));
    CHECK_THROWS_WITH(read("link:\n  bandwith: 1 GB/s\n"),
                      "f.yaml:2:3: link: missing key `bandwidth`; is `bandwith` meant for it?");
    CHECK_THROWS_WITH(read("link:\n  bandwidth: 1 GB/s\n  bandwith: 2 GB/s\n"),
                      "f.yaml:3:3: unknown key `bandwith` — did you mean `bandwidth`?");
    CHECK_THROWS_WITH(read("link:\n  bandwidth: 1 GB/s\n  color: 2\n"),
                      "f.yaml:3:3: unknown key `color`; known: bandwidth, latency");
    CHECK_THROWS_WITH(read("link: {latency: 1 us}\n"), "f.yaml:1:7: link: missing key `bandwidth`");
    CHECK_THROWS_WITH(read("links: 1\n"), "f.yaml:1:1: missing key `link`; is `links` meant for it?");
    CHECK_THROWS_WITH(read("link: {bandwidth: 1 GB/s}\nfoo: 1\n"),
                      "f.yaml:2:1: unknown key `foo`; known: parameters, link");
    CHECK_THROWS_WITH(read("link: {bandwidth: 1 GB/s}\nlink: {bandwidth: 2 GB/s}\n"),
                      "f.yaml:2:1: duplicate key `link`, which is in line 1 already");
    CHECK_THROWS_WITH(read("link:\n  bandwidth: 1 GB/s\n  a: 1\n  bandwidth: 2 GB/s\n  a: 2\n"),
                      "f.yaml:4:3: duplicate key `bandwidth`, which is in line 2 already");
}

TEST_CASE("YamlMap: entries are the user's own names in file order", "[base]") {
    YamlMap map = value_of("v: {gpu10: 1, gpu2: 2, a: 3}").map();
    const auto entries = map.entries();
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].first == "gpu10");
    CHECK(entries[1].first == "gpu2");
    CHECK(entries[1].second.path() == "v.gpu2");
    CHECK(entries[2].second.count(0, 9) == 3);
    CHECK(to_text(map.key_position("gpu2")) == "f.yaml:1:15");
    CHECK_NOTHROW(map.finish());
}

TEST_CASE("YamlValue: the wrong shape says what is there and what is due", "[base][error]") {
    CHECK_THROWS_WITH(value_of("v: [1]").map(), "f.yaml:1:4: v: expected a mapping, got a list");
    CHECK_THROWS_WITH(value_of("v: x").map(), "f.yaml:1:4: v: expected a mapping, got `x`");
    CHECK_THROWS_WITH(value_of("v: {a: 1}").list(), "f.yaml:1:4: v: expected a list, got a mapping");
    CHECK_THROWS_WITH(value_of("v: x").list(), "f.yaml:1:4: v: expected a list, got `x`");
    CHECK_THROWS_WITH(value_of("v: [1]").text(), "f.yaml:1:4: v: expected a single value, got a list");
    CHECK_THROWS_WITH(value_of("v: {a: 1}").bandwidth(), "f.yaml:1:4: v: expected a single value, got a mapping");
    CHECK_THROWS_WITH(value_of("v: ~").count(0, 1), "f.yaml:1:4: v: expected a single value, got nothing");
    CHECK_THROWS_WITH(value_of("v: null").text(), "f.yaml:1:4: v: expected a single value, got nothing");
    CHECK_THROWS_WITH(value_of("v:\nw: 1").map(), Contains("v: expected a mapping, got nothing"));
    CHECK_THROWS_WITH(value_of("v: ''").text(), "f.yaml:1:4: v: expected a value, got an empty text");
    CHECK_THROWS_WITH(value_of("v: x").fail("too odd"), "f.yaml:1:4: v: too odd");
    CHECK(value_of("v: 'null'").text() == "null");
    CHECK(value_of("v: [1]").is_list());
    CHECK(value_of("v: {a: 1}").is_map());
    CHECK(value_of("v: x").is_scalar());
    CHECK_FALSE(value_of("v: ~").is_scalar());
}

TEST_CASE("YamlValue: a quantity without its unit or out of range is refused", "[base][error]") {
    const auto link = [](const std::string& text) {
        return value_of("v:\n  bandwidth: " + text + "\n").map().require("bandwidth");
    };
    CHECK_THROWS_WITH(link("400").bandwidth(),
                      "f.yaml:2:14: v.bandwidth: expected a rate such as `400 Gb/s`, got `400`");
    CHECK_THROWS_WITH(
        link("-400 GB/s").bandwidth(),
        "f.yaml:2:14: v.bandwidth: expected a finite rate of at least 0 such as `400 Gb/s`, got `-400 GB/s`");
    CHECK_THROWS_WITH(link("nan GB/s").bandwidth(), Contains("expected a finite rate of at least 0"));
    CHECK_THROWS_WITH(link("nan").bandwidth(), Contains("expected a rate such as `400 Gb/s`, got `nan`"));
    CHECK_THROWS_WITH(link("inf").bandwidth(), Contains("got `inf`"));
    CHECK_THROWS_WITH(link(".inf GB/s").bandwidth(), Contains("expected a finite rate of at least 0"));
    CHECK_THROWS_WITH(link("0 GB/s").bandwidth(),
                      "f.yaml:2:14: v.bandwidth: expected a rate from 1 B/s to 1e18 B/s, got `0 GB/s`");
    CHECK_THROWS_WITH(link("1e300 B/s").bandwidth(),
                      Contains("expected a rate from 1 B/s to 1e18 B/s, got `1e300 B/s`"));
    CHECK_THROWS_WITH(link("1e300 GB/s").bandwidth(), Contains("expected a finite rate of at least 0"));
    CHECK_THROWS_WITH(scalar("2e9 s").seconds(), Contains("expected a time from 0 s to 1e9 s, got `2e9 s`"));
    CHECK_THROWS_WITH(scalar("2 EB").bytes(), Contains("expected a size from 0 B to 1 EiB, got `2 EB`"));
    CHECK_THROWS_WITH(scalar("1e31 FLOP").flops(),
                      Contains("expected a number of operations from 0 FLOP to 1e30 FLOP"));
    CHECK_THROWS_WITH(scalar("0 FLOP/s").flop_rate(), Contains("expected a compute rate from 1 FLOP/s to 1e24 FLOP/s"));
    // A size divided by less would not be finite.
    CHECK_THROWS_WITH(link("1e-300 B/s").bandwidth(), Contains("expected a rate from 1 B/s to 1e18 B/s"));
    CHECK_THROWS_WITH(link("7 b/s").bandwidth(), Contains("expected a rate from 1 B/s to 1e18 B/s, got `7 b/s`"));
    CHECK_THROWS_WITH(scalar("1e-300 FLOP/s").flop_rate(), Contains("from 1 FLOP/s to 1e24 FLOP/s"));
    CHECK(link("1 B/s").bandwidth().value == 1);
    CHECK(scalar("1 FLOP/s").flop_rate().value == 1);
    CHECK_THROWS_WITH(scalar("0 B").bytes({1}), Contains("expected a size from 1 B to 1 EiB, got `0 B`"));
    CHECK(scalar("1 EiB").bytes().value == std::int64_t{1} << 60);
    CHECK(scalar("0 s").seconds().value == 0);
    CHECK(scalar("0 B").bytes().value == 0);
    CHECK(scalar("0 FLOP").flops().value == 0);
    CHECK(scalar("989 TFLOP/s").flop_rate().value == 989e12);
}

TEST_CASE("YamlValue: a count is written in decimal digits", "[base]") {
    CHECK(scalar("8").count(1, 8) == 8);
    CHECK(scalar("010").count(0, 99) == 10);  // YAML 1.1 would read 8
    CHECK(scalar("'4'").count(0, 9) == 4);
    CHECK(scalar("-3").count(-5, 5) == -3);
    CHECK(scalar("9223372036854775807").count(0, std::numeric_limits<std::int64_t>::max()) ==
          std::numeric_limits<std::int64_t>::max());
    for (const auto* const text :
         {"0x10", "1e3", "4.0", "four", "yes", "1_000", "1,000", "+4", "4 ", "--4", "'-'", "4 nodes"}) {
        CAPTURE(text);
        if (std::string_view(text) == "4 ") {
            CHECK(scalar(text).count(0, 9) == 4);  // YAML drops blanks at the end of a plain scalar
        } else {
            CHECK_THROWS_WITH(scalar(text).count(0, 9999), Contains("v: expected a whole number such as `4`, got `"));
        }
    }
    CHECK_THROWS_WITH(scalar("'4 '").count(0, 9), "f.yaml:9:4: v: expected a whole number such as `4`, got `4 `");
    CHECK_THROWS_WITH(scalar("9").count(1, 8), "f.yaml:9:4: v: expected a whole number from 1 to 8, got `9`");
    CHECK_THROWS_WITH(scalar("-1").count(0, std::numeric_limits<std::int64_t>::max()),
                      "f.yaml:9:4: v: expected a whole number of at least 0, got `-1`");
    CHECK_THROWS_WITH(scalar("9223372036854775808").count(0, 10),
                      Contains("expected a whole number from 0 to 10, got"));
}

TEST_CASE("YamlValue: a number is read whole", "[base]") {
    CHECK(scalar("0.25").number(0, 1) == 0.25);
    CHECK(scalar("1e-3").number(0, 1) == 1e-3);
    CHECK(scalar("1").number(0, 1) == 1);
    CHECK_THROWS_WITH(scalar("1.5").number(0, 1), "f.yaml:9:4: v: expected a number from 0 to 1, got `1.5`");
    CHECK_THROWS_WITH(scalar("half").number(0, 1), "f.yaml:9:4: v: expected a number such as `0.5`, got `half`");
    CHECK_THROWS_WITH(scalar("nan").number(0, 1), "f.yaml:9:4: v: expected a number such as `0.5`, got `nan`");
    CHECK_THROWS_WITH(scalar("inf").number(0, 1), "f.yaml:9:4: v: expected a number from 0 to 1, got `inf`");
    CHECK_THROWS_WITH(scalar("1e999").number(0, 1), "f.yaml:9:4: v: expected a number from 0 to 1, got `1e999`");
    CHECK_THROWS_WITH(scalar("0.5x").number(0, 1), "f.yaml:9:4: v: expected a number such as `0.5`, got `0.5x`");
    CHECK_THROWS_WITH(scalar("0.5 s").number(0, 1), "f.yaml:9:4: v: expected a number such as `0.5`, got `0.5 s`");
}

TEST_CASE("YamlValue: flags and words are exact", "[base]") {
    const std::vector<std::string> policies{"static", "ecmp", "spray"};
    CHECK(scalar("true").flag());
    CHECK_FALSE(scalar("false").flag());
    for (const auto* const text : {"yes", "no", "on", "True", "TRUE", "1", "y"}) {
        CAPTURE(text);
        CHECK_THROWS_WITH(scalar(text).flag(), Contains("v: expected `true` or `false`, got `"));
    }
    CHECK(scalar("ecmp").one_of(policies) == "ecmp");
    CHECK_THROWS_WITH(scalar("spry").one_of(policies),
                      "f.yaml:9:4: v: expected one of static, ecmp, spray, got `spry` — did you mean `spray`?");
    CHECK_THROWS_WITH(scalar("best").one_of(policies),
                      "f.yaml:9:4: v: expected one of static, ecmp, spray, got `best`");
}

TEST_CASE("YamlValue: a parameter stands for any scalar", "[base]") {
    CHECK(scalar("$nodes").count(1, 8) == 4);
    CHECK(scalar("$many").count(1, 8) == 4);
    CHECK(scalar("\"$nodes\"").count(1, 8) == 4);
    CHECK(scalar("$nodes").text() == "4");
    CHECK(scalar("$nodes").written() == "$nodes");
    CHECK(scalar("$rate").bandwidth().value == 50e9);
    CHECK(scalar("$half").number(0, 1) == 0.5);
    CHECK(scalar("$on").flag());
    CHECK(scalar("$policy").one_of(std::vector<std::string>{"ecmp"}) == "ecmp");
    CHECK(scalar("a$nodes").text() == "a$nodes");
}

TEST_CASE("YamlValue: overrides reach values that were read before", "[base]") {
    YamlFile file = file_of("parameters: {nodes: {default: 4, min: 1, max: 9, help: h}}\nv: $nodes\nw: $(nodes*2)\n");
    const YamlValue value = file.root().require("v");
    CHECK(value.count(0, 99) == 4);
    file.parameters().set("nodes", "7");
    CHECK(value.count(0, 99) == 7);
    CHECK(file.root().require("w").count(0, 99) == 14);
    YamlFile slow = file_of("parameters: {rate: {default: 1 GB/s, help: h}}\nv: $rate\n");
    slow.parameters().set("rate", "1e-300 B/s");
    CHECK_THROWS_WITH(slow.root().require("v").bandwidth(),
                      "f.yaml:2:4: v: expected a rate from 1 B/s to 1e18 B/s, got `1e-300 B/s` (parameter `rate`, from "
                      "--set rate=1e-300 B/s)");
    CHECK_THROWS_WITH(
        value.count(0, 5),
        "f.yaml:2:4: v: expected a whole number from 0 to 5, got `7` (parameter `nodes`, from --set nodes=7)");
}

TEST_CASE("YamlValue: a parameter that does not fit is named", "[base][error]") {
    CHECK_THROWS_WITH(scalar("$nods").count(0, 9), "f.yaml:9:4: v: unknown parameter `nods` — did you mean `nodes`?");
    CHECK_THROWS_WITH(value_of("v: $nodes").count(0, 9),
                      "f.yaml:1:4: v: unknown parameter `nodes`: the file declares no parameters");
    CHECK_THROWS_WITH(scalar("$rate").count(0, 9),
                      "f.yaml:9:4: v: expected a whole number such as `4`, got `400 Gb/s` (parameter `rate`)");
    CHECK_THROWS_WITH(scalar("$nodes").bandwidth(),
                      "f.yaml:9:4: v: expected a rate such as `400 Gb/s`, got `4` (parameter `nodes`)");
    CHECK_THROWS_WITH(scalar("$zero").bandwidth(),
                      "f.yaml:9:4: v: expected a rate from 1 B/s to 1e18 B/s, got `0 GB/s` (parameter `zero`)");
    CHECK_THROWS_WITH(scalar("$5").text(), "f.yaml:9:4: v: expected `$name` or `$(arithmetic)`, got `$5`");
    CHECK_THROWS_WITH(scalar("$").text(), "f.yaml:9:4: v: expected `$name` or `$(arithmetic)`, got `$`");
    CHECK_THROWS_WITH(scalar("$nodes+1").count(0, 9),
                      "f.yaml:9:4: v: expected `$name` or `$(arithmetic)`, got `$nodes+1`");
}

TEST_CASE("YamlValue: arithmetic stands where a count or a number is due", "[base]") {
    CHECK(scalar("$(nodes*8)").count(1, 99) == 32);
    CHECK(scalar("$(ceil(nodes/3))").count(1, 99) == 2);
    CHECK(scalar("$(half/2)").number(0, 1) == 0.25);
    CHECK(scalar("$(nodes-5)").count(-5, 5) == -1);
    CHECK(scalar("$(nodes-nodes)").count(0, 5) == 0);
    CHECK(scalar("$(30*0.1)").count(1, 9) == 3);  // 3.0000000000000004 in doubles
    CHECK_THROWS_WITH(scalar("$(nodes/3)").count(1, 9),
                      Contains("v: expected a whole number, got `$(nodes/3)`, which is 1.33333"));
    CHECK_THROWS_WITH(scalar("$(nodes*half/4)").count(0, 9),
                      "f.yaml:9:4: v: expected a whole number, got `$(nodes*half/4)`, which is "
                      "0.5");
    CHECK_THROWS_WITH(scalar("$(nodes*8)").count(1, 9),
                      "f.yaml:9:4: v: expected a whole number from 1 to 9, got `$(nodes*8)`, which is "
                      "32");
    CHECK_THROWS_WITH(scalar("$(nodes^99)").count(1, 9),
                      Contains("expected a whole number from 1 to 9, got `$(nodes^99)`, which is 4"));
    CHECK_THROWS_WITH(scalar("$(nodes*8)").number(0, 1),
                      Contains("expected a number from 0 to 1, got `$(nodes*8)`, which is 32"));
    CHECK_THROWS_WITH(scalar("$(rate*2)").count(1, 9),
                      "f.yaml:9:4: v: arithmetic takes plain numbers, and `rate` is a rate (`400 Gb/s`)");
    CHECK_THROWS_WITH(scalar("$(nods*2)").count(1, 9),
                      "f.yaml:9:4: v: unknown parameter `nods` — did you mean `nodes`?");
    CHECK_THROWS_WITH(scalar("$(1/0)").count(1, 9), "f.yaml:9:4: v: `1/0` has no finite value");
    CHECK_THROWS_WITH(scalar("$(2*nodes").count(1, 9), Contains("v: `$(2*nodes` lacks a closing parenthesis"));
    // The comma ends the value, as YAML has it.
    CHECK_THROWS_WITH(value_of("v: {count: $(max(n,2)), gpus: 1}").map().require("count").count(1, 9),
                      "f.yaml:1:12: v.count: `$(max(n` lacks a closing parenthesis; inside of {...} and [...] a comma "
                      "ends the value: there, put arithmetic with a comma in quotes, \"$(max(a, b))\"");
    CHECK_THROWS_WITH(value_of("v: [$(max((1),2))]").list().at(0).number(1, 9),
                      Contains("lacks a closing parenthesis"));
    CHECK(value_of("v: {count: \"$(max(1,2))\"}").map().require("count").count(1, 9) == 2);
    CHECK_THROWS_WITH(scalar("$(nodes)").text(),
                      "f.yaml:9:4: v: arithmetic is only possible where a number is due, got `$(nodes)`");
    CHECK_THROWS_WITH(scalar("$(nodes)").bandwidth(),
                      "f.yaml:9:4: v: arithmetic gives a number without a unit; expected a rate from 1 B/s to 1e18 "
                      "B/s, got "
                      "`$(nodes)`");
    CHECK_THROWS_AS(scalar("$(nodes)").flag(), InputError);
}

TEST_CASE("YamlFile: parameters are declared with default, range, choices and help", "[base]") {
    const YamlFile file = file_of(
        "parameters:\n"
        "  nodes: {default: 4, min: 1, max: 16, help: DGX nodes}\n"
        "  routing:\n"
        "    default: ecmp\n"
        "    choices: [static, ecmp]\n"
        "    help: how flows choose their path\n"
        "  gpus: {default: $nodes, help: h}\n"
        "v: 1\n");
    const auto declared = file.parameters().declared();
    REQUIRE(declared.size() == 3);
    CHECK(declared[0].name == "nodes");
    CHECK(declared[0].kind == ParameterKind::count);
    CHECK(declared[0].help == "DGX nodes");
    CHECK(declared[0].least == "1");
    CHECK(declared[0].most == "16");
    CHECK(to_text(declared[0].position) == "f.yaml:2:3");
    CHECK(declared[1].choices == std::vector<std::string>{"static", "ecmp"});
    CHECK(declared[2].kind == ParameterKind::count);
    YamlMap root = file.root();
    root.require("v");
    CHECK_NOTHROW(root.finish());
}

TEST_CASE("YamlFile: a bad parameter declaration is refused with its position", "[base][error]") {
    const auto declare = [](const std::string& text) { file_of("parameters:\n  nodes: " + text + "\nv: 1\n"); };
    CHECK_THROWS_WITH(declare("{default: 4}"), "f.yaml:2:10: parameters.nodes: missing key `help`");
    CHECK_THROWS_WITH(declare("{help: h}"), "f.yaml:2:10: parameters.nodes: missing key `default`");
    CHECK_THROWS_WITH(declare("4"), "f.yaml:2:10: parameters.nodes: expected a mapping, got `4`");
    CHECK_THROWS_WITH(declare("{default: 4, help: h, minimum: 1}"),
                      "f.yaml:2:32: unknown key `minimum`; known: default, min, max, "
                      "choices, help");
    CHECK_THROWS_WITH(declare("{default: 4, help: h, mn: 1}"), "f.yaml:2:32: unknown key `mn` — did you mean `min`?");
    CHECK_THROWS_WITH(declare("{default: 4, min: 5, help: h}"),
                      "f.yaml:2:3: parameter `nodes`: default: expected at least 5, got 4");
    CHECK_THROWS_WITH(declare("{default: [4], help: h}"),
                      "f.yaml:2:20: parameters.nodes.default: expected a single value, got a list");
    CHECK_THROWS_WITH(declare("{default: a, choices: [], help: h}"), Contains("expected at least one choice"));
    CHECK_THROWS_WITH(declare("{default: $gpus, help: h}"),
                      Contains("the default refers to the unknown earlier parameter `gpus`"));
    CHECK_THROWS_WITH(file_of("parameters: [1]\n"), "f.yaml:1:13: parameters: expected a mapping, got a list");
    CHECK_THROWS_WITH(file_of("parameters:\n  a: {default: 1, help: h}\n  a: {default: 1, help: h}\n"),
                      "f.yaml:3:3: duplicate key `a`, which is in line 2 already");
}

TEST_CASE("YamlFile: what holds no mapping is refused", "[base][error]") {
    CHECK_THROWS_WITH(file_of(""), "f.yaml: the file is empty");
    CHECK_THROWS_WITH(file_of("# nothing\n\n"), "f.yaml: the file holds nothing but comments");
    CHECK_THROWS_WITH(file_of("  \n"), Contains("f.yaml: the file holds nothing"));
    CHECK_THROWS_WITH(file_of("---\n"), Contains("f.yaml: the file holds nothing"));
    CHECK_THROWS_WITH(file_of("~"), Contains("f.yaml: the file holds nothing"));
    CHECK_THROWS_WITH(file_of("\xEF\xBB\xBF"), "f.yaml: the file is empty");
    CHECK_THROWS_WITH(file_of("just text"), "f.yaml:1:1: expected a mapping, got `just text`");
    CHECK_THROWS_WITH(file_of("- 1\n- 2\n").root(), "f.yaml:1:1: expected a mapping, got a list");
}

TEST_CASE("YamlFile: what is no YAML is refused at its position", "[base][error]") {
    CHECK_THROWS_WITH(file_of("a: [1\nb: 2\n"), "f.yaml:2:2: not YAML: end of sequence flow not found");
    CHECK_THROWS_WITH(file_of("a: \"x"), Contains("f.yaml:1:6: not YAML: illegal EOF in scalar"));
    CHECK_THROWS_WITH(file_of("a: b: c\n"), Contains("f.yaml:1:5: not YAML: illegal map value"));
    CHECK_THROWS_WITH(file_of("a: *none\n"), Contains("not YAML: the referenced anchor is not defined"));
    CHECK_THROWS_WITH(file_of("a: 1\n---\nb: 2\n"),
                      "f.yaml:2:1: a second YAML document begins here; expected one document per file");
    CHECK_THROWS_WITH(file_of("a: !!str 1\n"), "f.yaml:1:4: tags are not supported, got `tag:yaml.org,2002:str`");
    CHECK_THROWS_WITH(file_of("a: !gpu {b: 1}\n"), "f.yaml:1:4: tags are not supported, got `!gpu`");
    CHECK_THROWS_WITH(file_of("[a]: 1\n"), Contains("expected a plain text as key, got a list or a mapping"));
    CHECK_THROWS_WITH(file_of("? {a: 1}\n: 1\n"), Contains("expected a plain text as key, got a list or a mapping"));
    CHECK_THROWS_WITH(file_of("~: 1\n"), "f.yaml:1:1: expected a key, got nothing");
    CHECK_THROWS_WITH(file_of("'': 1\n"), "f.yaml:1:1: expected a key, got an empty text");
    CHECK_THROWS_WITH(file_of("a: &x 1\n*x : 2\n"), "f.yaml:2:1: expected a plain text as key, got an alias");
    CHECK_THROWS_WITH(file_of("a: &x {b: 1}\nc:\n  <<: *x\n"),
                      "f.yaml:3:3: the merge key `<<` is not supported; expected a key");
    CHECK_THROWS_WITH(file_of(std::string("a: 1\0", 5)), Contains("f.yaml:1:5: the file looks like a binary file"));
}

TEST_CASE("YamlFile: a quote that is open at the end of the file is refused", "[base][error]") {
    // yaml-cpp 0.7 reads these as closed: a file cut in the middle would pass for a whole one.
    CHECK_THROWS_WITH(file_of("a: 1\nb: \"x\n"), "f.yaml:2:4: not YAML: the quote that begins here is never closed");
    CHECK_THROWS_WITH(file_of("a: 'x\n\nb: 3\n"), "f.yaml:1:4: not YAML: the quote that begins here is never closed");
    CHECK_THROWS_WITH(file_of("ä: {é: 1}\nü: &q\n  'it''s\n"),
                      "f.yaml:2:4: not YAML: the quote that begins here is never closed");
    CHECK_THROWS_WITH(file_of("a: \"x\\\"\n"), "f.yaml:1:4: not YAML: the quote that begins here is never closed");
    for (const auto* const text : {"v: \"x\"\n", "v: 'x'\n", "v: 'it''s'\n", "v: \"x\\\"\"\n", "v: \"x\\\\\"",
                                   "v: ''''\n", "v: &q 'x'\n", "v: &q\n  \"x\"\n# end", "v: \"x\n  y\"\n",
                                   "v: |\n  'x\n", "v: &q |\n  'x\n", "'v': x\n", "{\"v\": 'x'}", "ä: é\nv: 'ü'\n"}) {
        CAPTURE(text);
        CHECK_NOTHROW(value_of(text).text());
    }
}

TEST_CASE("YamlFile: an alias stands for the value of its anchor", "[base]") {
    YamlMap root = file_of("a: &link {bandwidth: 1 GB/s}\nv: [*link, *link]\nw: &n 4\nx: *n\n").root();
    const auto items = root.require("v").list();
    REQUIRE(items.size() == 2);
    CHECK(items[1].map().require("bandwidth").bandwidth().value == 1e9);
    CHECK(items[1].path() == "v[1]");
    CHECK(root.require("x").count(0, 9) == 4);
    // An anchor that is given again means the later value from there on.
    CHECK(file_of("a: &x 1\nb: &x 2\nv: *x\n").root().require("v").count(0, 9) == 2);
}

TEST_CASE("YamlFile: endless and exploding aliases are refused", "[base][error]") {
    CHECK_THROWS_WITH(file_of("a: &x [*x]\n"),
                      "f.yaml:1:8: the alias stands inside of its own anchor, which would make the value endless");
    CHECK_THROWS_WITH(file_of("a: &x {b: {c: *x}}\n"),
                      Contains("f.yaml:1:15: the alias stands inside of its own anchor"));
    // 10^9 values in ten lines.
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 1; j < 10; ++j) {
            bomb += ", " + before;
        }
        bomb += "]\n";
    }
    CHECK_THROWS_WITH(file_of(bomb), Contains("more than 20 million values once aliases are followed"));
    // Each alias goes one level deeper than the anchor before it, though no line is nested.
    std::string stairs = "a0: &a0 [x]\n";
    for (int i = 1; i < 200; ++i) {
        stairs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
    }
    CHECK_THROWS_WITH(file_of(stairs), Contains("nested deeper than 100 levels once aliases are followed"));
}

TEST_CASE("YamlFile: nesting has a limit that is reached before the stack ends", "[base][error]") {
    const auto nested = [](std::size_t levels) {
        return "v: " + std::string(levels, '[') + "x" + std::string(levels, ']') + "\n";
    };
    CHECK_NOTHROW(file_of(nested(99)));  // the top-level mapping is the hundredth
    CHECK_THROWS_WITH(file_of(nested(100)), "f.yaml:1:103: nested deeper than 100 levels");
    CHECK_THROWS_AS(file_of(nested(100'000)), InputError);
    CHECK_THROWS_AS(file_of(std::string(100'000, '[')), InputError);
    CHECK_THROWS_AS(file_of(std::string(100'000, '{')), InputError);
    std::string dashes;
    std::string keys;
    std::string blocks;
    for (int i = 0; i < 2'000; ++i) {
        dashes += "- ";
        keys += "? ";
        blocks += std::string(static_cast<std::size_t>(i % 1000), ' ') + "a:\n";
    }
    CHECK_THROWS_AS(file_of(dashes), InputError);
    CHECK_THROWS_AS(file_of(keys), InputError);
    CHECK_THROWS_AS(file_of(blocks), InputError);
}

TEST_CASE("YamlFile: loads a file and names it in messages", "[base]") {
    const auto path = std::filesystem::temp_directory_path() / "lockstep-yaml-test.yaml";
    std::ofstream(path) << "v: 4\n";
    CHECK(YamlFile::load(path).root().require("v").count(0, 9) == 4);
    CHECK_THROWS_WITH(YamlFile::load(path).root().require("w"), path.string() + ":1:1: missing key `w`");
    std::filesystem::remove(path);
    CHECK_THROWS_WITH(YamlFile::load(path), path.string() + ": no such file");
    CHECK_THROWS_WITH(YamlFile::load("/"), "/: is a directory; expected a file");
}

TEST_CASE("YamlFile: a cut or damaged file is an error with a message and nothing else", "[base][error]") {
    const std::string text =
        "parameters:\n  nodes: {default: 4, help: \"how many\"}\nlink: &l {bandwidth: 450 GB/s, latency: 1.2 us}\n"
        "list:\n  - a: *l\n  - [1, 'two', \"th\\u0072ee\"]\nmore: |\n  text\n  text\nlast: >-\n  x\n";
    const auto attempt = [](const std::string& damaged) {
        try {
            for (const auto& [key, value] : file_of(damaged).root().entries()) {
                static_cast<void>(value.is_scalar() ? value.written() : key);
            }
        } catch (const InputError& error) {
            CHECK(std::string_view(error.what()).starts_with("f.yaml"));
        }
    };
    for (std::size_t length = 0; length < text.size(); ++length) {
        attempt(text.substr(0, length));
        for (const char c : {'[', '}', ':', '-', '&', '*', '"', '|', '\n', '\t', '%', '!', '?', '\x01', '\xff'}) {
            std::string damaged = text;
            damaged[length] = c;
            attempt(damaged);
        }
    }
}

TEST_CASE("YamlValue: a key with a line feed does not break the message into lines", "[base][error]") {
    YamlMap map = value_of("v: {\"band\\nwidth\": {x: 1}}").map();
    CHECK_THROWS_WITH(map.require("bandwidth"),
                      "f.yaml:1:4: v: missing key `bandwidth`; is `band\\nwidth` meant for it?");
    CHECK_THROWS_WITH(map.entries().front().second.list(),
                      "f.yaml:1:20: v.band\\nwidth: expected a list, got a mapping");
    const std::string huge(100'000, 'k');
    try {
        value_of("v: {" + huge + ": 1}").map().entries().front().second.list();
        FAIL("a scalar is no list");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()).size() < 1000);
    }
}
