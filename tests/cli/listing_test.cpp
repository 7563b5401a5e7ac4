#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

TEST_CASE("list: every kind can be read by people and programs", "[cli]") {
    const Shell shell;
    const std::string kind = GENERATE("algorithms", "topologies", "workloads", "devices", "networks", "engines");
    CAPTURE(kind);
    const auto text = shell.run("lockstep list " + kind);
    CHECK(text.exit_code == 0);
    CHECK(text.err.empty());
    const auto outcome = shell.run("lockstep list " + kind + " --json -");
    REQUIRE(outcome.exit_code == 0);
    const Json json = Json::parse(outcome.out);
    REQUIRE(json.is_array());
    REQUIRE_FALSE(json.empty());
    for (const Json& entry : json) {
        CHECK_THAT(text.out, Catch::Contains(entry.at("name").get<std::string>()));
        CHECK_FALSE(entry.at("summary").get<std::string>().empty());
    }
}

TEST_CASE("list: algorithms tell their operations, files their parameters", "[cli]") {
    const Shell shell;
    for (const Json& entry : Json::parse(shell.run("lockstep list algorithms --json -").out)) {
        CHECK_FALSE(entry.at("operations").empty());
    }
    for (const char* const kind : {"topologies", "workloads"}) {
        for (const Json& entry : Json::parse(shell.run(std::string("lockstep list ") + kind + " --json -").out)) {
            for (const Json& parameter : entry.at("parameters")) {
                CAPTURE(entry, parameter);
                CHECK(parameter.contains("name"));
                CHECK(parameter.contains("default"));
                CHECK(parameter.contains("min"));
                CHECK(parameter.contains("max"));
                CHECK_FALSE(parameter.at("help").get<std::string>().empty());
            }
        }
    }
}

TEST_CASE("list: every algorithm has a page and a row in the index of the documentation, with what it does",
          "[cli][docs]") {
    const Shell shell;
    const std::filesystem::path folder = std::filesystem::path(LOCKSTEP_JSON_PAGE).parent_path() / "collectives";
    std::ifstream page(folder / "README.md");
    const std::string index{std::istreambuf_iterator<char>(page), {}};
    for (const Json& entry : Json::parse(shell.run("lockstep list algorithms --json -").out)) {
        const std::string name = entry.at("name");
        CAPTURE(name);
        CHECK(std::filesystem::exists(folder / (name + ".md")));
        // | [`ring`](ring.md) | all_reduce, … | …
        const std::string link = "\n| [`" + name + "`](" + name + ".md) | ";
        const std::size_t at = index.find(link);
        REQUIRE(at != std::string::npos);
        std::string operations;
        for (const Json& operation : entry.at("operations")) {
            operations += (operations.empty() ? "" : ", ") + operation.get<std::string>();
        }
        const std::size_t from = at + link.size();
        CHECK(index.substr(from, index.find(" |", from) - from) == operations);
    }
}
