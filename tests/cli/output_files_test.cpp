#include <filesystem>
#include <string>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

namespace {

const std::string quick = "lockstep collective single-switch --set gpus=2 -b 1K -e 1K --algorithm ring ";
const std::string training = "lockstep run single-switch toy-ddp --set gpus=2 ";

}  // namespace

TEST_CASE("outputs: `--json -` leaves standard output to JSON alone", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run(training + "--json -");
    REQUIRE(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(Json::parse(outcome.out)["schema"] == "lockstep.run/1");
}

TEST_CASE("outputs: text still goes to standard output when JSON goes to a file", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run(training + "--json r.json --csv r.csv --trace t.json");
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("Step time"));
    CHECK(Json::parse(shell.read("r.json"))["ranks"] == 2);
    CHECK(Json::parse(shell.read("t.json")).contains("traceEvents"));
    CHECK_THAT(shell.read("r.csv"), Catch::StartsWith("topology,workload,"));
    CHECK(shell.file_count() == 3);
}

TEST_CASE("outputs: what cannot be written is refused before anything is simulated, and nothing is left",
          "[cli][error]") {
    const Shell shell;
    std::filesystem::create_directory(shell.folder() / "folder");
    const std::string flags =
        GENERATE("--json folder", "--json folder/", "--json nowhere/r.json", "--json ''", "--json - --csv -",
                 "--json r --csv r", "--json r --csv ./r", "--csv r.csv --json nowhere/r.json");
    CAPTURE(flags);
    const auto outcome = shell.run(quick + flags);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: "));
    CHECK(outcome.out.empty());
    CHECK(shell.file_count() == 1);
}

TEST_CASE("outputs: what is read is not replaced, whatever it is called", "[cli][error]") {
    const Shell shell;
    shell.write("two.yaml",
                "summary: Two GPUs\nnode: {count: 1, gpus: {count: 2, model: H100-SXM}, islands: "
                "[{kind: mesh, link: NVLink4}]}\n");
    shell.write("job.yaml", "summary: A job\nranks: 2\nbatch: 1\nnetwork: net.yaml\n");
    shell.write("net.yaml", "not read so far\n");
    shell.write("order", "node0.gpu1\nnode0.gpu0\n");
    shell.write("sizes", "0,8\n8,0\n");
    std::filesystem::create_symlink("two.yaml", shell.folder() / "soft.yaml");
    std::filesystem::create_hard_link(shell.folder() / "two.yaml", shell.folder() / "hard.yaml");
    const auto line =
        GENERATE(std::string("lockstep run two.yaml job.yaml --json two.yaml"),
                 std::string("lockstep run two.yaml job.yaml --csv job.yaml"),
                 std::string("lockstep run two.yaml job.yaml --trace ./net.yaml"),
                 std::string("lockstep run two.yaml job.yaml --placement order --csv order"),
                 std::string("lockstep run two.yaml job.yaml --json soft.yaml"),
                 std::string("lockstep run two.yaml job.yaml --json hard.yaml"),
                 std::string("lockstep run soft.yaml job.yaml --json two.yaml"),
                 std::string("lockstep collective two.yaml -b 1M -e 1M --csv two.yaml"),
                 std::string("lockstep collective two.yaml -b 1M -e 1M --placement order --json \"$PWD\"/order"),
                 std::string("lockstep collective two.yaml --op all_to_all_v --sizes sizes --json sizes"),
                 std::string("lockstep verify pairwise --ranks 2 --op all_to_all_v --sizes sizes --json sizes"),
                 std::string("lockstep explain pairwise --ranks 2 --op all_to_all_v --sizes sizes --html sizes"),
                 std::string("lockstep export pairwise --ranks 2 --op all_to_all_v --sizes sizes -o ./sizes"),
                 std::string("lockstep topology show two.yaml --json two.yaml"),
                 std::string("lockstep topology check two.yaml --json two.yaml"));
    CAPTURE(line);
    const auto contents = [&] {
        return shell.read("two.yaml") + shell.read("job.yaml") + shell.read("net.yaml") + shell.read("order") +
               shell.read("sizes");
    };
    const std::string before = contents();
    const auto outcome = shell.run(line);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("cannot write") && Catch::Contains("that is read"));
    CHECK(contents() == before);
    CHECK(shell.file_count() == 7);
}

TEST_CASE("outputs: an old result beside the files that are read is replaced", "[cli]") {
    const Shell shell;
    CHECK(shell.run(quick + "--json r.json && " + quick + "--json r.json").exit_code == 0);
    CHECK(shell.run("lockstep collective single-switch -b 1K -e 1K --json single-switch").exit_code == 0);
}

TEST_CASE("outputs: a simulation that fails leaves the old file", "[cli][error]") {
    const Shell shell;
    shell.write("r.json", "old");
    const auto outcome = shell.run(quick + "--ranks 3 --json r.json");
    CHECK(outcome.exit_code == 2);
    CHECK(shell.read("r.json") == "old");
    CHECK(shell.file_count() == 1);
}

TEST_CASE("outputs: a file that is replaced keeps its permissions, and a link stays a link", "[cli]") {
    const Shell shell;
    shell.write("real.json", "a long old text that must be gone");
    REQUIRE(shell.run("chmod 640 real.json && ln -s real.json link.json").exit_code == 0);
    CHECK(shell.run(quick + "--json link.json").exit_code == 0);
    CHECK(std::filesystem::is_symlink(shell.folder() / "link.json"));
    CHECK(Json::parse(shell.read("real.json"))["ranks"] == 2);
    struct stat status {};
    REQUIRE(::stat((shell.folder() / "real.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0640U);
}

TEST_CASE("outputs: a new file has the permissions of the umask", "[cli]") {
    const Shell shell;
    CHECK(shell.run("umask 022; " + quick + "--json r.json").exit_code == 0);
    struct stat status {};
    REQUIRE(::stat((shell.folder() / "r.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0644U);
}

TEST_CASE("outputs: pipes and devices are written in place", "[cli]") {
    const Shell shell;
    CHECK(shell.run(quick + "--json /dev/null --csv /dev/null").exit_code == 0);
    const auto outcome = shell.run("mkfifo pipe; cat pipe > copy & " + quick + "--json pipe; wait");
    CHECK(outcome.exit_code == 0);
    CHECK(Json::parse(shell.read("copy"))["ranks"] == 2);
    CHECK(std::filesystem::is_fifo(shell.folder() / "pipe"));
}

TEST_CASE("outputs: /dev/stdout is standard output", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run(quick + "--json /dev/stdout");
    CHECK(outcome.exit_code == 0);
    CHECK(Json::parse(outcome.out)["ranks"] == 2);
}

TEST_CASE("outputs: a standard output that takes nothing is an error", "[cli][error]") {
    const Shell shell;
    const std::string line = GENERATE(std::string("lockstep --help"), std::string("lockstep --version"),
                                      std::string("lockstep list engines"), quick, quick + "--json -", training);
    const std::string redirection = GENERATE(">/dev/full", ">&-");
    CAPTURE(line, redirection);
    const auto outcome = shell.run(line + " " + redirection);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("lockstep: error: cannot write"));
}

TEST_CASE("outputs: no file is replaced where another output takes nothing", "[cli][error]") {
    const Shell shell;
    shell.write("a.json", "old");
    const std::string flags =
        GENERATE("--json a.json >/dev/full", "--json a.json --csv new.csv >&-", "--json a.json --csv /dev/full",
                 "--json a.json --trace new.json --csv /dev/full", "--json - --csv a.json >/dev/full",
                 "--json a.json --csv /dev/fd/3 3>/dev/full");
    CAPTURE(flags);
    CHECK(shell.run(training + flags).exit_code == 1);
    CHECK(shell.read("a.json") == "old");
    CHECK(shell.file_count() == 1);
}

TEST_CASE("outputs: names of an open descriptor write to it, not over the file behind it", "[cli]") {
    const Shell shell;
    std::filesystem::create_symlink("/dev/stdout", shell.folder() / "link");
    const std::string name =
        GENERATE("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link", "./link");
    CAPTURE(name);
    // A file that replaced `out` would have another number, and what was there before would be gone.
    shell.write("out", "before\n");
    REQUIRE(shell.run("ls -i out > number").exit_code == 0);
    CHECK(shell.run(quick + "--json " + name + " >> out").exit_code == 0);
    CHECK(shell.run("ls -i out | cmp - number").exit_code == 0);
    const std::string text = shell.read("out");
    REQUIRE_THAT(text, Catch::StartsWith("before\n{"));
    CHECK(Json::parse(text.substr(7))["ranks"] == 2);
}

TEST_CASE("outputs: other descriptors are written to, and refused where they are not open for it", "[cli]") {
    const Shell shell;
    CHECK(shell.run(quick + "--json /dev/fd/3 3>r.json").exit_code == 0);
    CHECK(Json::parse(shell.read("r.json"))["ranks"] == 2);
    CHECK(Json::parse(shell.run("exec 4>>copy; " + quick + "--json /dev/fd/4 >/dev/null; cat copy").out)["ranks"] == 2);
    CHECK(shell.run(quick + "--json /dev/stderr").exit_code == 0);
    for (const std::string flags : {"--json /dev/fd/7", "--json /dev/fd/3 3<r.json"}) {
        CAPTURE(flags);
        const auto outcome = shell.run(quick + flags);
        CHECK(outcome.exit_code == 2);
        CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: cannot write `/dev/fd/"));
    }
}

TEST_CASE("outputs: what a standard stream goes to is no target beside it", "[cli][error]") {
    const Shell shell;
    const std::string flags =
        GENERATE("--json a.json >a.json", "--json ./a.json >>a.json", "--json a.json --csv - >a.json",
                 "--json /dev/stdout --csv a.json >a.json", "--json a.json 2>a.json",
                 "--json /dev/fd/1 --csv /dev/stdout", "--json - --csv /proc/self/fd/1", "--json /dev/fd/3 3>x >x",
                 "--json /dev/fd/3 --csv a.json 3>a.json", "--json /dev/stderr >x 2>&1");
    CAPTURE(flags);
    CHECK(shell.run(quick + flags).exit_code == 2);
}

TEST_CASE("outputs: a link that leads nowhere makes its target, and one in a circle is refused", "[cli]") {
    const Shell shell;
    std::filesystem::create_directory(shell.folder() / "sub");
    std::filesystem::create_symlink("sub/new.json", shell.folder() / "dangling");
    std::filesystem::create_symlink("dangling", shell.folder() / "second");
    std::filesystem::create_symlink("loop", shell.folder() / "loop");
    std::filesystem::create_symlink("pong", shell.folder() / "ping");
    std::filesystem::create_symlink("ping", shell.folder() / "pong");
    std::filesystem::create_symlink("nowhere/new.json", shell.folder() / "lost");
    CHECK(shell.run(quick + "--json second --csv sub/new.json").exit_code == 2);
    CHECK(shell.run(quick + "--json second").exit_code == 0);
    CHECK(std::filesystem::is_symlink(shell.folder() / "dangling"));
    CHECK(std::filesystem::is_symlink(shell.folder() / "second"));
    CHECK(Json::parse(shell.read("sub/new.json"))["ranks"] == 2);
    for (const std::string name : {"loop", "ping", "lost", "loop/r.json"}) {
        CAPTURE(name);
        const auto outcome = shell.run(quick + "--json " + name);
        CHECK(outcome.exit_code == 2);
        CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: cannot write `" + name + "`"));
        CHECK(std::filesystem::is_symlink(shell.folder() / name.substr(0, 4)));
    }
}

TEST_CASE("outputs: errors keep their exit codes where standard error takes nothing", "[cli][error]") {
    const Shell shell;
    const std::string redirection = GENERATE("2>/dev/full", "2>&-", "<&- 2>&-");
    CAPTURE(redirection);
    CHECK(shell.run("lockstep collective foo " + redirection).exit_code == 2);
    CHECK(shell.run("lockstep nothing " + redirection).exit_code == 2);
    CHECK(shell.run(training + ">/dev/full " + redirection).exit_code == 1);
    CHECK(shell.run(training + "--json r.json <&- >&- " + redirection).exit_code == 1);
    CHECK(shell.file_count() == 0);
    CHECK(shell.run(training + "--json r.json --csv - >/dev/null " + redirection).exit_code == 0);
    CHECK(Json::parse(shell.read("r.json"))["ranks"] == 2);
}

TEST_CASE("outputs: a write that fails half-way leaves the old files and no temporaries", "[cli][error]") {
    const Shell shell;
    shell.write("r.csv", "old");
    shell.write("t.json", "old");
    // The CSV takes about 1.1 kB; the trace meets the limit of four blocks of 512 bytes a file.
    const auto outcome = shell.run("ulimit -f 4; " + training + "--csv r.csv --trace t.json >/dev/null");
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Catch::Contains("lockstep: error: cannot write `t.json`"));
    CHECK(shell.read("r.csv") == "old");
    CHECK(shell.read("t.json") == "old");
    CHECK(shell.file_count() == 2);
}

TEST_CASE("outputs: files do not take the place of closed standard streams", "[cli]") {
    const Shell shell;
    CHECK(shell.run(quick + "--json r.json <&- 2>&-").exit_code == 0);
    CHECK(Json::parse(shell.read("r.json"))["ranks"] == 2);
}

TEST_CASE("outputs: a reader that goes away ends the program without a word", "[cli]") {
    const Shell shell;
    const auto outcome = shell.run("{ " + quick + "; echo $? >code; } | true; cat code");
    CHECK(outcome.err.empty());
    CHECK(outcome.exit_code == 0);
}

TEST_CASE("outputs: --reproducible gives the same bytes every time", "[cli]") {
    const Shell shell;
    const std::string line = GENERATE(quick, training) + "--reproducible --json -";
    const auto first = shell.run(line);
    REQUIRE(first.exit_code == 0);
    CHECK(first.out == shell.run(line).out);
}

TEST_CASE("outputs: two runs differ in wall clock and memory only", "[cli]") {
    const Shell shell;
    const std::string line = GENERATE(quick, training) + "--json -";
    Json first = Json::parse(shell.run(line).out);
    Json second = Json::parse(shell.run(line).out);
    for (Json* const json : {&first, &second}) {
        CHECK((*json)["simulator"].erase("wall_s") == 1);
        CHECK((*json)["simulator"].erase("peak_rss_bytes") == 1);
    }
    CHECK(first == second);
}
