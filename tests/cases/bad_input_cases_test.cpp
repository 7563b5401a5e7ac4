#include <filesystem>
#include <fstream>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>

using lockstep::test::run_command;
using lockstep::test::Shell;
using lockstep::test::written;

namespace {

/// Two GPUs on a switch, with one line of the file given.
std::string pair_with(const std::string& link) {
    return "summary: a pair\n"
           "vertices:\n"
           "  - {name: hub, kind: switch}\n"
           "  - {name: gpu0, kind: gpu}\n"
           "  - {name: gpu1, kind: gpu}\n"
           "links:\n"
           "  - {between: [gpu0, hub], bandwidth: 100 Gb/s, latency: 1 us}\n"
           "  - " +
           link + "\n";
}

/// Loads the text as a topology, as each command would. Returns: what stood on standard error.
std::string refused(const std::string& text) {
    const Shell shell;
    const auto file = written(shell, "bad.yaml", text);
    const auto outcome = run_command({"collective", file, "-b", "8", "-e", "8"});
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
}

}  // namespace

TEST_CASE("case: a well-formed pair loads", "[cases]") {
    const Shell shell;
    const auto file =
        written(shell, "good.yaml", pair_with("{between: [gpu1, hub], bandwidth: 100 Gb/s, latency: 1 us}"));
    CHECK(run_command({"collective", file, "-b", "8", "-e", "8"}).exit_code == 0);
}

TEST_CASE("case: misspelt keys and bad quantities say where, what and what instead", "[cases]") {
    const auto link = [](const std::string& bandwidth) {
        return pair_with("{between: [gpu1, hub], " + bandwidth + ", latency: 1 us}");
    };
    CHECK_THAT(refused(link("bandwith: 100 Gb/s")), Catch::Contains("bad.yaml:8:") && Catch::Contains("`bandwith`") &&
                                                        Catch::Contains("did you mean `bandwidth`"));
    CHECK_THAT(refused(link("bandwidth: 400")),
               Catch::Contains("bad.yaml:8:") && Catch::Contains("`400`") && Catch::Contains("Gb/s"));
    CHECK_THAT(refused(link("bandwidth: -400 GB/s")), Catch::Contains("bad.yaml:8:") && Catch::Contains("`-400 GB/s`"));
    CHECK_THAT(refused(link("bandwidth: nan")), Catch::Contains("bad.yaml:8:") && Catch::Contains("`nan`"));
    CHECK_THAT(refused(link("bandwidth: inf GB/s")), Catch::Contains("bad.yaml:8:"));
    CHECK_THAT(refused(link("bandwidth: 0 GB/s")), Catch::Contains("bad.yaml:8:"));
    CHECK_THAT(refused(link("bandwidth: 1e300 GB/s")), Catch::Contains("bad.yaml:8:"));
    CHECK_THAT(refused(link("bandwidth: 100 Gb/s, bandwidth: 200 Gb/s")), Catch::Contains("bad.yaml:8:"));
}

TEST_CASE("case: a command that cannot work names the nearest one", "[cases]") {
    const auto refused_as = [](const std::vector<std::string>& arguments, const std::string& word) {
        const auto outcome = run_command(arguments);
        CAPTURE(arguments);
        CHECK(outcome.exit_code == 2);
        CHECK_THAT(outcome.err, Catch::Contains(word));
    };
    refused_as({"collective", "dgx-h10"}, "dgx-h100");
    refused_as({"collective", "dgx-h100", "--algorithm", "rng"}, "ring");
    refused_as({"collective", "dgx-h100", "--op", "allreduce"}, "all_reduce");
    refused_as({"collective", "dgx-h100", "--engine", "fluidd"}, "fluid");
    refused_as({"collective", "dgx-h100", "--routing", "spry"}, "spray");
    refused_as({"collective", "dgx-h100", "--set", "node=2"}, "nodes");
    refused_as({"collective", "dgx-h100", "--set", "nodes=two"}, "two");
    refused_as({"collective", "dgx-h100", "--set", "nodes=0"}, "nodes");
    refused_as({"run", "dgx-h100", "gpt2-ddp"}, "gpt2-xl-ddp");
    refused_as({"collective", "dgx-h100", "-b", "8G", "-e", "8"}, "8");
}

TEST_CASE("case: files that are none are refused, each for its own reason", "[cases]") {
    const Shell shell;
    const auto reason = [&](const std::string& path) {
        const auto outcome = run_command({"topology", "show", path});
        CAPTURE(path);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK_THAT(reason(written(shell, "empty.yaml", "")), Catch::Contains("empty"));
    CHECK_THAT(reason(shell.folder().string()), Catch::Contains("director"));
    CHECK_THAT(reason(written(shell, "binary.yaml",
                              std::string("\x7f"
                                          "ELF\x00\x01\xff\xfe",
                                          8))),
               Catch::Contains("binary"));
    CHECK_THAT(reason("nowhere/none.yaml"), Catch::Contains("none.yaml"));
    CHECK_THAT(reason(written(shell, "itself.yaml", "summary: &all\n  - *all\n")), Catch::Contains("itself.yaml:2:"));
    CHECK_THAT(reason(written(shell, "include.yaml", "summary: x\ninclude: include.yaml\n")),
               Catch::Contains("`include`"));
    CHECK_THAT(reason(written(shell, "open.yaml", "summary: [")), Catch::Contains("open.yaml:"));
    const auto large = written(shell, "large.yaml", "");
    std::filesystem::resize_file(large, 100'000'000);
    CHECK_THAT(reason(large), Catch::Contains("MB") || Catch::Contains("MiB"));
}

TEST_CASE("case: results are written whole or not at all", "[cases]") {
    const Shell shell;
    const auto file = written(shell, "result.json", "old");
    const auto outcome =
        run_command({"collective", "dgx-1-v100", "--op", "all_to_all", "--algorithm", "direct", "--json", file});
    CHECK(outcome.exit_code == 2);
    std::string text;
    std::ifstream(file) >> text;
    CHECK(text == "old");
    CHECK(run_command({"collective", "single-switch", "--json", shell.folder().string()}).exit_code != 0);
    const auto left =
        std::distance(std::filesystem::directory_iterator(shell.folder()), std::filesystem::directory_iterator{});
    CHECK(left == 1);
    CHECK(run_command({"collective", "single-switch", "--json", file}).exit_code == 0);
    std::ifstream(file) >> text;
    CHECK(text != "old");
}
