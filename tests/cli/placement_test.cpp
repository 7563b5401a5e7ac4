#include <string>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

namespace {

const std::string on_four_gpus = "lockstep collective single-switch --set gpus=4 -b 1M -e 1M ";

}  // namespace

TEST_CASE("placement: what is shown can be given back", "[cli]") {
    const Shell shell;
    REQUIRE(shell.run(on_four_gpus + "--show-placement --ranks 3 > placement").exit_code == 0);
    const auto given = shell.run(on_four_gpus + "--placement placement --reproducible --json -");
    const auto standard = shell.run(on_four_gpus + "--ranks 3 --reproducible --json -");
    CHECK(given.exit_code == 0);
    CHECK(given.out == standard.out);
    CHECK(Json::parse(given.out)["ranks"] == 3);
}

TEST_CASE("placement: lines that place no GPU say where they stand", "[cli][error]") {
    const Shell shell;
    const auto shown = shell.run(on_four_gpus + "--show-placement");
    const std::string name = shown.out.substr(0, shown.out.find(' '));
    const auto refused = [&](const std::string& text) {
        shell.write("placement", text);
        const auto outcome = shell.run(on_four_gpus + "--placement placement");
        CHECK(outcome.exit_code == 2);
        return outcome.err;
    };
    CHECK_THAT(refused("# mine\n\n" + name + "\nnobody\n"),
               Catch::Contains("placement:4:1: ") && Catch::Contains("`nobody`"));
    CHECK_THAT(refused(name + "\n" + name + "\n"), Catch::Contains("placement:2:1: "));
    CHECK_THAT(refused("\xEF\xBB\xBF \t nobody # here\n"), Catch::Contains("placement:1:4: "));
    CHECK_THAT(refused(name.substr(0, name.size() - 1) + "\n"), Catch::Contains(name));
    CHECK_THAT(refused("# nothing\n"), Catch::Contains("placement: "));
}

TEST_CASE("placement: a file that disagrees with --ranks is refused with both numbers", "[cli][error]") {
    const Shell shell;
    REQUIRE(shell.run(on_four_gpus + "--show-placement > placement").exit_code == 0);
    const auto outcome = shell.run(on_four_gpus + "--placement placement --ranks 2");
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("4") && Catch::Contains("2"));
}

TEST_CASE("placement: a training job takes one too", "[cli]") {
    const Shell shell;
    REQUIRE(shell.run(on_four_gpus + "--show-placement | sort -r > placement").exit_code == 0);
    const auto outcome = shell.run("lockstep run single-switch toy-ddp --set gpus=4 --placement placement --json -");
    CHECK(outcome.exit_code == 0);
    CHECK(Json::parse(outcome.out)["ranks"] == 4);
    const auto too_few = shell.run(
        "head -2 placement > two; lockstep run single-switch toy-ddp --set gpus=4 --set ranks=4 --placement two");
    CHECK(too_few.exit_code == 2);
}

TEST_CASE("placement: a byte order mark and the line ends of Windows are taken", "[cli]") {
    const Shell shell;
    REQUIRE(shell.run(on_four_gpus + "--show-placement > plain").exit_code == 0);
    REQUIRE(shell.run("printf '\\357\\273\\277' > marked && sed 's/$/\\r/' plain >> marked").exit_code == 0);
    const std::string flags = "--reproducible --json - --placement ";
    const auto marked = shell.run(on_four_gpus + flags + "marked");
    INFO(marked.err);
    CHECK(marked.exit_code == 0);
    CHECK(marked.out == shell.run(on_four_gpus + flags + "plain").out);
}

TEST_CASE("placement: what is only shown writes no result, and says so", "[cli][error]") {
    const Shell shell;
    const std::string flag = GENERATE("--json", "--csv");
    const auto outcome = shell.run(on_four_gpus + "--show-placement " + flag + " r");
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("--show-placement") && Catch::Contains(flag));
    CHECK(shell.file_count() == 0);
}
