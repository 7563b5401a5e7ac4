#include "sim/report/trace.h"

#include <sstream>

#include "hand_made.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace lockstep::report {

using Json = nlohmann::json;

namespace {

struct Written {
    Json json;
    TraceExtent extent;
};

Written trace_of(std::size_t most_events) {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    std::ostringstream out;
    const auto extent = write_trace(out, StepReport{fabric, graph, fabric.gpus().first(2), step, setup}, most_events);
    return {Json::parse(out.str()), extent};
}

std::size_t count(const Json& events, const std::string& phase) {
    std::size_t found = 0;
    for (const Json& event : events) {
        found += event["ph"] == phase ? 1 : 0;
    }
    return found;
}

}  // namespace

TEST_CASE("write_trace: a process per GPU, a named track per stream, an event per span", "[report]") {
    const auto [json, extent] = trace_of(1000);
    const Json& events = json["traceEvents"];
    CHECK(count(events, "X") == 4);
    CHECK(count(events, "M") == 2 * (2 + 2));  // name and order of each GPU, names of its two streams
    CHECK(events[0]["args"]["name"] == "rank 0 (gpu0)");
    CHECK(extent.ranks_written == 2);
    CHECK(json["otherData"]["ranks"] == 2);
}

TEST_CASE("write_trace: collectives carry what they moved, in microseconds from the start of the step", "[report]") {
    const auto [json, extent] = trace_of(1000);
    for (const Json& event : json["traceEvents"]) {
        if (event["name"] == "bucket 1") {
            CHECK(event["ts"].get<double>() == Approx(15000.0));
            CHECK(event["dur"].get<double>() == Approx(4000.0));
            CHECK(event["tid"] == 1);
            CHECK(event["cat"] == "collective");
            CHECK(event["args"]["bytes"] == 100'000'000);
            CHECK(event["args"]["algorithm"] == "ring");  // what `auto` took
            return;
        }
    }
    FAIL("no event for bucket 1");
}

TEST_CASE("write_trace: ranks past the limit are left out and the file says so", "[report]") {
    const auto [json, extent] = trace_of(3);
    CHECK(count(json["traceEvents"], "X") == 3);
    CHECK(extent.ranks_written == 1);
    CHECK(extent.ranks == 2);
    CHECK(json["otherData"]["ranks_written"] == 1);
}

}  // namespace lockstep::report
