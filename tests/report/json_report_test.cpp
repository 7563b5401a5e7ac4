#include "sim/report/json_report.h"

#include <set>
#include <sstream>
#include <string>

#include "hand_made.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace lockstep::report {

using Json = nlohmann::json;

namespace {

std::set<std::string> keys_of(const Json& object) {
    std::set<std::string> keys;
    for (const auto& item : object.items()) {
        keys.insert(item.key());
    }
    return keys;
}

void check_keys(const Json& object, const std::set<std::string>& contract) {
    const std::set<std::string> keys = keys_of(object);
    for (const std::string& key : contract) {
        CAPTURE(key);
        CHECK(keys.contains(key));
    }
}

template <class Report>
std::string text_of(const Report& report) {
    std::ostringstream out;
    write_json(out, report);
    return out.str();
}

}  // namespace

TEST_CASE("write_json: a step carries every field of the contract", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    const StepReport report{fabric, graph, fabric.gpus().first(2),
                            step,   setup, MachineUse{Seconds{0.5}, Bytes{1 << 20}}};
    const Json json = Json::parse(text_of(report));

    check_keys(json, {"schema", "topology", "workload", "engine", "routing", "seed", "parameters", "assumptions",
                      "ranks", "step_time_s", "gpu_idle_fraction", "time_s", "collectives", "links", "simulator",
                      "tokens_per_s", "mfu"});
    CHECK(json["schema"] == "lockstep.run/1");
    CHECK(json["topology"] == "star");
    CHECK(json["workload"] == "toy-ddp");
    CHECK(json["engine"] == "fluid");
    CHECK(json["seed"] == 7);
    CHECK(json["ranks"] == 2);
    CHECK(json["parameters"]["topology"]["bandwidth"] == "50 GB/s");
    CHECK(json["parameters"]["workload"]["overlap"] == "true");
    CHECK(json["step_time_s"] == 0.02);
    CHECK(keys_of(json["gpu_idle_fraction"]) == std::set<std::string>{"mean", "min", "max"});
    check_keys(json["time_s"], {"compute", "exposed_dp", "exposed_tp", "exposed_pp", "exposed_ep", "exposed_cp",
                                "pipeline_bubble", "straggler_wait", "overhead"});
    check_keys(json["collectives"][0], {"name", "op", "algorithm", "protocol", "group_size", "bytes", "count", "time_s",
                                        "exposed_s", "algbw_Bps", "busbw_Bps"});
    CHECK(json["collectives"][0]["busbw_Bps"] == 25e9);
    REQUIRE(json["links"].size() == 2);
    check_keys(json["links"][0], {"from", "to", "kind", "capacity_Bps", "bytes", "utilization"});
    CHECK(json["links"][1]["from"] == "gpu1");
    check_keys(json["simulator"], {"messages", "simulated_messages", "events", "wall_s", "peak_rss_bytes"});
    CHECK(json["simulator"]["wall_s"] == 0.5);
}

TEST_CASE("write_json: the parts of time_s sum to step_time_s", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(StepReport{fabric, graph, fabric.gpus().first(2), step, setup}));
    double sum = 0.0;
    for (const auto& part : json["time_s"]) {
        sum += part.get<double>();
    }
    CHECK(sum == Approx(json["step_time_s"].get<double>()));
    const double idle = json["gpu_idle_fraction"]["mean"].get<double>();
    CHECK(idle == Approx(1.0 - json["time_s"]["compute"].get<double>() / 0.02));
}

TEST_CASE("write_json: without machine figures the same result gives the same bytes", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    const StepReport report{fabric, graph, fabric.gpus().first(2), step, setup};
    const Json json = Json::parse(text_of(report));
    CHECK_FALSE(json["simulator"].contains("wall_s"));
    CHECK_FALSE(json["simulator"].contains("peak_rss_bytes"));
    CHECK(text_of(report) == text_of(report));
}

TEST_CASE("write_json: what the workload does not count is absent", "[report]") {
    const auto fabric = hand_made::star(4);
    auto graph = hand_made::toy_graph();
    graph.tokens_per_step.reset();
    graph.samples_per_step.reset();
    graph.model_flops_per_step.reset();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(StepReport{fabric, graph, fabric.gpus().first(2), step, setup}));
    CHECK_FALSE(json.contains("tokens_per_s"));
    CHECK_FALSE(json.contains("samples_per_s"));
    CHECK_FALSE(json.contains("mfu"));
}

TEST_CASE("write_json: collectives carry every field of the contract", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto rows = hand_made::toy_rows(fabric);
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(CollectiveReport{
        .fabric = fabric, .placement = fabric.gpus(), .algorithm = "all", .rows = rows, .setup = setup}));

    check_keys(json, {"schema", "topology", "op", "ranks", "engine", "routing", "seed", "parameters", "assumptions",
                      "rows", "simulator"});
    CHECK(json["schema"] == "lockstep.collective/1");
    CHECK(json["op"] == "all_reduce");
    CHECK(json["ranks"] == 4);
    CHECK_FALSE(json.contains("root"));
    REQUIRE(json["rows"].size() == 2);
    const Json& row = json["rows"][0];
    check_keys(row, {"size_bytes", "algorithm", "protocol", "channels", "time_s", "algbw_Bps", "busbw_Bps",
                     "lower_bound_s", "busiest_link", "messages"});
    check_keys(row["busiest_link"], {"from", "to", "bytes", "utilization"});
    CHECK(row["size_bytes"] == 100'000'000);
    CHECK(row["time_s"] == 0.003012);
    CHECK(row["busbw_Bps"].get<double>() == Approx(1.5 * 100e6 / 0.003012));
    CHECK(json["simulator"]["messages"] == 24);
}

TEST_CASE("write_json: what does not exist is null and never a made-up number", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto rows = hand_made::toy_rows(fabric);
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(CollectiveReport{
        .fabric = fabric, .placement = fabric.gpus(), .algorithm = "all", .rows = rows, .setup = setup}));
    const Json& row = json["rows"][1];
    CHECK(row["time_s"] == 0.0);
    CHECK(row["algbw_Bps"].is_null());
    CHECK(row["busbw_Bps"].is_null());
    CHECK(row["efficiency"].is_null());
    CHECK(row["busiest_link"].is_null());
}

TEST_CASE("write_json: a broadcast says its root", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(CollectiveReport{.fabric = fabric,
                                                           .placement = fabric.gpus(),
                                                           .operation = collective::Operation::broadcast,
                                                           .root = RankId{3},
                                                           .algorithm = "auto",
                                                           .rows = {},
                                                           .setup = setup}));
    CHECK(json["root"] == 3);
    CHECK(json["rows"].empty());
}

TEST_CASE("write_json: numbers read back as the same doubles", "[report]") {
    const auto fabric = hand_made::star(4);
    auto rows = hand_made::toy_rows(fabric);
    const auto value = GENERATE(0.1 + 0.2, 3.50028e-3, 1.0 / 3.0, 30.80e-6, 5e-324);
    rows[0].lower_bound = Seconds{value};
    const auto setup = hand_made::setup();
    const Json json = Json::parse(text_of(CollectiveReport{
        .fabric = fabric, .placement = fabric.gpus(), .algorithm = "all", .rows = rows, .setup = setup}));
    CHECK(json["rows"][0]["lower_bound_s"].get<double>() == value);
}

TEST_CASE("write_json: names that are not UTF-8 do not break the file", "[report]") {
    const auto fabric = hand_made::star(2);
    auto setup = hand_made::setup();
    setup.topology_parameters = {{"name", "\xff\xfe"}};
    CHECK_NOTHROW(Json::parse(text_of(CollectiveReport{
        .fabric = fabric, .placement = fabric.gpus(), .algorithm = "auto", .rows = {}, .setup = setup})));
}

}  // namespace lockstep::report
