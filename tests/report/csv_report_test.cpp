#include "sim/report/csv_report.h"

#include <algorithm>
#include <sstream>
#include <string>

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
    // Means over the two ranks: 13 ms of 20 compute (so 35 % idle, 30 % and 40 % at the ends), 5 ms exposed, 1 ms of
    // straggling, 1 ms of overhead. 64 samples and 4000 tokens in 20 ms; 10 TFLOP / (2 * 1 PFLOP/s * 20 ms) = 0.25.
    CHECK(out.str() ==
          "topology,workload,engine,routing,seed,parameters,ranks,step_time_s,gpu_idle_fraction,gpu_idle_fraction_min,"
          "gpu_idle_fraction_max,compute_s,exposed_dp_s,exposed_tp_s,exposed_pp_s,exposed_ep_s,exposed_cp_s,"
          "pipeline_bubble_s,straggler_wait_s,overhead_s,samples_per_s,tokens_per_s,mfu,"
          "name,kind,op,algorithm,protocol,group_size,bytes,count,time_s,exposed_s,algbw_Bps,busbw_Bps\n"
          "star,toy-ddp,fluid,ecmp,7,topology.gpus=4 topology.bandwidth='50 GB/s' workload.overlap=true,2,0.02,0.35,"
          "0.30000000000000004,0.4,0.013000000000000001,0.005,0,0,0,0,0,0.001,0.001,3200,200000,0.25,"
          "gradients,dp,all_reduce,ring,simple,2,100000000,2,0.004,0.005,25000000000,25000000000\n");
}

TEST_CASE("write_csv: a step without collectives is a row, too", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto graph = hand_made::toy_graph();
    auto step = hand_made::toy_step(fabric);
    step.collectives.clear();
    const auto setup = hand_made::setup();
    std::ostringstream out;
    write_csv(out, StepReport{fabric, graph, fabric.gpus().first(2), step, setup});
    std::istringstream lines(out.str());
    std::string names;
    std::string row;
    REQUIRE(std::getline(lines, names));
    REQUIRE(std::getline(lines, row));
    CHECK(std::count(row.begin(), row.end(), ',') == std::count(names.begin(), names.end(), ','));
    CHECK_THAT(row, Catch::StartsWith("star,toy-ddp,") && Catch::EndsWith(",0.25,,,,,,,,,,,,"));
}

TEST_CASE("write_csv: parameters are spelt as a shell takes them", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto rows = hand_made::toy_rows(fabric);
    Setup setup;
    setup.engine = "fluid";
    setup.topology_parameters = {{"word", "it's"}, {"none", ""}, {"list", "a,b"}};
    std::ostringstream out;
    write_csv(out, CollectiveReport{.fabric = fabric,
                                    .placement = fabric.gpus(),
                                    .operation = collective::Operation::broadcast,
                                    .root = RankId{2},
                                    .algorithm = "ring",
                                    .rows = std::span(rows).first(1),
                                    .setup = setup});
    CHECK_THAT(out.str(), Catch::Contains("\nstar,fluid,static,1,\"topology.word='it'\\''s' topology.none='' "
                                          "topology.list='a,b'\",broadcast,2,4,100000000,ring,"));
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
        "topology,engine,routing,seed,parameters,op,root,ranks,size_bytes,algorithm,protocol,channels,time_s,algbw_Bps,"
        "busbw_Bps,lower_bound_s,formula_s,formula_exact,efficiency,busiest_link_from,busiest_link_to,busiest_link_"
        "bytes,"
        "busiest_link_utilization,messages\n"
        "star,fluid,ecmp,7,topology.gpus=4 topology.bandwidth='50 GB/s' workload.overlap=true,all_reduce,,4,0,direct,"
        "simple,2,0,,,0,,,,,,,,0\n");
}

TEST_CASE("csv_cell: quotes what would break a row", "[report]") {
    CHECK(csv_cell("ring") == "ring");
    CHECK(csv_cell("a,b") == "\"a,b\"");
    CHECK(csv_cell("say \"no\"") == "\"say \"\"no\"\"\"");
    CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
}

}  // namespace lockstep::report
