#include "sim/base/text_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/diagnostics.h"

using namespace lockstep;

namespace {

/// A folder of this test alone, gone at its end.
class Scratch {
  public:
    Scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        folder_ = pattern;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove_all(folder_); }

    std::filesystem::path file(const std::string& name, const std::string& content) const {
        std::ofstream(folder_ / name, std::ios::binary) << content;
        return folder_ / name;
    }
    const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("read_text_file: returns the bytes of a file as they are", "[base]") {
    const Scratch scratch;
    CHECK(read_text_file(scratch.file("a", "x: ä\r\n")) == "x: ä\r\n");
    CHECK(read_text_file(scratch.file("empty", "")).empty());
    std::filesystem::create_symlink("a", scratch.folder() / "link");
    CHECK(read_text_file(scratch.folder() / "link") == "x: ä\r\n");
}

TEST_CASE("read_text_file: what cannot be read says why", "[base][error]") {
    const Scratch scratch;
    const std::string folder = scratch.folder().string();
    CHECK_THROWS_WITH(read_text_file(folder + "/none.yaml"), folder + "/none.yaml: no such file");
    CHECK_THROWS_WITH(read_text_file(scratch.file("a", "x") / "b"), folder + "/a/b: no such file");
    CHECK_THROWS_WITH(read_text_file(folder), folder + ": is a directory; expected a file");
    CHECK_THROWS_WITH(read_text_file("/dev/zero"),
                      "/dev/zero: is a device, a pipe or a socket; expected a regular file");
    CHECK_THROWS_WITH(read_text_file(""), "expected the path of a file, got an empty one");
    // Opening a pipe that nobody writes to would wait for ever.
    REQUIRE(mkfifo((folder + "/pipe").c_str(), 0600) == 0);
    CHECK_THROWS_WITH(read_text_file(folder + "/pipe"),
                      folder + "/pipe: is a device, a pipe or a socket; expected a regular file");
    std::filesystem::create_symlink("loop", scratch.folder() / "loop");
    CHECK_THROWS_WITH(read_text_file(folder + "/loop"), Catch::StartsWith(folder + "/loop: cannot be read: "));
    std::filesystem::create_symlink("nowhere", scratch.folder() / "dangling");
    CHECK_THROWS_WITH(read_text_file(folder + "/dangling"), folder + "/dangling: no such file");
    CHECK_THROWS_AS(read_text_file(std::string(100'000, 'x')), InputError);
    if (geteuid() != 0) {  // root reads everything
        const auto locked = scratch.file("locked", "x");
        std::filesystem::permissions(locked, std::filesystem::perms::none);
        CHECK_THROWS_WITH(read_text_file(locked), folder + "/locked: cannot be opened: Permission denied");
    }
}

TEST_CASE("read_text_file: a file of 100 MB is refused", "[base][error]") {
    const Scratch scratch;
    const auto large = scratch.file("large", "x");
    std::filesystem::resize_file(large, 100'000'000);  // a hole: takes no space
    CHECK_THROWS_WITH(read_text_file(large), large.string() + ": is larger than 64 MiB, the most that is read");
}

TEST_CASE("require_text: binary content is refused at its position", "[base][error]") {
    using namespace std::string_literals;
    CHECK_THROWS_WITH(require_text("a: 1\nb\0"s, "f"),
                      "f:2:2: the file looks like a binary file (it holds a NUL byte); expected UTF-8 text");
    CHECK_THROWS_WITH(
        require_text("\x7f"
                     "ELF"s,
                     "f"),
        "f:1:1: the file looks like a binary file (it holds the control character 0x7f); expected UTF-8 text");
    CHECK_THROWS_WITH(require_text("ä\xff"s, "f"),
                      "f:1:2: the file looks like a binary file (byte 0xff is not UTF-8 here); expected UTF-8 text");
    CHECK_NOTHROW(require_text("tab\tcarriage\r\nä € 😀\n", "f"));
    CHECK_NOTHROW(require_text("", "f"));
}

TEST_CASE("require_text: follows the table of well-formed UTF-8", "[base][error]") {
    // Unicode, table 3-7: the last well-formed and the first ill-formed form of each row.
    for (const std::string text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
                                   "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        CAPTURE(text);
        CHECK_NOTHROW(require_text(text, "f"));
        CHECK_THROWS_AS(require_text(text.substr(0, text.size() - 1), "f"), InputError);  // cut short
    }
    for (const std::string text : {"\xC1\xBF", "\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                   "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2 ", "\xE2\x82 ", "\xF0\x9F\x98 "}) {
        CAPTURE(text);
        CHECK_THROWS_AS(require_text(text, "f"), InputError);
    }
}

TEST_CASE("one line: what a name may hold", "[base]") {
    for (const std::string text : {"", "ring", "a \"b\" <c> ]]>", "ä € 😀", "\xC2\xA0"}) {
        CAPTURE(text);
        CHECK(is_one_line(text));
        CHECK(as_one_line(text) == text);
    }
    // Two lines, a tab, an escape that colours the terminal, one of the C1 range, Latin-1, a sequence cut short.
    CHECK_FALSE(is_one_line("a\nb"));
    CHECK(as_one_line("a\nb\tc") == "a\uFFFDb\uFFFDc");
    CHECK(as_one_line("\x1b[31m") == "\uFFFD[31m");
    CHECK(as_one_line("\xC2\x9B") == "\uFFFD\uFFFD");
    CHECK(as_one_line("caf\xE9") == "caf\uFFFD");
    CHECK(as_one_line("\xE2\x82") == "\uFFFD\uFFFD");
}
