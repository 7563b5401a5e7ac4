#include "sim/report/text_report.h"

#include <sstream>
#include <string>
#include <vector>

#include "hand_made.h"
#include <catch2/catch.hpp>

#include "sim/report/table.h"

namespace lockstep::report {

using namespace lockstep::literals;

namespace {

std::string widest_line(const std::string& text) {
    std::istringstream lines(text);
    std::string widest;
    for (std::string line; std::getline(lines, line);) {
        if (display_width(line) > display_width(widest)) {
            widest = line;
        }
    }
    return widest;
}

}  // namespace

TEST_CASE("write_text: a step reads from its time to its causes, collectives and links", "[report][golden]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_text(out, StepReport{fabric, graph, fabric.gpus().first(2), step, setup});
    CHECK(out.str() == R"(toy-ddp on star, 2 GPUs

  Step time    20 ms
  Throughput   200,000 tokens/s
  MFU          25.0 %
  GPU idle     35.0 % of the step, mean over GPUs (30.0 % to 40.0 %)

Where the step goes, mean over GPUs       ms      %
  compute                              13.00   65.0
  exposed data-parallel communication   5.00   25.0
  pipeline bubble                       0.00    0.0
  waiting for stragglers                1.00    5.0
  overhead                              1.00    5.0
  step                                 20.00  100.0

Collectives              ranks    size  count  algorithm  time  algbw  busbw  exposed
                                                                 GB/s   GB/s
  gradients  all_reduce      2  100 MB      2  ring       4 ms  25.00  25.00     5 ms

Hottest links             kind     links  capacity  bytes each  utilization
  gpu*         → switch0  generic      2   50 GB/s      200 MB       20.0 %

# engine fluid: max-min fair sharing
# routing ecmp, seed 7
)");
}

TEST_CASE("write_text: collectives are laid out as nccl-tests prints them", "[report][golden]") {
    const auto fabric = hand_made::star(4);
    const auto rows = hand_made::toy_rows(fabric);
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_text(out, CollectiveReport{.fabric = fabric,
                                     .placement = fabric.gpus(),
                                     .algorithm = "all",
                                     .rows = rows,
                                     .setup = setup,
                                     .notes = {"left out: tree is not for 4 ranks"}});
    // busbw 2 * 3/4 * 33.2; 3000 / 3012 = 99.6 % of the bound. The row that took no time has no rates.
    CHECK(out.str() == R"(# all_reduce over 4 ranks of star, algorithm all
# engine fluid: max-min fair sharing
# routing ecmp, seed 7
# left out: tree is not for 4 ranks
#
#      size  algorithm  ch    time  formula   algbw   busbw   bound  bound  link  busiest link
#       (B)                   (us)     (us)  (GB/s)  (GB/s)    (us)    (%)   (%)
  100000000  ring        1  3012.0        -   33.20   49.80  3000.0   99.6  99.5  gpu0 → switch0
          0  direct      2    0.00        -       -       -    0.00      -     -  -
#
# Avg bus bandwidth    : 49.8008  ring
)");
}

TEST_CASE("write_text: no line is wider than a page, however long the names, but for the busiest link", "[report]") {
    fabric::FabricBuilder builder("long");
    const VertexId gpu =
        builder.add({.name = "building-west.row-12.rack-104.node-3301.gpu-7", .node = builder.add_node()});
    const VertexId other = builder.add(
        {.name = "building-west.row-12.rack-104.network-spine-plane-2", .kind = fabric::VertexKind::switch_});
    builder.connect(gpu, other,
                    {.bandwidth = 50_GBps, .line_rate = 50_GBps, .kind = fabric::LinkKind::infinity_fabric});
    const auto fabric = builder.build();
    auto rows = hand_made::toy_rows(hand_made::star(2));
    rows.resize(1);
    rows[0].algorithm = "halving-doubling";
    rows[0].bytes = Bytes{std::int64_t{1} << 40};
    rows[0].links = {{hand_made::up(fabric, 0), 1e12, 1.0}};
    auto step = hand_made::toy_step(hand_made::star(2));
    step.links = rows[0].links;
    step.collectives[0].name = "gradients of the experts of the very last of all layers";
    step.collectives[0].algorithm = "halving-doubling";
    const auto graph = hand_made::toy_graph();
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_text(out, StepReport{fabric, graph, fabric.gpus(), step, setup});
    const std::string widest = widest_line(out.str());
    CAPTURE(widest);
    CHECK(display_width(widest) <= 100);
    std::ostringstream table;
    write_text(table,
               CollectiveReport{
                   .fabric = fabric, .placement = fabric.gpus(), .algorithm = "auto", .rows = rows, .setup = setup});
    const std::string row = widest_line(table.str());
    const std::size_t link = row.find("building-west");
    CAPTURE(row);
    REQUIRE(link != std::string::npos);
    CHECK(link <= 100);
    CHECK(row.substr(link) == "building-west: row-12.rack-104.node-3301.gpu-7 → row-12.rack-104.network-spine-plane-2");
}

TEST_CASE("write_text: bus bandwidth is averaged over sizes, never over rival algorithms", "[report]") {
    // 100 MB over 4 ranks, busbw factor 1.5: 50 GB/s in 3 ms, 25 in 6 ms, 37.5 in 4 ms.
    const auto fabric = hand_made::star(4);
    const auto setup = hand_made::setup();
    std::vector<replay::CollectiveRun> rows(4, hand_made::toy_rows(fabric).front());
    rows[0].time = 0.003_s;
    rows[1].time = 0.006_s;
    rows[2].time = 0.004_s;
    rows[3].time = 0.006_s;
    rows[1].algorithm = rows[3].algorithm = "halving-doubling";
    const auto averages = [&](const std::string& algorithm) {
        std::ostringstream out;
        write_text(
            out,
            CollectiveReport{
                .fabric = fabric, .placement = fabric.gpus(), .algorithm = algorithm, .rows = rows, .setup = setup});
        const std::size_t at = out.str().find("# Avg");
        return at == std::string::npos ? std::string() : out.str().substr(at);
    };
    const std::string each =
        "# Avg bus bandwidth    : 43.75  ring\n# Avg bus bandwidth    : 25     halving-doubling\n"
        "# Fastest at every size: ring\n";
    CHECK(averages("ring,halving-doubling") == each);
    CHECK(averages("all") == each);
    const std::string one = "# Avg bus bandwidth    : 34.375\n# Fastest at every size: ring\n";
    CHECK(averages("auto") == one);
    CHECK(averages("ring") == one);
    CHECK(averages("ring,auto").empty());
}

TEST_CASE("write_text: a job on one GPU says that there is nothing to communicate", "[report]") {
    const auto fabric = hand_made::star(1);
    auto graph = hand_made::toy_graph();
    graph.calls.clear();
    replay::StepRun step;
    step.step_time = 0.012_s;
    step.ranks.resize(1);
    step.ranks[0].compute = 0.012_s;
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_text(out, StepReport{fabric, graph, fabric.gpus(), step, setup});
    CHECK_THAT(out.str(), Catch::Contains("1 GPU\n") && Catch::Contains("GPU idle     0.0 %") &&
                              Catch::Contains("Collectives: none") && Catch::Contains("none carried anything"));
}

TEST_CASE("assumptions: say over how many switch planes traffic is striped", "[report]") {
    fabric::FabricBuilder builder("planes");
    const NodeId node = builder.add_node();
    std::vector<VertexId> planes;
    for (const char* const name : {"nvswitch0", "nvswitch1", "nvswitch2", "nvswitch3"}) {
        planes.push_back(builder.add({.name = name, .kind = fabric::VertexKind::switch_, .node = node}));
    }
    for (const char* const name : {"gpu0", "gpu1"}) {
        const VertexId gpu = builder.add({.name = name, .node = node});
        for (const VertexId plane : planes) {
            builder.connect(gpu, plane, {.bandwidth = 100_GBps, .line_rate = 100_GBps, .tier = fabric::Tier::scale_up});
        }
    }
    const auto lines = assumptions(builder.build(), hand_made::setup());
    REQUIRE(lines.size() == 3);
    CHECK_THAT(lines[2], Catch::Contains("striped over the 4 switch planes"));
}

TEST_CASE("write_placement: every rank has a line that can be given back", "[report][golden]") {
    const auto fabric = hand_made::star(2);
    std::ostringstream out;
    write_placement(out, fabric, std::vector<VertexId>{fabric.gpus()[1], fabric.gpus()[0]});
    CHECK(out.str() ==
          "gpu1  # rank 0, node 1\n"
          "gpu0  # rank 1, node 0\n");
}

}  // namespace lockstep::report
