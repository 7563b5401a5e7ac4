#include "sim/report/listing.h"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace lockstep::report {

namespace {

std::vector<ListEntry> entries() {
    ListEntry ring{"ring", "Neighbour to neighbour"};
    ring.operations = {"all_reduce", "all_gather"};
    ListEntry dgx{"dgx-h100", "Nodes on rails"};
    Parameter nodes;
    nodes.name = "nodes";
    nodes.kind = ParameterKind::count;
    nodes.default_text = "4";
    nodes.help = "how many";
    nodes.least = "1";
    dgx.parameters = {nodes};
    return {ring, dgx};
}

}  // namespace

TEST_CASE("write_text: an entry has its operations or parameters below it", "[report][golden]") {
    std::ostringstream out;
    write_text(out, entries());
    CHECK(out.str() == R"(ring      Neighbour to neighbour
    all_reduce, all_gather
dgx-h100  Nodes on rails
    nodes=4  how many (at least 1)
)");
}

TEST_CASE("write_json: a listing is an array of objects with name and summary", "[report]") {
    std::ostringstream out;
    write_json(out, entries());
    const auto json = nlohmann::json::parse(out.str());
    REQUIRE(json.is_array());
    CHECK(json[0]["name"] == "ring");
    CHECK(json[0]["summary"] == "Neighbour to neighbour");
    CHECK(json[0]["operations"] == nlohmann::json({"all_reduce", "all_gather"}));
    CHECK_FALSE(json[0].contains("parameters"));
    const auto& parameter = json[1]["parameters"][0];
    CHECK(parameter["name"] == "nodes");
    CHECK(parameter["default"] == "4");
    CHECK(parameter["min"] == "1");
    CHECK(parameter["max"].is_null());
    CHECK(parameter["help"] == "how many");
}

TEST_CASE("write_json: an empty listing is an empty array", "[report]") {
    std::ostringstream out;
    write_json(out, std::vector<ListEntry>{});
    CHECK(nlohmann::json::parse(out.str()) == nlohmann::json::array());
}

}  // namespace lockstep::report
