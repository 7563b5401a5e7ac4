#include "sim/report/csv_report.h"

#include <sstream>

#include "hand_made.h"
#include <catch2/catch.hpp>

namespace lockstep::report {

TEST_CASE("write_csv: a step is a row for each collective", "[report][golden]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_csv(out, StepReport{fabric, graph, fabric.gpus().first(2), step, setup});
    CHECK(
        out.str() ==
        "topology,workload,engine,seed,ranks,step_time_s,gpu_idle_fraction,name,kind,op,algorithm,protocol,group_size,"
        "bytes,count,time_s,exposed_s,algbw_Bps,busbw_Bps\n"
        "star,toy-ddp,fluid,7,2,0.02,0.35,gradients,dp,all_reduce,ring,simple,2,100000000,2,0.004,0.005,25000000000,"
        "25000000000\n");
}

TEST_CASE("write_csv: a rate that does not exist is an empty cell", "[report][golden]") {
    const auto fabric = hand_made::star(4);
    const auto rows = hand_made::toy_rows(fabric);
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_csv(out, CollectiveReport{.fabric = fabric,
                                    .placement = fabric.gpus(),
                                    .algorithm = "all",
                                    .rows = std::span(rows).last(1),
                                    .setup = setup});
    CHECK(
        out.str() ==
        "topology,engine,seed,op,ranks,size_bytes,algorithm,protocol,channels,time_s,algbw_Bps,busbw_Bps,lower_bound_s,"
        "busiest_link_from,busiest_link_to,busiest_link_bytes,busiest_link_utilization,messages\n"
        "star,fluid,7,all_reduce,4,0,direct,simple,2,0,,,0,,,,,0\n");
}

TEST_CASE("csv_cell: quotes what would break a row", "[report]") {
    CHECK(csv_cell("ring") == "ring");
    CHECK(csv_cell("a,b") == "\"a,b\"");
    CHECK(csv_cell("say \"no\"") == "\"say \"\"no\"\"\"");
    CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
}

}  // namespace lockstep::report
