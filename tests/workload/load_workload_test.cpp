#include "sim/workload/load_workload.h"

#include <string>
#include <vector>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/workload/data_parallel.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;
using namespace lockstep::literals;

namespace {

/// 100 MB take 3 ms: a ring over 4 GPUs at 50 GB/s, 2 * 3/4 * bytes / 50e9.
double ring_of_four(Bytes bytes) { return 1.5 * static_cast<double>(bytes.value) / 50e9; }

std::vector<std::string> labels(const Program& program) {
    std::vector<std::string> result;
    for (const Task& task : program) {
        result.push_back(task.label);
    }
    return result;
}

}  // namespace

TEST_CASE("toy-ddp: without overlap a step is forward + backward + all-reduces", "[workload]") {
    // 4 * 1 ms + 4 * 2 ms + 4 * 3 ms = 24 ms.
    const TaskGraph graph = load_shipped("toy-ddp", cluster(4), {{"overlap", "false"}});
    CHECK(step_time(graph, ring_of_four) == Approx(24e-3));
}

TEST_CASE("toy-ddp: with overlap all but the first all-reduces hide", "[workload]") {
    // Gradients are ready at 6, 8, 10, 12 ms; all-reduces of 3 ms run from 6 ms on without a gap: 6 + 12 = 18 ms.
    const TaskGraph graph = load_shipped("toy-ddp", cluster(4));
    CHECK(step_time(graph, ring_of_four) == Approx(18e-3));
    // Fast all-reduces (1 ms): 12 ms of compute and the last of them.
    CHECK(step_time(graph, [](Bytes) { return 1e-3; }) == Approx(13e-3));
}

TEST_CASE("toy-ddp: a larger bucket reduces more at once and later", "[workload]") {
    // Two buckets of 200 MB, 6 ms each: ready at 8 and 12 ms, so 8 + 6 + 6 = 20 ms.
    const TaskGraph graph = load_shipped("toy-ddp", cluster(4), {{"bucket", "200 MB"}});
    REQUIRE(graph.calls.size() == 2);
    CHECK(graph.calls[0].request.bytes == 200_MB);
    CHECK(step_time(graph, ring_of_four) == Approx(20e-3));
    // A tensor is never split: a cap just above one layer takes two.
    CHECK(load_shipped("toy-ddp", cluster(4), {{"bucket", "100000001 B"}}).calls.size() == 2);
    // The bucket follows the gradient unless it is set.
    CHECK(load_shipped("toy-ddp", cluster(4), {{"gradient", "7 MB"}}).calls.size() == 4);
}

TEST_CASE("task graph: forward, backward in reverse, a call per bucket, the optimizer after all", "[workload]") {
    const TaskGraph graph =
        load_shipped("toy-ddp", cluster(3), {{"layers", "2"}, {"algorithm", "ring"}, {"steps", "5"}});
    CHECK(graph.name == "toy-ddp");
    CHECK(graph.ranks == 3);
    CHECK(graph.steps == 5);
    CHECK(graph.streams == std::vector<std::string>{"compute", "dp"});
    REQUIRE(graph.programs.size() == 1);
    CHECK(graph.program_of_rank == std::vector<std::uint32_t>{0, 0, 0});
    CHECK(graph.communicators == std::vector<std::vector<RankId>>{{RankId{0}, RankId{1}, RankId{2}}});

    const Program& program = graph.programs.front();
    CHECK(labels(program) == std::vector<std::string>{"layer 0 forward", "layer 1 forward", "layer 1 backward",
                                                      "gradients bucket 0", "layer 0 backward", "gradients bucket 1",
                                                      "optimizer"});
    CHECK(program[0].duration == Seconds{1e-3});
    CHECK(program[2].duration == Seconds{2e-3});
    CHECK(program[2].after.empty());  // its stream's order is enough
    CHECK(program[3].stream == data_parallel_stream);
    CHECK(program[3].after == std::vector<TaskId>{TaskId{2}});
    CHECK(program[3].call == CallId{0});
    CHECK(program[5].after == std::vector<TaskId>{TaskId{4}});
    CHECK(program[6].stream == compute_stream);
    CHECK(program[6].after == std::vector<TaskId>{TaskId{3}, TaskId{5}});
    CHECK(program[6].duration == Seconds{0});

    REQUIRE(graph.calls.size() == 2);
    CHECK(graph.calls[1].name == "gradients");
    CHECK(graph.calls[1].kind == Parallelism::data);
    CHECK(graph.calls[1].algorithm == "ring");
    CHECK(graph.calls[1].request.operation == collective::Operation::all_reduce);
    CHECK_FALSE(graph.samples_per_step);
    CHECK_FALSE(graph.model_flops_per_step);
    CHECK_FALSE(graph.peak_per_gpu);
}

TEST_CASE("task graph: without overlap every call waits for the whole backward pass", "[workload]") {
    const TaskGraph graph = load_shipped("toy-ddp", cluster(2), {{"layers", "2"}, {"overlap", "false"}});
    const Program& program = graph.programs.front();
    CHECK(labels(program) == std::vector<std::string>{"layer 0 forward", "layer 1 forward", "layer 1 backward",
                                                      "layer 0 backward", "gradients bucket 0", "gradients bucket 1",
                                                      "optimizer"});
    CHECK(program[4].after == std::vector<TaskId>{TaskId{3}});
    CHECK(program[5].after == std::vector<TaskId>{TaskId{3}});
}

TEST_CASE("task graph: tasks wait only for earlier ones", "[workload]") {
    for (const std::string name : {"toy-ddp", "resnet50-ddp", "bert-large-ddp", "gpt2-xl-ddp"}) {
        CAPTURE(name);
        const TaskGraph graph = load_shipped(name, cluster(4));
        std::size_t calls = 0;
        const Program& program = graph.programs.front();
        for (std::size_t i = 0; i < program.size(); ++i) {
            for (const TaskId before : program[i].after) {
                CHECK(index(before) < i);
            }
            if (program[i].call) {
                CHECK(index(*program[i].call) == calls++);
            }
        }
        CHECK(calls == graph.calls.size());
    }
}

TEST_CASE("task graph: one rank reduces nothing", "[workload]") {
    const TaskGraph graph = load_shipped("toy-ddp", cluster(4), {{"ranks", "1"}});
    CHECK(graph.ranks == 1);
    CHECK(graph.calls.empty());
    CHECK(step_time(graph, ring_of_four) == Approx(12e-3));
}

TEST_CASE("ranks: all GPUs of the topology unless the file says fewer", "[workload]") {
    CHECK(load_shipped("toy-ddp", cluster(6)).ranks == 6);
    CHECK(load_shipped("toy-ddp", cluster(6), {{"ranks", "5"}}).ranks == 5);
}

TEST_CASE("flops: time is work over the reached rate, and the sums are those of all ranks", "[workload]") {
    const std::string yaml = R"(
batch: 4
sequence: 1000
precision: bf16
efficiency: 0.5
flops_per: token
layers:
  - {name: a, forward: 98.9 GFLOP, parameters: 1000}
  - {name: b, macs: 1e9, backward: 3 GFLOP, parameters: [10, 20]}
data_parallel: {gradient_dtype: bf16}
optimizer: {bytes_per_parameter: 28, memory_efficiency: 0.5}
)";
    const TaskGraph graph = load(yaml, cluster(3));
    const Program& program = graph.programs.front();
    // 4000 tokens * 98.9 GFLOP / (989 TFLOP/s * 0.5) = 0.8 s, backward twice that; 1e9 multiply-adds are 2 GFLOP.
    CHECK(program[0].duration.value == Approx(0.8));
    CHECK(program[1].duration.value == Approx(4000 * 2e9 / 494.5e12));
    CHECK(program[2].duration.value == Approx(4000 * 3e9 / 494.5e12));
    CHECK(program[3].duration.value == Approx(1.6));
    // 1030 parameters of 2 bytes in one bucket.
    REQUIRE(graph.calls.size() == 1);
    CHECK(graph.calls.front().request.bytes == 2060_B);
    // 1030 * 28 bytes at half of 3.35 TB/s.
    CHECK(program.back().duration.value == Approx(1030 * 28 / (0.5 * 3.35e12)));
    CHECK(graph.samples_per_step == 12.0);
    CHECK(graph.tokens_per_step == 12000.0);
    CHECK(graph.model_flops_per_step->value == Approx(12000 * (3 * 98.9e9 + 5e9)));
    CHECK(graph.peak_per_gpu->value == 989e12);
}

TEST_CASE("flops: the precision chooses the peak", "[workload]") {
    const auto peak = [](const std::string& precision) {
        return load_shipped("gpt2-xl-ddp", cluster(2), {{"precision", precision}}).peak_per_gpu->value;
    };
    CHECK(peak("bf16") == 989e12);
    CHECK(peak("fp16") == 989e12);
    CHECK(peak("fp8") == 1979e12);
    CHECK(peak("fp32") == 67e12);
}

TEST_CASE("flops: different GPUs have different programs, equal ones share theirs", "[workload]") {
    const fabric::Fabric mixed = cluster({h100(), v100(), h100(), v100()});
    const TaskGraph graph = load_shipped("gpt2-xl-ddp", mixed);
    REQUIRE(graph.programs.size() == 2);
    CHECK(graph.program_of_rank.size() == 4);
    // The mean of two at 989 and two at 125 TFLOP/s.
    CHECK(graph.peak_per_gpu->value == Approx(557e12));
    CHECK(graph.programs[0][1].duration / graph.programs[1][1].duration ==
          Approx(graph.program_of_rank[0] == 0 ? 125.0 / 989 : 989.0 / 125));

    // Times do not depend on the GPU.
    CHECK(load_shipped("toy-ddp", mixed).programs.size() == 1);

    // The placement says which rank is on which GPU.
    const YamlFile file = YamlFile::load(data().resolve("workloads", "gpt2-xl-ddp"));
    const auto gpu = [&](const char* name) { return *mixed.find(name); };
    const std::vector<VertexId> placement{gpu("gpu1"), gpu("gpu3"), gpu("gpu0")};
    const TaskGraph placed = load_workload(file, data(), mixed, placement);
    CHECK(placed.ranks == 3);
    CHECK(placed.program_of_rank == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("buckets: PyTorch's sizes unless the file has its own", "[workload]") {
    const auto first_and_second = [](const std::string& keys) {
        const TaskGraph graph = load(
            "layers: [{name: a, repeat: 300, forward: 1 us, backward: 1 us, gradient: 256 KiB}]\n"
            "data_parallel: {" +
                keys + "}\noptimizer: {time: 0 s}\n",
            cluster(2));
        return std::pair(graph.calls.at(0).request.bytes, graph.calls.at(1).request.bytes);
    };
    CHECK(first_and_second("") == std::pair(1_MiB, 25_MiB));
    CHECK(first_and_second("bucket: 2 MiB") == std::pair(2_MiB, 2_MiB));
    CHECK(first_and_second("first_bucket: 512 KiB") == std::pair(Bytes{512 << 10}, 25_MiB));
    CHECK(first_and_second("bucket: 2 MiB, first_bucket: 1 B") == std::pair(Bytes{256 << 10}, 2_MiB));
}

TEST_CASE("layers: groups repeat as a whole and names count", "[workload]") {
    const TaskGraph graph = load(R"(
layers:
  - {name: in, forward: 1 us, backward: 1 us, gradient: 0 B}
  - name: block
    repeat: 2
    layers:
      - {name: attention, forward: 1 us, backward: 1 us, gradient: 1 MB}
      - {name: mlp, repeat: 2, forward: 1 us, backward: 1 us, gradient: 1 MB}
data_parallel: {}
optimizer: {time: 1 us}
)",
                                 cluster(2));
    CHECK(labels(Program(graph.programs.front().begin(), graph.programs.front().begin() + 7)) ==
          std::vector<std::string>{"in forward", "block 0 attention forward", "block 0 mlp 0 forward",
                                   "block 0 mlp 1 forward", "block 1 attention forward", "block 1 mlp 0 forward",
                                   "block 1 mlp 1 forward"});
}

TEST_CASE("task graph: a hundred thousand layers are one program for all ranks", "[workload]") {
    const TaskGraph graph =
        load_shipped("toy-ddp", cluster(1000), {{"layers", "100000"}, {"forward", "1 us"}, {"backward", "1 us"}});
    CHECK(graph.programs.size() == 1);
    CHECK(graph.programs.front().size() == 300001);
    CHECK(graph.program_of_rank.size() == 1000);
}

TEST_CASE("parallelism: names are those of the reports", "[workload]") {
    CHECK(name_of(Parallelism::data) == "dp");
    CHECK(name_of(Parallelism::tensor) == "tp");
    CHECK(name_of(Parallelism::pipeline) == "pp");
    CHECK(name_of(Parallelism::expert) == "ep");
    CHECK(name_of(Parallelism::context) == "cp");
}
