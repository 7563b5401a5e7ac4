#include "sim/report/explain_page.h"

#include <sstream>

#include "tests/report/explained.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/report/explain_json.h"

namespace lockstep::report {

using collective::Operation;
using testing::Explained;

namespace {

nlohmann::json json_of(const Explanation& told) {
    std::ostringstream out;
    write_json(out, told);
    return nlohmann::json::parse(out.str());
}

std::string page_of(const Explanation& told) {
    std::ostringstream out;
    write_page(out, told);
    return out.str();
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin) + begin.size();
    return text.substr(from, text.find(end, from) - from);
}

}  // namespace

TEST_CASE("the JSON of an explanation can be followed by a script", "[explain]") {
    const Explained ring("ring", 3, {.operation = Operation::all_reduce, .bytes = {900}});
    const nlohmann::json told = json_of(*ring);
    CHECK(told["schema"] == "lockstep.explain/1");
    CHECK(told["algorithm"] == "ring");
    CHECK(told["op"] == "all_reduce");
    CHECK(told["formula"]["alphas"] == 4);
    CHECK(told["formula"]["bytes"] == 1200);
    CHECK(told["proved"] == true);
    CHECK(told["vertices"].size() == 4);
    CHECK(told["links"].size() == 6);
    // All steps are alike in what they put on links.
    CHECK(told["loads"].size() == 1);

    // Applying the changes step by step ends with what the last step says is complete.
    REQUIRE(told["buffers"].size() == 1);
    const auto& buffer = told["buffers"][0];
    std::map<std::pair<int, int>, bool> complete;
    for (const auto& step : told["steps"]) {
        for (const auto& change : step["changes"]) {
            CHECK(change["buffer"] == buffer["name"]);
            complete[{change["rank"], change["chunk"]}] = change["complete"];
            CHECK(change["content"] < told["contents"].size());
        }
        const auto count = std::count_if(complete.begin(), complete.end(), [](const auto& one) { return one.second; });
        CHECK(step["complete"] == count);
    }
    CHECK(told["steps"].back()["complete"] == told["results"]);
    // Routes are links one behind the other, from the sender's GPU to the receiver's.
    for (const auto& move : told["steps"][0]["moves"]) {
        const auto& links = told["routes"][move["route"].get<std::size_t>()][0]["links"];
        REQUIRE(links.size() == 2);
        const auto& first = told["links"][links[0].get<std::size_t>()];
        const auto& last = told["links"][links[1].get<std::size_t>()];
        CHECK(told["vertices"][first["from"].get<std::size_t>()]["rank"] == move["from"][0]);
        CHECK(told["vertices"][last["to"].get<std::size_t>()]["rank"] == move["to"][0]);
        CHECK(first["to"] == last["from"]);
    }
}

TEST_CASE("names cannot end the page's data", "[explain]") {
    const std::string nasty = "</script><script>alert(1)</script><!--{{script}}";
    collective::Schedule schedule{.algorithm = nasty, .operation = Operation::all_reduce, .ranks = 1};
    schedule.program = [](RankId) { return collective::RankProgram{}; };
    const Explained told(std::move(schedule), {100}, nasty);
    const std::string page = page_of(*told);
    CHECK(page.find("alert(1)</script>") == std::string::npos);
    CHECK(page.find("<title>&lt;/script&gt;") != std::string::npos);
    const std::string data = between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    CHECK(data.find('<') == std::string::npos);
    const auto json = nlohmann::json::parse(data);
    CHECK(json["algorithm"] == nasty);
    CHECK(json["topology"] == nasty);
}

TEST_CASE("the page is whole in itself", "[explain]") {
    const Explained ring("ring", 2, {.operation = Operation::all_reduce, .bytes = {900}});
    const std::string page = page_of(*ring);
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.find("</html>") != std::string::npos);
    CHECK(page.find("{{") == std::string::npos);
    // Nothing is loaded: the only addresses are names of vocabularies and data.
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find("@import") == std::string::npos);
    CHECK(page.find("url(") == std::string::npos);
    CHECK(page.find("https:") == std::string::npos);
    CHECK(page.find("default-src 'none'") != std::string::npos);
}

}  // namespace lockstep::report
