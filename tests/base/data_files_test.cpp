#include "sim/base/data_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

/// A tree with the shipped folders and a few names, gone at the end of the test.
class Tree {
  public:
    Tree() {
        std::string pattern = (fs::temp_directory_path() / "lockstep-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        for (const auto* const folder : {"topologies", "models/devices", "workloads"}) {
            fs::create_directories(root_ / folder);
        }
        for (const auto* const name : {"pod10.yaml", "pod2.yaml", "dgx-h100.yaml", "notes.txt"}) {
            std::ofstream(root_ / "topologies" / name) << "x: 1\n";
        }
        std::ofstream(root_ / "models/devices/h100.yaml") << "x: 1\n";
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { fs::remove_all(root_); }
    const fs::path& root() const { return root_; }

  private:
    fs::path root_;
};

}  // namespace

TEST_CASE("natural_less: digits count as numbers", "[base]") {
    CHECK(natural_less("gpu2", "gpu10"));
    CHECK_FALSE(natural_less("gpu10", "gpu2"));
    CHECK(natural_less("node1/gpu9", "node1/gpu10"));
    CHECK(natural_less("node2/gpu0", "node10/gpu0"));
    CHECK(natural_less("a", "b"));
    CHECK(natural_less("gpu", "gpu0"));
    CHECK(natural_less("", "a"));
    CHECK_FALSE(natural_less("a", "a"));
    CHECK(natural_less("a99999999999999999999998", "a99999999999999999999999"));  // past 64 bits
    CHECK(natural_less("x0", "x1"));
    CHECK(natural_less("1.9", "1.10"));
}

TEST_CASE("natural_less: is a strict total order", "[base]") {
    std::vector<std::string> words{"",    "0",    "00",    "a",    "a0",  "a00", "a01",  "a1",   "a1b", "a01b",
                                   "a10", "a2",   "a2b10", "a2b9", "b",   "ab",  "a-1",  "a_1",  "1a",  "1",
                                   "10",  "01a1", "1a01",  "1a1",  "a1a", "ä",   "a0b0", "a00b", "a0b", "a0b00"};
    for (const auto& a : words) {
        for (const auto& b : words) {
            CAPTURE(a, b);
            CHECK((natural_less(a, b) + natural_less(b, a)) == (a == b ? 0 : 1));
            for (const auto& c : words) {
                CAPTURE(c);
                CHECK((!natural_less(a, b) || !natural_less(b, c) || natural_less(a, c)));
            }
        }
    }
}

TEST_CASE("DataFiles: lists shipped names in natural order", "[base]") {
    const Tree tree;
    const DataFiles files(tree.root());
    CHECK(files.names("topologies") == std::vector<std::string>{"dgx-h100", "pod2", "pod10"});
    CHECK(files.names("models/devices") == std::vector<std::string>{"h100"});
    CHECK(files.names("workloads").empty());
    CHECK_THROWS_WITH(files.names("recipes"),
                      (tree.root() / "recipes").string() + ": cannot be listed: No such file or directory");
}

TEST_CASE("DataFiles: a name leads to the shipped file and a path to itself", "[base]") {
    const Tree tree;
    const DataFiles files(tree.root());
    CHECK(files.resolve("topologies", "pod2") == tree.root() / "topologies/pod2.yaml");
    CHECK(files.resolve("models/devices", "h100") == tree.root() / "models/devices/h100.yaml");
    CHECK(files.resolve("topologies", "my.yaml") == "my.yaml");
    CHECK(files.resolve("topologies", "./pod2") == "./pod2");
    CHECK(files.resolve("topologies", "/tmp/x") == "/tmp/x");
    // A file of the user's wins over a shipped name, a folder does not.
    const fs::path before = fs::current_path();
    fs::current_path(tree.root());
    std::ofstream(tree.root() / "pod10") << "x: 1\n";
    fs::create_directory(tree.root() / "pod2");
    CHECK(files.resolve("topologies", "pod10") == "pod10");
    CHECK(files.resolve("topologies", "pod2") == tree.root() / "topologies/pod2.yaml");
    fs::current_path(before);
}

TEST_CASE("DataFiles: an unknown name suggests the nearest", "[base][error]") {
    const Tree tree;
    const DataFiles files(tree.root());
    CHECK_THROWS_WITH(files.resolve("topologies", "dgx-h10"),
                      "`dgx-h10`: neither a file nor one of the shipped topologies — did you mean `dgx-h100`?");
    CHECK_THROWS_WITH(files.resolve("topologies", "zebra"),
                      "`zebra`: neither a file nor one of the shipped topologies; known: dgx-h100, pod2, pod10");
    CHECK_THROWS_AS(files.resolve("topologies", ""), InputError);
    CHECK_THROWS_AS(files.resolve("topologies", "notes.txt"), InputError);
}

TEST_CASE("DataFiles: a folder without the data is refused", "[base][error]") {
    const Tree tree;
    fs::remove(tree.root() / "workloads");
    CHECK_THROWS_WITH(
        DataFiles(tree.root()),
        tree.root().string() + ": expected the folder with Lockstep's data, but it has no folder `workloads`");
    CHECK_THROWS_AS(DataFiles("/nowhere"), InputError);
}

TEST_CASE("DataFiles: locate finds the source tree, unless LOCKSTEP_DATA says otherwise", "[base]") {
    // Each test case runs in its own process under ctest; the variable is put back for runs of the whole program.
    unsetenv("LOCKSTEP_DATA");
    CHECK(fs::equivalent(DataFiles::locate().root(), LOCKSTEP_SOURCE_DIR));
    const Tree tree;
    setenv("LOCKSTEP_DATA", tree.root().c_str(), 1);
    CHECK(DataFiles::locate().root() == tree.root());
    setenv("LOCKSTEP_DATA", "/nowhere", 1);
    CHECK_THROWS_WITH(DataFiles::locate(),
                      "LOCKSTEP_DATA: /nowhere: expected the folder with Lockstep's data, but it has no "
                      "folder `topologies`");
    setenv("LOCKSTEP_DATA", "", 1);
    CHECK(fs::equivalent(DataFiles::locate().root(), LOCKSTEP_SOURCE_DIR));
    unsetenv("LOCKSTEP_DATA");
}
