#include "sim/base/parameters.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace lockstep;

namespace {

Parameter parameter(const std::string& name, const std::string& default_text) {
    Parameter result;
    result.name = name;
    result.kind = kind_of(default_text);
    result.default_text = default_text;
    result.help = "help";
    result.position = {"f.yaml", 3, 5};
    return result;
}

Parameters typical() {
    Parameters parameters;
    Parameter nodes = parameter("nodes", "4");
    nodes.least = "1";
    nodes.most = "16";
    parameters.declare(nodes);
    Parameter bandwidth = parameter("bandwidth", "400 Gb/s");
    bandwidth.least = "1 GB/s";
    parameters.declare(bandwidth);
    parameters.declare(parameter("factor", "0.5"));
    parameters.declare(parameter("overlap", "true"));
    Parameter routing = parameter("routing", "ecmp");
    routing.choices = {"static", "ecmp", "spray"};
    parameters.declare(routing);
    parameters.declare(parameter("gradient", "100 MB"));
    Parameter bucket = parameter("bucket", "$gradient");
    bucket.most = "200 MB";
    parameters.declare(bucket);
    return parameters;
}

}  // namespace

TEST_CASE("kind_of: the form of a text tells its kind", "[base]") {
    using enum ParameterKind;
    CHECK(kind_of("4") == count);
    CHECK(kind_of("0") == count);
    CHECK(kind_of("0.5") == number);
    CHECK(kind_of("-1") == number);
    CHECK(kind_of("1e3") == number);
    CHECK(kind_of("true") == flag);
    CHECK(kind_of("false") == flag);
    CHECK(kind_of("yes") == word);
    CHECK(kind_of("1.2 us") == seconds);
    CHECK(kind_of("0 s") == seconds);
    CHECK(kind_of("25 MiB") == bytes);
    CHECK(kind_of("400 Gb/s") == bandwidth);
    CHECK(kind_of("1 TFLOP") == flops);
    CHECK(kind_of("989 TFLOP/s") == flop_rate);
    CHECK(kind_of("ring") == word);
    CHECK(kind_of("nan") == word);
    CHECK(kind_of("0x10") == word);
}

TEST_CASE("Parameters: defaults hold until they are overridden", "[base]") {
    Parameters parameters = typical();
    CHECK(parameters.declares("nodes"));
    CHECK_FALSE(parameters.declares("node"));
    CHECK(parameters.declared().size() == 7);
    CHECK(parameters.value("nodes").text == "4");
    CHECK(to_text(parameters.value("nodes").position) == "f.yaml:3:5");
    parameters.set("nodes", "8");
    CHECK(parameters.value("nodes").text == "8");
    CHECK(to_text(parameters.value("nodes").position) == "--set nodes=8");
    parameters.set("nodes", "9");
    CHECK(parameters.value("nodes").text == "9");
    parameters.set("routing", "spray");
    CHECK(parameters.value("routing").text == "spray");
    CHECK_THROWS_AS(parameters.value("node"), std::invalid_argument);
}

TEST_CASE("Parameters: a default that names another parameter follows it", "[base]") {
    Parameters parameters = typical();
    CHECK(parameters.declared()[6].kind == ParameterKind::bytes);
    CHECK(parameters.value("bucket").text == "100 MB");
    parameters.set("gradient", "50 MB");
    CHECK(parameters.value("bucket").text == "50 MB");
    CHECK(to_text(parameters.value("bucket").position) == "--set gradient=50 MB");
    parameters.set("bucket", "25 MiB");
    CHECK(parameters.value("bucket").text == "25 MiB");
    CHECK(parameters.value("gradient").text == "50 MB");
}

TEST_CASE("Parameters: a setting that does not fit says what does", "[base][error]") {
    Parameters parameters = typical();
    CHECK_THROWS_WITH(parameters.set("nodes", "abc"),
                      "--set nodes=abc: expected a whole number such as `4`, got `abc`");
    CHECK_THROWS_WITH(parameters.set("nodes", "4.0"),
                      "--set nodes=4.0: expected a whole number such as `4`, got `4.0`");
    CHECK_THROWS_WITH(parameters.set("nodes", "-1"), "--set nodes=-1: expected a whole number such as `4`, got `-1`");
    CHECK_THROWS_WITH(parameters.set("nodes", ""), "--set nodes=: expected a whole number such as `4`, got nothing");
    CHECK_THROWS_WITH(parameters.set("nodes", "0"), "--set nodes=0: expected at least 1, got 0");
    CHECK_THROWS_WITH(parameters.set("nodes", "17"), "--set nodes=17: expected at most 16, got 17");
    CHECK_THROWS_WITH(
        parameters.set("nodes", "99999999999999999999"),
        "--set nodes=99999999999999999999: expected a whole number of at most 2^53, got `99999999999999999999`");
    CHECK_THROWS_WITH(parameters.set("bandwidth", "400"),
                      "--set bandwidth=400: expected a rate such as `400 Gb/s`, got `400`");
    CHECK_THROWS_WITH(parameters.set("bandwidth", "7 Gb/s"),
                      "--set bandwidth=7 Gb/s: expected at least 1 GB/s, got 7 Gb/s");
    CHECK_THROWS_WITH(
        parameters.set("bandwidth", "-400 GB/s"),
        "--set bandwidth=-400 GB/s: expected a finite rate of at least 0 such as `400 Gb/s`, got `-400 GB/s`");
    CHECK_THROWS_WITH(parameters.set("factor", "nan"), "--set factor=nan: expected a number such as `0.5`, got `nan`");
    CHECK_THROWS_WITH(parameters.set("factor", "1e999"),
                      "--set factor=1e999: expected a number such as `0.5`, got `1e999`");
    CHECK_THROWS_WITH(parameters.set("overlap", "yes"), "--set overlap=yes: expected `true` or `false`, got `yes`");
    CHECK_THROWS_WITH(parameters.set("routing", "spry"),
                      "--set routing=spry: expected one of static, ecmp, spray, got `spry` — did you mean `spray`?");
    CHECK_THROWS_WITH(parameters.set("routing", "best"),
                      "--set routing=best: expected one of static, ecmp, spray, got `best`");
    CHECK_THROWS_WITH(parameters.set("node", "4"), "--set node=4: unknown parameter `node` — did you mean `nodes`?");
    CHECK_THROWS_WITH(parameters.set("colour", "4"),
                      "--set colour=4: unknown parameter `colour`; known: nodes, bandwidth, factor, "
                      "overlap, routing, gradient, bucket");
    CHECK_THROWS_WITH(parameters.set("nodes", "$factor"),
                      "--set nodes=$factor: a setting takes a value, not another parameter");
    CHECK_THROWS_WITH(Parameters().set("nodes", "4"), "--set nodes=4: there are no parameters");
    CHECK(parameters.value("nodes").text == "4");
}

TEST_CASE("Parameters: a setting may not take a follower out of its own range", "[base][error]") {
    Parameters parameters = typical();
    CHECK_THROWS_WITH(parameters.set("gradient", "300 MB"),
                      "--set gradient=300 MB: `bucket` takes its value: expected at most 200 MB, got 300 MB");
    CHECK(parameters.value("gradient").text == "100 MB");  // as before
    parameters.set("bucket", "100 MB");
    parameters.set("gradient", "300 MB");
    CHECK(parameters.value("bucket").text == "100 MB");
}

TEST_CASE("Parameters: a declaration that contradicts itself is refused", "[base][error]") {
    Parameters parameters;
    parameters.declare(parameter("nodes", "4"));
    CHECK_THROWS_WITH(parameters.declare(parameter("nodes", "4")), "f.yaml:3:5: parameter `nodes`: declared twice");
    CHECK_THROWS_WITH(
        parameters.declare(parameter("2nodes", "4")),
        "f.yaml:3:5: parameter `2nodes`: expected a name of letters, digits and underscores that does not begin "
        "with a digit");
    CHECK_THROWS_AS(parameters.declare(parameter("", "4")), InputError);
    CHECK_THROWS_AS(parameters.declare(parameter("a-b", "4")), InputError);
    CHECK_THROWS_WITH(parameters.declare(parameter("max", "4")),
                      "f.yaml:3:5: parameter `max`: the name is that of a function of $(...)");
    CHECK_THROWS_WITH(
        parameters.declare(parameter("b", "$nods")),
        "f.yaml:3:5: parameter `b`: the default refers to the unknown earlier parameter `nods` — did you mean "
        "`nodes`?");
    CHECK_THROWS_WITH(parameters.declare(parameter("b", "$b")), Catch::Contains("unknown earlier parameter `b`"));
    CHECK_THROWS_WITH(parameters.declare(parameter("b", "$(2*nodes)")),
                      "f.yaml:3:5: parameter `b`: expected a value or `$name` as default, got `$(2*nodes)`");

    Parameter bad = parameter("b", "4");
    bad.least = "5";
    CHECK_THROWS_WITH(parameters.declare(bad), "f.yaml:3:5: parameter `b`: default: expected at least 5, got 4");
    bad.least = "x";
    CHECK_THROWS_WITH(parameters.declare(bad),
                      "f.yaml:3:5: parameter `b`: min: expected a whole number such as `4`, got `x`");
    bad.least = "1";
    bad.most = "1 GB/s";
    CHECK_THROWS_WITH(parameters.declare(bad),
                      "f.yaml:3:5: parameter `b`: max: expected a whole number such as `4`, got `1 GB/s`");
    bad.least = "9";
    bad.most = "5";
    CHECK_THROWS_WITH(parameters.declare(bad), "f.yaml:3:5: parameter `b`: min 9 is above max 5");
    Parameter word = parameter("b", "ring");
    word.least = "1";
    CHECK_THROWS_WITH(parameters.declare(word), "f.yaml:3:5: parameter `b`: a word has no min or max");
    word.least.reset();
    word.choices = {"tree"};
    CHECK_THROWS_WITH(parameters.declare(word), "f.yaml:3:5: parameter `b`: default: expected one of tree, got `ring`");
    Parameter choice = parameter("b", "2");
    choice.choices = {"2", "x"};
    CHECK_THROWS_WITH(parameters.declare(choice),
                      "f.yaml:3:5: parameter `b`: choices: expected a whole number such as `4`, got `x`");
    CHECK(parameters.declared().size() == 1);
}

TEST_CASE("Parameters: choices of a quantity compare its value", "[base]") {
    Parameters parameters;
    Parameter rate = parameter("rate", "400 Gb/s");
    rate.choices = {"200 Gb/s", "50 GB/s"};
    parameters.declare(rate);
    parameters.set("rate", "25 GB/s");
    CHECK_THROWS_WITH(parameters.set("rate", "26 GB/s"),
                      Catch::Contains("expected one of 200 Gb/s, 50 GB/s, got `26 GB/s`"));
}

TEST_CASE("Parameters: arithmetic is that of school", "[base]") {
    Parameters parameters = typical();
    CHECK(parameters.evaluate("nodes*8") == 32);
    CHECK(parameters.evaluate(" 2 * ( nodes + 1 ) ") == 10);
    CHECK(parameters.evaluate("2+3*4^2") == 50);
    CHECK(parameters.evaluate("-nodes") == -4);
    CHECK(parameters.evaluate("nodes/3*3") == 4);
    CHECK(parameters.evaluate("ceil(nodes/3)") == 2);
    CHECK(parameters.evaluate("floor(nodes/3)") == 1);
    CHECK(parameters.evaluate("round(2.5)") == 3);
    CHECK(parameters.evaluate("min(nodes,3)") == 3);
    CHECK(parameters.evaluate("max(nodes,3,9)") == 9);
    CHECK(parameters.evaluate("nodes*factor") == 2);
    CHECK(parameters.evaluate("1e3") == 1000);
    parameters.set("nodes", "5");
    CHECK(parameters.evaluate("nodes*8") == 40);
}

TEST_CASE("Parameters: arithmetic that cannot be done says why", "[base][error]") {
    const Parameters parameters = typical();
    CHECK_THROWS_WITH(parameters.evaluate("2*nods"), "unknown parameter `nods` — did you mean `nodes`?");
    CHECK_THROWS_WITH(parameters.evaluate("2*bandwidth"),
                      "arithmetic takes plain numbers, and `bandwidth` is a rate (`400 Gb/s`)");
    CHECK_THROWS_WITH(parameters.evaluate("overlap+1"),
                      "arithmetic takes plain numbers, and `overlap` is a flag (`true`)");
    CHECK_THROWS_WITH(parameters.evaluate("1/(nodes-4)"), "`1/(nodes-4)` has no finite value");
    CHECK_THROWS_WITH(parameters.evaluate("10^999"), "`10^999` has no finite value");
    CHECK_THROWS_WITH(parameters.evaluate("nodes=3"),
                      "arithmetic has + - * / ^ %, comparisons, parentheses and min, max, ceil, floor, round, log2, "
                      "xor, got `=3`");
    CHECK_THROWS_WITH(parameters.evaluate("1,2"), "expected one expression, got `1,2`");
    CHECK_THROWS_WITH(parameters.evaluate("0x10"), "expected a plain number, an operator or a parameter, got `0x10`");
    for (const auto* const text :
         {"",      " ",      "(",       "2*",     "2**3",      "()",       "min()", "min(1",  "nodes nodes",
          "2 3",   "ceil 2", "min",     ")(",     "1..2",      "nodes(2)", "2(3)",  "sin(1)", "_pi",
          "a?b:c", "1<",     "nodes;1", "$nodes", "ceil(1,2)", "$(1)"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parameters.evaluate(text), std::invalid_argument);
    }
    CHECK_THROWS_AS(parameters.evaluate(std::string(2000, '(')), std::invalid_argument);
    CHECK_THROWS_AS(parameters.evaluate(std::string(900, '(')), std::invalid_argument);
}

TEST_CASE("parse_setting: splits at the first equals sign", "[base]") {
    const Setting plain = parse_setting("bandwidth=50 GB/s");
    CHECK(plain.scope.empty());
    CHECK(plain.name == "bandwidth");
    CHECK(plain.value == "50 GB/s");
    const Setting qualified = parse_setting(" topology.nodes = 4 ");
    CHECK(qualified.scope == "topology");
    CHECK(qualified.name == "nodes");
    CHECK(qualified.value == "4");
    CHECK(parse_setting("a=b=c").value == "b=c");
    CHECK(parse_setting("a=").value.empty());
    CHECK_THROWS_WITH(parse_setting("nodes"), "--set nodes: expected `name=value`");
    CHECK_THROWS_WITH(parse_setting("=4"), "--set =4: expected a name before `=`");
    CHECK_THROWS_WITH(parse_setting("topology.=4"), "--set topology.=4: expected a name before `=`");
    CHECK_THROWS_WITH(parse_setting(".nodes=4"), "--set .nodes=4: expected a name before the point");
    CHECK_THROWS_AS(parse_setting(""), InputError);
}

TEST_CASE("apply_settings: each setting goes to the file that declares it", "[base]") {
    Parameters topology;
    topology.declare(parameter("nodes", "4"));
    topology.declare(parameter("latency", "1 us"));
    Parameters workload;
    workload.declare(parameter("layers", "4"));
    workload.declare(parameter("latency", "2 us"));
    const std::array targets{SettingTarget{"topology", &topology}, SettingTarget{"workload", &workload}};
    const auto apply = [&](const std::vector<std::string>& texts) {
        std::vector<Setting> settings;
        for (const auto& text : texts) {
            settings.push_back(parse_setting(text));
        }
        apply_settings(settings, targets);
    };

    apply({"nodes=8", "layers=2", "workload.latency=3 us", "nodes=9"});
    CHECK(topology.value("nodes").text == "9");  // the later one wins
    CHECK(workload.value("layers").text == "2");
    CHECK(topology.value("latency").text == "1 us");
    CHECK(workload.value("latency").text == "3 us");

    CHECK_THROWS_WITH(apply({"latency=5 us"}),
                      "--set latency=5 us: both have it; say topology.latency or workload.latency");
    CHECK_THROWS_WITH(apply({"layer=5"}), "--set layer=5: unknown parameter `layer` — did you mean `layers`?");
    CHECK_THROWS_WITH(apply({"topology.layers=5"}),
                      "--set topology.layers=5: unknown parameter `layers`; known: nodes, latency");
    CHECK_THROWS_WITH(apply({"topolgy.nodes=5"}),
                      "--set topolgy.nodes=5: nothing is called `topolgy` here — did you mean `topology`?");
    CHECK_THROWS_WITH(apply({"nodes=x"}), "--set nodes=x: expected a whole number such as `4`, got `x`");
}

TEST_CASE("apply_settings: the order of the settings does not matter to followers", "[base]") {
    for (const bool reversed : {false, true}) {
        Parameters parameters = typical();
        const std::array targets{SettingTarget{"workload", &parameters}};
        std::vector<Setting> settings{parse_setting("gradient=300 MB"), parse_setting("bucket=150 MB")};
        if (reversed) {
            std::swap(settings[0], settings[1]);
        }
        apply_settings(settings, targets);
        CHECK(parameters.value("gradient").text == "300 MB");
        CHECK(parameters.value("bucket").text == "150 MB");
    }
}

TEST_CASE("Parameters: a huge setting is echoed in part", "[base][error]") {
    const std::string huge(100'000, '1');
    const auto length = [](const auto& action) {
        try {
            action();
        } catch (const InputError& error) {
            return std::string(error.what()).size();
        }
        return std::size_t{0};
    };
    Parameters parameters = typical();
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>{"nodes", huge}, {huge, "1"}, {"factor", huge}}) {
        CHECK(length([&] { parameters.set(name, value); }) > 0);
        CHECK(length([&] { parameters.set(name, value); }) < 1000);
    }
    CHECK(length([&] { parse_setting(huge); }) < 1000);
    // A number all right, but out of range.
    CHECK(length([&] { parameters.set("nodes", std::string(100'000, '0') + "99"); }) < 1000);
}

TEST_CASE("Parameters: a long chain of defaults follows its first, or where it is cut", "[base]") {
    // Not linear in the chain for each value, or this would take minutes.
    Parameters parameters;
    parameters.declare(parameter("p0", "4"));
    constexpr int last = 20'000;
    for (int i = 1; i <= last; ++i) {
        parameters.declare(parameter("p" + std::to_string(i), "$p" + std::to_string(i - 1)));
    }
    const std::string end = "p" + std::to_string(last);
    CHECK(parameters.value(end).text == "4");
    parameters.set("p0", "5");
    CHECK(parameters.value(end).text == "5");
    parameters.set("p10000", "6");
    CHECK(parameters.value("p9999").text == "5");
    CHECK(parameters.value(end).text == "6");
    CHECK(to_text(parameters.value(end).position) == "--set p10000=6");
    parameters.set("p0", "7");
    CHECK(parameters.value("p9999").text == "7");
    CHECK(parameters.value(end).text == "6");
}
