#include "sim/report/figures.h"

#include "hand_made.h"
#include <catch2/catch.hpp>

namespace lockstep::report {

using namespace lockstep::literals;

TEST_CASE("step_figures: idle fractions are 1 - compute / step time", "[report]") {
    const auto fabric = hand_made::star(2);
    const StepFigures figures = step_figures(hand_made::toy_step(fabric), hand_made::toy_graph());
    // 12 and 14 ms of 20 ms.
    CHECK(figures.idle_mean == Approx(0.35));
    CHECK(figures.idle_min == Approx(0.30));
    CHECK(figures.idle_max == Approx(0.40));
}

TEST_CASE("step_figures: the mean parts sum to the step time", "[report]") {
    const auto fabric = hand_made::star(2);
    const auto step = hand_made::toy_step(fabric);
    const replay::RankTime mean = step_figures(step, hand_made::toy_graph()).mean;
    Seconds sum = mean.compute + mean.pipeline_bubble + mean.straggler_wait + mean.overhead;
    for (const Seconds exposed : mean.exposed) {
        sum += exposed;
    }
    CHECK(sum.value == Approx(step.step_time.value));
    CHECK(mean.straggler_wait.value == Approx(0.001));
}

TEST_CASE("step_figures: throughput and MFU follow from what the workload counts", "[report]") {
    const auto fabric = hand_made::star(2);
    auto graph = hand_made::toy_graph();
    const auto step = hand_made::toy_step(fabric);
    const StepFigures figures = step_figures(step, graph);
    CHECK(figures.tokens_per_s.value() == Approx(4000 / 0.020));
    CHECK(figures.samples_per_s.value() == Approx(64 / 0.020));
    // 10 TFLOP in 20 ms on 2 GPUs of 1 PFLOP/s.
    CHECK(figures.mfu.value() == Approx(10e12 / (0.020 * 2 * 1e15)));

    graph.tokens_per_step.reset();
    graph.peak_per_gpu.reset();
    CHECK_FALSE(step_figures(step, graph).tokens_per_s);
    CHECK_FALSE(step_figures(step, graph).mfu);
}

TEST_CASE("step_figures: a step that takes no time has no rates and no idle time", "[report]") {
    replay::StepRun step;
    step.ranks.resize(2);
    const StepFigures figures = step_figures(step, hand_made::toy_graph());
    CHECK(figures.idle_mean == 0.0);
    CHECK_FALSE(figures.tokens_per_s);
    CHECK_FALSE(figures.mfu);
}

TEST_CASE("busbw: is algbw times 2(n-1)/n for all_reduce", "[report]") {
    const auto reduce = collective::Operation::all_reduce;
    CHECK(algbw(100_MB, 0.004_s).value().value == Approx(25e9));
    CHECK(busbw(reduce, 4, 100_MB, 0.004_s).value().value == Approx(37.5e9));
    CHECK_FALSE(algbw(100_MB, 0.0_s));
    CHECK_FALSE(busbw(reduce, 1, 0_B, 0.0_s));
}

TEST_CASE("busiest_link: the last bit of a sum does not choose among equals", "[report]") {
    const std::vector<replay::LinkUse> links{
        {LinkId{3}, 1.0, 0.1}, {LinkId{5}, 7.0, 0.7}, {LinkId{9}, 7.0, 0.7 + 1e-16}};
    CHECK(busiest_link(links).value().link == LinkId{5});
    CHECK_FALSE(busiest_link({}));
}

TEST_CASE("total_use: adds the rows up", "[report]") {
    const auto fabric = hand_made::star(4);
    const auto total = total_use(hand_made::toy_rows(fabric));
    CHECK(total.messages == 24);
    CHECK(total.events == 50);
}

}  // namespace lockstep::report
