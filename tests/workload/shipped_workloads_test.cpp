#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/workload/load_workload.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

namespace {

double compute(const TaskGraph& graph) {
    double total = 0;
    for (const Task& task : graph.programs.front()) {
        total += task.duration.value;
    }
    return total;
}

Bytes reduced(const TaskGraph& graph) {
    Bytes total;
    for (const CollectiveCall& call : graph.calls) {
        total += call.request.bytes;
    }
    return total;
}

/// The texts of the fenced blocks of a language in a page.
std::vector<std::string> fenced_blocks(const std::string& path, const std::string& language) {
    std::ifstream page(path);
    REQUIRE(page);
    std::vector<std::string> blocks;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line == "```" + language) {
            inside = true;
            blocks.emplace_back();
        } else if (line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + "\n";
        }
    }
    return blocks;
}

}  // namespace

TEST_CASE("shipped workloads: each loads and says what it is", "[workload][shipped]") {
    const std::vector<std::string> names = data().names("workloads");
    CHECK(names.size() >= 4);
    for (const std::string& name : names) {
        CAPTURE(name);
        const YamlFile file = YamlFile::load(data().resolve("workloads", name));
        CHECK_FALSE(file.root().require("summary").text().empty());
        const TaskGraph graph = load_workload(file, data(), cluster(8));
        CHECK(graph.ranks == 8);
        CHECK(graph.name == name);
        CHECK_FALSE(graph.calls.empty());
    }
}

TEST_CASE("resnet50-ddp: one GPU trains as fast as measured", "[workload][shipped]") {
    // NVIDIA/DeepLearningExamples: 2470 images/s on one A100 80GB, which the efficiency is taken from (0.1942, rounded
    // to 0.19).
    const fabric::Fabric a100 =
        cluster({{.name = "A100", .fp16_peak = FlopRate{312e12}, .memory_bandwidth = Bandwidth{2.0e12}}});
    const TaskGraph graph = load_shipped("resnet50-ddp", a100);
    CHECK(*graph.samples_per_step / compute(graph) == Approx(2470).epsilon(0.03));
    CHECK_FALSE(graph.tokens_per_step);
    CHECK(reduced(load_shipped("resnet50-ddp", cluster(8))).value == 4 * 25557032);
    CHECK(reduced(load_shipped("resnet50-ddp", cluster(8), {{"gradient_dtype", "bf16"}})).value == 2 * 25557032);
}

TEST_CASE("bert-large-ddp: one GPU trains as fast as measured", "[workload][shipped]") {
    // NVIDIA/DeepLearningExamples: 32.32 sequences/s on one V100 of a DGX-2, many batches to a step: the optimizer's
    // time is not in it.
    const TaskGraph graph = load_shipped("bert-large-ddp", cluster({v100()}));
    const double optimizer = graph.programs.front().back().duration.value;
    CHECK(optimizer == Approx(336226108 * 28.0 / (0.85 * 0.9e12)));
    CHECK(*graph.samples_per_step / (compute(graph) - optimizer) == Approx(32.32).epsilon(0.03));
    CHECK(*graph.tokens_per_step == 8 * 512);
}

TEST_CASE("gpt2-xl-ddp: work, gradients and rates are those of the architecture", "[workload][shipped]") {
    const TaskGraph graph = load_shipped("gpt2-xl-ddp", cluster(32));
    CHECK(*graph.tokens_per_step == 32.0 * 8 * 1024);
    CHECK(graph.model_flops_per_step->value == Approx(32.0 * 8 * 1024 * 10.274e9).epsilon(1e-3));
    CHECK(reduced(graph).value == 4 * 1557611200LL);
    // Forward and backward of 8192 tokens at 0.45 of 989 TFLOP/s and 43.6 GB at 0.85 of 3.35 TB/s: 189.1 + 15.3 ms.
    CHECK(compute(graph) ==
          Approx(8192 * 10.274e9 / (0.45 * 989e12) + 1557611200.0 * 28 / (0.85 * 3.35e12)).epsilon(1e-3));
    // Worked by hand, fp32, from the back: the final norm and the last matrix of block 47 (6400 x 1600) with their
    // biases are the first bucket, and the embedding is in the last.
    CHECK(graph.calls.front().request.bytes.value == 4 * (2 * 1600 + 1600 + 6400 * 1600));
    CHECK(graph.calls.back().request.bytes.value >= 4 * 50257 * 1600);
    // Smaller efficiency, longer step; the work stays.
    const TaskGraph slow = load_shipped("gpt2-xl-ddp", cluster(32), {{"efficiency", "0.225"}});
    CHECK(slow.model_flops_per_step->value == graph.model_flops_per_step->value);
    CHECK(slow.programs.front()[1].duration / graph.programs.front()[1].duration == Approx(2));
}

TEST_CASE("documentation: every example of workload-yaml.md loads", "[workload][shipped]") {
    const std::vector<std::string> examples = fenced_blocks(LOCKSTEP_SOURCE_DIR "/docs/workload-yaml.md", "yaml");
    CHECK(examples.size() >= 3);
    for (const std::string& example : examples) {
        CAPTURE(example);
        CHECK_NOTHROW(load(example, cluster(8)));
    }
}
