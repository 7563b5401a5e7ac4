#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

namespace {

const std::string collective = "lockstep collective single-switch --set gpus=4 --quiet ";

std::vector<std::int64_t> sizes_of(const std::string& flags) {
    const Shell shell;
    const auto outcome = shell.run(collective + flags + " --json -");
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    std::vector<std::int64_t> sizes;
    const Json json = Json::parse(outcome.out);
    for (const Json& row : json["rows"]) {
        sizes.push_back(row["size_bytes"].get<std::int64_t>());
    }
    return sizes;
}

using Sizes = std::vector<std::int64_t>;

/// Two nodes of four GPUs with two NICs each, which hang on gpu0 and gpu2: no other GPU has a way out of its node, as
/// GPUs do not relay.
constexpr std::string_view few_nics = R"(summary: GPUs without a NIC of their own
node:
  count: 2
  gpus: {count: 4, model: H100-SXM}
  islands:
    - {kind: switched, switch: NVSwitch3, planes: 2, link: {model: NVLink4, cables: 18}}
  nics: {count: 2, model: ConnectX-7, on: gpu, link: PCIe5-x16}
fabric: {kind: single-switch, switch: QM9700, link: NDR}
)";

/// Two nodes that nothing joins.
constexpr std::string_view apart = R"(summary: Two islands
node:
  count: 2
  gpus: {count: 2, model: H100-SXM}
  islands:
    - {kind: switched, switch: NVSwitch3, link: {model: NVLink4, cables: 18}}
)";

}  // namespace

TEST_CASE("collective: -b, -e, -f and -i mean what they mean to nccl-tests", "[cli]") {
    const std::int64_t mebi = 1 << 20;
    CHECK(sizes_of("-b 1M -e 8M -f 2") == Sizes{mebi, 2 * mebi, 4 * mebi, 8 * mebi});
    CHECK(sizes_of("-b 1M -e 10M -f 3") == Sizes{mebi, 3 * mebi, 9 * mebi});
    CHECK(sizes_of("-b 1M -e 3M -i 1M") == Sizes{mebi, 2 * mebi, 3 * mebi});
    CHECK(sizes_of("--minbytes 100MB --maxbytes 100MB") == Sizes{100'000'000});
    CHECK(sizes_of("-b 0 -e 0") == Sizes{0});
    CHECK(sizes_of("-b 0 -e 16 -i 8") == Sizes{0, 8, 16});
}

TEST_CASE("collective: goes from 8 B to 128 MiB in powers of two if nothing is said", "[cli]") {
    const Sizes sizes = sizes_of("");
    REQUIRE(sizes.size() == 25);
    CHECK(sizes.front() == 8);
    CHECK(sizes.back() == 128 << 20);
}

TEST_CASE("collective: a permutation is drawn from the seed", "[cli]") {
    const Shell shell;
    const auto outcome_of = [&](const std::string& flags) {
        return shell.run(
            "lockstep collective fat-tree --set gpus=64 --set oversubscription=2 --set routing=ecmp --quiet "
            "--op permutation -b 1M -e 1M " +
            flags);
    };
    CHECK(outcome_of("--seed 2").out == outcome_of("--seed 2").out);
    CHECK(outcome_of("--seed 2").out != outcome_of("--seed 3").out);
    CHECK(Json::parse(outcome_of("--messages 20 --json -").out)["rows"][0]["messages"] == 64 * 20);
    CHECK(outcome_of("--messages 0").err ==
          "lockstep: error: --messages: expected a whole number from 1 to 1000000, got `0`\n");
    CHECK(
        outcome_of("--set gpus=2000 --set radix=64 --messages 1000000").err ==
        "lockstep: error: --messages: 1000000 from each of 2000 ranks are more than 100000000, of which each needs its "
        "place\n");
    CHECK(shell.run(collective + "--messages 2").err == "lockstep: error: --messages is for --op permutation only\n");
    CHECK(shell.run("lockstep export direct --op permutation --ranks 4").err ==
          "lockstep: error: the partners of a permutation are drawn from a seed and have no place in a file\n");
}

TEST_CASE("collective: sizes that make no sense are refused", "[cli][error]") {
    const Shell shell;
    const std::string flags =
        GENERATE("-b 8M -e 1M", "-f 1", "-f 0", "-f -2", "-f 1.5", "-i 0", "-i 8 -f 2", "-b 0 -e 8", "-b 8 -e 8G -i 8",
                 "-b eight", "-b 1.5", "-b -8", "-b 1e30", "-e 99999999999999G");
    CAPTURE(flags);
    const auto outcome = shell.run(collective + flags);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: "));
    CHECK(outcome.out.empty());
}

TEST_CASE("collective: ranks and root have to be there", "[cli][error]") {
    const Shell shell;
    const std::string flags = GENERATE("--ranks 0", "--ranks 5", "--ranks -1", "--ranks 2.0", "--ranks ''",
                                       "--op broadcast --root 4", "--op broadcast --ranks 2 --root 2");
    CAPTURE(flags);
    const auto outcome = shell.run(collective + flags);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("--r"));
}

TEST_CASE("collective: one row per size and algorithm", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run(collective + "-b 1M -e 2M --algorithm ring,direct --json -");
    REQUIRE(outcome.exit_code == 0);
    const Json json = Json::parse(outcome.out);
    const Json& rows = json["rows"];
    REQUIRE(rows.size() == 4);
    CHECK(rows[0]["algorithm"] == "ring");
    CHECK(rows[1]["algorithm"] == "direct");
    CHECK(rows[3]["size_bytes"] == 2 << 20);
}

TEST_CASE("collective: `all` runs what can run and says what cannot", "[cli]") {
    const Shell shell;
    // No switch here can add up.
    const auto outcome = shell.run("lockstep collective single-switch --set gpus=6 -b 1M -e 1M --algorithm all");
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("ring") && Catch::Contains("left out: "));
}

TEST_CASE("collective: `all` leaves out what fails while it runs, and names it", "[cli]") {
    const Shell shell;
    shell.write("few.yaml", few_nics);
    const std::string line = "lockstep collective few.yaml -b 1M -e 2M --algorithm ";
    const auto alone = shell.run(line + "direct");
    REQUIRE(alone.exit_code == 2);
    REQUIRE_THAT(alone.err, Catch::Contains("no path"));
    const auto outcome = shell.run(line + "all --json -");
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const Json json = Json::parse(outcome.out);
    std::set<std::string> names;
    for (const Json& row : json["rows"]) {
        names.insert(row["algorithm"].get<std::string>());
    }
    CHECK(names.count("direct") == 0);
    CHECK(names.count("ring") == 1);  // can enter and leave each node by the GPUs with NICs
    CHECK_THAT(json["notes"].dump(), Catch::Contains("direct") && Catch::Contains("no path"));
}

TEST_CASE("collective: a note that does not hold at all sizes says at which", "[cli]") {
    const Shell shell;
    shell.write("few.yaml", few_nics);
    // Nothing is sent at size 0, so nothing fails.
    const auto outcome = shell.run("lockstep collective few.yaml -b 0 -e 16 -i 8 --algorithm all");
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("# left out at 8 B to 16 B: direct") && Catch::Contains(": no path") &&
                                Catch::Contains("# left out: nvls: "));
}

TEST_CASE("collective: an algorithm of several that fails is named", "[cli][error]") {
    const Shell shell;
    shell.write("few.yaml", few_nics);
    const auto outcome = shell.run("lockstep collective few.yaml -b 1M -e 1M --algorithm ring,direct");
    CHECK(outcome.exit_code == 2);  // as for any that is asked for by name where it cannot serve
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: --algorithm direct: no path"));
}

TEST_CASE("collective: every note of `all` names the algorithms that it concerns", "[cli]") {
    const Shell shell;
    // Eight GPUs in a mesh that do not relay: gpu0 has no link to gpu5, so what talks to far ranks cannot run.
    const auto outcome = shell.run("lockstep collective dgx-1-v100 -b 1M -e 2M --algorithm all --json -");
    REQUIRE(outcome.exit_code == 0);
    const Json json = Json::parse(outcome.out);
    const auto notes = json["notes"].get<std::vector<std::string>>();
    REQUIRE_FALSE(notes.empty());
    CHECK_THAT(notes.front(),
               Catch::StartsWith("left out: direct, halving-doubling, ") && Catch::Contains(": no path leads from "));
    for (const std::string& note : notes) {
        CHECK_THAT(note, Catch::Matches("left out: [a-z-]+(, [a-z-]+)*: .+"));
    }
}

TEST_CASE("collective: `auto` with nothing that can run is no bad usage, a name is", "[cli][error]") {
    const Shell shell;
    shell.write("apart.yaml", apart);
    CHECK(shell.run("lockstep collective apart.yaml -b 1M -e 1M --algorithm auto").exit_code == 1);
    CHECK(shell.run("lockstep collective apart.yaml -b 1M -e 1M --algorithm ring").exit_code == 2);
    CHECK(shell.run("lockstep collective apart.yaml -b 1M -e 1M --algorithm nvls").exit_code == 2);
}

TEST_CASE("collective: `all` with nothing that can run says of each algorithm why", "[cli][error]") {
    const Shell shell;
    shell.write("apart.yaml", apart);
    const auto outcome = shell.run("lockstep collective apart.yaml -b 1M -e 1M --algorithm all");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("ring") && Catch::Contains("tree") && Catch::Contains("direct"));
}

TEST_CASE("csv: every column is documented, and tells runs apart that were made otherwise", "[cli][docs]") {
    const Shell shell;
    const std::string line = GENERATE(std::string("lockstep run single-switch toy-ddp --set gpus=2 "),
                                      collective + "-b 1M -e 1M --algorithm ring ");
    CAPTURE(line);
    const std::string csv = shell.run(line + "--csv -").out;
    std::ifstream page(LOCKSTEP_JSON_PAGE);
    const std::string text{std::istreambuf_iterator<char>(page), {}};
    const std::string documented = text.substr(text.find("\n## CSV"));
    std::istringstream names(csv.substr(0, csv.find('\n')));
    for (std::string name; std::getline(names, name, ',');) {
        CAPTURE(name);
        CHECK_THAT(documented, Catch::Contains("`" + name + "`"));
    }
    for (const std::string flags : {"--seed 2", "--routing ecmp", "--set bandwidth=50000MB/s"}) {
        CAPTURE(flags);
        const auto other = shell.run(line + flags + " --csv -");
        CHECK(other.exit_code == 0);
        CHECK(other.out != csv);
    }
}

TEST_CASE("collective: --csv has a line of names and a row per size", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run(collective + "-b 1M -e 4M --algorithm ring --csv -");
    REQUIRE(outcome.exit_code == 0);
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 4);
    CHECK_THAT(outcome.out, Catch::StartsWith("topology,"));
}

TEST_CASE("collective: prints the same on one core and on all", "[cli]") {
    const Shell shell;
    const std::string table = "lockstep collective dgx-h100 --set nodes=2 --algorithm all -b 1K -e 4M -f 4 --csv -";
    const auto all = shell.run(table);
    REQUIRE(all.exit_code == 0);
    CHECK(all.out == shell.run("taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[,-].*//') " + table).out);
    // What goes wrong at several sizes is told of the first.
    const auto wrong = shell.run("lockstep collective dgx-h100 --algorithm swing --ranks 6 -b 1K -e 4M -f 2");
    CHECK(wrong.err == shell.run("lockstep collective dgx-h100 --algorithm swing --ranks 6 -b 1K -e 1K").err);
}
