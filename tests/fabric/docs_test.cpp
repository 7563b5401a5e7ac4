#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fabric/load_text.h"
#include "tests/fabric/scratch_data.h"
#include <catch2/catch.hpp>

#include "sim/fabric/catalogue.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

/// The fenced blocks of YAML in docs/topology-yaml.md.
std::vector<std::string> documented_examples() {
    std::ifstream file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "docs" / "topology-yaml.md");
    std::vector<std::string> blocks;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line == "```yaml") {
            inside = true;
            blocks.emplace_back();
        } else if (line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + "\n";
        }
    }
    return blocks;
}

}  // namespace

TEST_CASE("docs/topology-yaml.md: every example loads", "[fabric]") {
    std::size_t topologies = 0;
    std::size_t catalogues = 0;
    for (const std::string& text : documented_examples()) {
        CAPTURE(text);
        if (text.starts_with("summary:")) {
            ++topologies;
            CHECK_NOTHROW(load_text(text));
        } else {
            ++catalogues;
            CHECK(ScratchData(text).catalogue_error().empty());
        }
    }
    CHECK(topologies >= 6);
    CHECK(catalogues >= 1);
}
