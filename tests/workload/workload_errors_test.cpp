#include <string>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/workload/load_workload.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

namespace {

/// A good workload given as times, with one line in place of another.
std::string timed(const std::string& line = "", const std::string& instead_of = "") {
    std::string text =
        "ranks: 2\n"
        "steps: 3\n"
        "layers:\n"
        "  - {name: a, forward: 1 ms, backward: 2 ms, gradient: 1 MB}\n"
        "data_parallel: {bucket: 1 MB}\n"
        "optimizer: {time: 0 s}\n";
    if (!instead_of.empty()) {
        text.replace(text.find(instead_of), instead_of.size(), line);
    } else {
        text += line;
    }
    return text;
}

/// The same, given as FLOPs.
std::string counted(const std::string& line = "", const std::string& instead_of = "") {
    std::string text =
        "batch: 2\n"
        "precision: bf16\n"
        "efficiency: 0.5\n"
        "layers:\n"
        "  - {name: a, forward: 1 GFLOP, parameters: 100}\n"
        "data_parallel: {gradient_dtype: fp32}\n"
        "optimizer: {bytes_per_parameter: 28, memory_efficiency: 0.8}\n";
    if (!instead_of.empty()) {
        text.replace(text.find(instead_of), instead_of.size(), line);
    } else {
        text += line;
    }
    return text;
}

std::string message(const std::string& yaml, const fabric::Fabric& fabric) {
    try {
        load(yaml, fabric);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

std::string message(const std::string& yaml) { return message(yaml, cluster(2)); }

}  // namespace

TEST_CASE("workload errors: the good ones are good", "[workload][error]") {
    CHECK(message(timed()) == "no error");
    CHECK(message(counted()) == "no error");
}

TEST_CASE("workload errors: more ranks than GPUs says which side to change", "[workload][error]") {
    CHECK(
        message(timed("ranks: 64", "ranks: 2"), cluster(32)) ==
        "job.yaml:1:8: ranks: workload needs 64 GPUs but the topology `cluster` has 32: make the topology larger (its "
        "`nodes`, `gpus` or `racks`) or lower `ranks`");
    const auto all = std::vector<fabric::GpuModel>{};
    CHECK(message(timed(), cluster(all)) == "job.yaml:1:1: the topology `cluster` has no GPU to train on");
    const fabric::Fabric four = cluster(4);
    const YamlFile file = YamlFile::parse(timed(), "job.yaml");
    CHECK_THROWS_WITH(
        load_workload(file, data(), four, four.gpus().subspan(0, 1)),
        "job.yaml:1:8: ranks: workload needs 2 GPUs but the placement has 1: add GPUs to it or lower `ranks`");
}

TEST_CASE("workload errors: counts out of range", "[workload][error]") {
    CHECK(message(timed("ranks: 0", "ranks: 2")) ==
          "job.yaml:1:8: ranks: expected a whole number from 1 to 2147483648, got `0`");
    CHECK(message(timed("ranks: -1", "ranks: 2")) ==
          "job.yaml:1:8: ranks: expected a whole number from 1 to 2147483648, got `-1`");
    CHECK(message(timed("ranks: 1.5", "ranks: 2")) ==
          "job.yaml:1:8: ranks: expected a whole number such as `4`, got `1.5`");
    CHECK(message(timed("steps: 0", "steps: 3")) ==
          "job.yaml:2:8: steps: expected a whole number from 1 to 1000, got `0`");
    CHECK(message(counted("batch: 0", "batch: 2")) ==
          "job.yaml:1:8: batch: expected a whole number from 1 to 1000000, got `0`");
    CHECK(message(counted("efficiency: 0", "efficiency: 0.5")) ==
          "job.yaml:3:13: efficiency: expected a number from 0.001 to 1, got `0`");
    CHECK(message(counted("efficiency: 1.2", "efficiency: 0.5")) ==
          "job.yaml:3:13: efficiency: expected a number from 0.001 to 1, got `1.2`");
    CHECK(message(counted("efficiency: nan", "efficiency: 0.5")) ==
          "job.yaml:3:13: efficiency: expected a number such as `0.5`, got `nan`");
}

TEST_CASE("workload errors: keys", "[workload][error]") {
    CHECK(message(timed("sumary: x\n")) == "job.yaml:7:1: unknown key `sumary` — did you mean `summary`?");
    CHECK(message(timed("data_paralel: {bucket: 1 MB}", "data_parallel: {bucket: 1 MB}")) ==
          "job.yaml:1:1: missing key `data_parallel`; is `data_paralel` meant for it?");
    CHECK(message(timed("bukcet: 1 MB", "bucket: 1 MB")) ==
          "job.yaml:5:17: unknown key `bukcet` — did you mean `bucket`?");
    CHECK(message(timed("gradiant: 1 MB", "gradient: 1 MB")) ==
          "job.yaml:4:5: layers[0]: missing key `gradient` (bytes) or `parameters` (a count; 0 for a layer without)");
    CHECK(message("ranks: 2\ndata_parallel: {}\noptimizer: {time: 0 s}\n") ==
          "job.yaml:1:1: missing key `network` (a name of models/networks) or `layers` (a list)");
    CHECK(message(timed("network: gpt2-xl\n")) ==
          "job.yaml:4:3: layers: a workload has `network` or `layers`, not both");
    CHECK(message(timed("optimizer: {}", "optimizer: {time: 0 s}")) ==
          "job.yaml:6:12: optimizer: missing key `time` or `bytes_per_parameter`");
}

TEST_CASE("workload errors: layers", "[workload][error]") {
    const std::string list = "  - {name: a, forward: 1 ms, backward: 2 ms, gradient: 1 MB}\n";
    const auto with = [&](const std::string& layer) { return message(timed("  - {" + layer + "}\n", list)); };
    CHECK(message(timed("layers: []\n", "layers:\n" + list)) ==
          "job.yaml:3:9: layers: expected at least one layer, got an empty list");
    CHECK(with("name: a, repeat: 0, forward: 1 ms, backward: 2 ms, gradient: 1 MB") ==
          "job.yaml:4:23: layers[0].repeat: expected a whole number from 1 to 100000, got `0`");
    CHECK(with("name: a, repeat: 1000000000, forward: 1 ms, backward: 2 ms, gradient: 1 MB") ==
          "job.yaml:4:23: layers[0].repeat: expected a whole number from 1 to 100000, got `1000000000`");
    CHECK(
        with("name: g, repeat: 1000, layers: [{name: a, repeat: 101, forward: 1 ms, backward: 2 ms, gradient: 1 B}]") ==
        "job.yaml:4:5: layers[0]: a step has at most 100000 layers, and this makes more");
    CHECK(with("name: a, repeat: 100000, forward: 1 ms, backward: 2 ms, gradient: [1 B, 1 B, 1 B, 1 B, 1 B, 1 B, 1 B, "
               "1 B, 1 B, "
               "1 B, 1 B]") ==
          "job.yaml:4:5: layers[0]: a step has at most 1000000 parameter tensors, and this makes more");
    CHECK(with("name: a, repeat: 3, forward: 1 ms, backward: 2 ms, gradient: 512 PiB") ==
          "job.yaml:4:5: layers[0]: a step has at most 1 EiB of gradients, and this makes more");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, gradient: [512 PiB, 512 PiB, 512 PiB, 512 PiB, 512 PiB, 512 "
               "PiB, 512 PiB, "
               "512 PiB]") == "job.yaml:4:5: layers[0]: a step has at most 1 EiB of gradients, and this makes more");
    CHECK(with("name: a, forward: 1, backward: 2 ms, gradient: 1 MB") ==
          "job.yaml:4:24: layers[0].forward: expected a time such as `1 ms` or work such as `8.2 GFLOP`, got `1`");
    CHECK(with("name: a, forward: -1 ms, backward: 2 ms, gradient: 1 MB") ==
          "job.yaml:4:24: layers[0].forward: expected a time such as `1 ms` or work such as `8.2 GFLOP`, got `-1 ms`");
    CHECK(with("name: a, forward: 2e9 s, backward: 2 ms, gradient: 1 MB") ==
          "job.yaml:4:24: layers[0].forward: expected a time from 0 s to 1e9 s, got `2e9 s`");
    CHECK(with("name: a, forward: 1 ms, gradient: 1 MB") ==
          "job.yaml:4:5: layers[0]: missing key `backward`: a layer whose forward pass is given as a time needs it");
    CHECK(with("name: a, forward: 1 ms, backward: 2 GFLOP, gradient: 1 MB") ==
          "job.yaml:4:40: layers[0].backward: give forward and backward both as times or both as FLOPs");
    CHECK(with("name: a, forward: 1 ms, macs: 1e9, gradient: 1 MB") ==
          "job.yaml:4:36: layers[0].macs: a layer has `forward` or `macs`, not both");
    CHECK(with("name: a, macs: 1e9, backward: 1 GFLOP, backward_macs: 1e9, gradient: 1 MB") ==
          "job.yaml:4:60: layers[0].backward_macs: a layer has `backward` or `backward_macs`, not both");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, gradient: 1 MB, parameters: 3") ==
          "job.yaml:4:74: layers[0].parameters: a layer has `gradient` or `parameters`, not both");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, parameters: 3") ==
          "job.yaml:4:58: layers[0].parameters: the size of the gradient needs `gradient_dtype` in `data_parallel`");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, gradient: [1 MB, 0 B]") ==
          "job.yaml:4:63: layers[0].gradient[1]: expected a size from 1 B to 1 EiB, got `0 B`");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, gradient: []") ==
          "job.yaml:4:56: layers[0].gradient: expected at least one tensor, got an empty list");
    CHECK(with("name: a, forward: 1 ms, backward: 2 ms, gradient: -1 MB")
              .starts_with("job.yaml:4:56: layers[0].gradient: expected"));
    CHECK(message(timed(list + "  - {name: b, forward: 1 GFLOP, gradient: 1 MB}\n", list)) ==
          "job.yaml:5:24: layers[1].forward: give all layers as times or all as FLOPs: the layers before this one have "
          "the "
          "other form");
}

TEST_CASE("workload errors: groups nested beyond reason", "[workload][error]") {
    std::string layer = "{name: a, forward: 1 ms, backward: 2 ms, gradient: 1 MB}";
    for (int i = 0; i < 8; ++i) {
        layer = "{name: g, layers: [" + layer + "]}";
    }
    CHECK(message("layers: [" + layer + "]\ndata_parallel: {}\noptimizer: {time: 0 s}\n")
              .find("groups of layers are nested more than 8 deep") != std::string::npos);
}

TEST_CASE("workload errors: data parallel", "[workload][error]") {
    const auto with = [](const std::string& keys) {
        return message(timed("data_parallel: {" + keys + "}", "data_parallel: {bucket: 1 MB}"));
    };
    CHECK(with("bucket: 0 B") == "job.yaml:5:25: data_parallel.bucket: expected a size from 1 B to 1 EiB, got `0 B`");
    CHECK(with("first_bucket: 0 B") ==
          "job.yaml:5:31: data_parallel.first_bucket: expected a size from 1 B to 1 EiB, got `0 B`");
    CHECK(with("overlap: yes") == "job.yaml:5:26: data_parallel.overlap: expected `true` or `false`, got `yes`");
    CHECK(with("collective: all_gather") ==
          "job.yaml:5:29: data_parallel.collective: expected one of all_reduce, got `all_gather`");
    CHECK(with("gradient_dtype: fp8") ==
          "job.yaml:5:33: data_parallel.gradient_dtype: expected one of fp32, bf16, fp16, got `fp8`");
    CHECK(with("algorithm: rign").starts_with("job.yaml:5:28: data_parallel.algorithm: expected one of auto, "));
    CHECK(with("algorithm: rign").ends_with("got `rign` — did you mean `ring`?"));
}

TEST_CASE("workload errors: compute in FLOPs needs a peak", "[workload][error]") {
    CHECK(message(counted("precision: fp8", "precision: bf16"), cluster({v100(), v100()})) ==
          "job.yaml:2:12: precision: the GPU `gpu0` (V100) of topology `cluster` has no `fp8_peak`, which layers in "
          "FLOPs "
          "need in fp8; it has `fp16_peak`");
    CHECK(
        message(counted(), cluster({{}})) ==
        "job.yaml:2:12: precision: the GPU `gpu0` of topology `cluster` has no `fp16_peak`, which layers in FLOPs need "
        "in bf16; it has none at all");
    CHECK(message(counted(), cluster({{.name = "X", .fp16_peak = FlopRate{1e12}}})) ==
          "job.yaml:7:34: optimizer.bytes_per_parameter: the GPU `gpu0` (X) of topology `cluster` has no "
          "`memory_bandwidth`, which this needs: give it one, or give the optimizer's `time`");
    CHECK(message(counted("precision: bf17", "precision: bf16")) ==
          "job.yaml:2:12: precision: expected one of bf16, fp16, fp8, fp32, got `bf17` — did you mean `bf16`?");
    CHECK(message(counted("", "batch: 2\n")) == "job.yaml:1:1: missing key `batch`");
    CHECK(message(counted("", "precision: bf16\n")) == "job.yaml:1:1: missing key `precision`");
    CHECK(message(counted("", "efficiency: 0.5\n")) == "job.yaml:1:1: missing key `efficiency`");
    CHECK(message(counted("flops_per: token\n")) == "job.yaml:1:1: missing key `sequence`");
    CHECK(message(counted("sequence: 0\n")) ==
          "job.yaml:8:11: sequence: expected a whole number from 1 to 1073741824, got `0`");
}

TEST_CASE("workload errors: what has no effect is refused", "[workload][error]") {
    CHECK(
        message(timed("precision: bf16\n")) ==
        "job.yaml:7:12: precision: has no effect on layers given as times: leave it out, or give the layers in FLOPs");
    CHECK(
        message(timed("efficiency: 0.5\n")) ==
        "job.yaml:7:13: efficiency: has no effect on layers given as times: leave it out, or give the layers in FLOPs");
    CHECK(message(timed("flops_per: token\n")) ==
          "job.yaml:7:12: flops_per: the layers are given as times, which are those of a GPU's whole batch");
    CHECK(message(timed("sequence: 512\n")) ==
          "job.yaml:7:11: sequence: the length of a sequence needs `batch`, the number of them");
    CHECK(message(timed("optimizer: {time: 1 s, memory_efficiency: 1}", "optimizer: {time: 0 s}")) ==
          "job.yaml:6:24: unknown key `memory_efficiency`; known: time, bytes_per_parameter");
}

TEST_CASE("workload errors: the optimizer", "[workload][error]") {
    const auto with = [](const std::string& keys) {
        return message(timed("optimizer: {" + keys + "}", "optimizer: {time: 0 s}"));
    };
    CHECK(with("time: 0 s, bytes_per_parameter: 28") ==
          "job.yaml:6:45: optimizer.bytes_per_parameter: an optimizer has `time` or `bytes_per_parameter`, not both");
    CHECK(with("bytes_per_parameter: 28") == "job.yaml:6:12: optimizer: missing key `memory_efficiency`");
    CHECK(with("bytes_per_parameter: 28, memory_efficiency: 0.9") ==
          "job.yaml:6:34: optimizer.bytes_per_parameter: needs the `parameters` of every layer, and `a` has only a "
          "`gradient`");
    CHECK(with("time: -1 s") ==
          "job.yaml:6:19: optimizer.time: expected a finite time of at least 0 such as `1.2 us`, got `-1 s`");
}

TEST_CASE("workload errors: steps without sense", "[workload][error]") {
    const std::string nothing =
        "layers: [{name: a, forward: 0 s, backward: 0 s, gradient: 0 B}]\n"
        "data_parallel: {}\noptimizer: {time: 0 s}\n";
    CHECK(message(nothing) ==
          "job.yaml:1:1: a step neither computes nor communicates: every time is 0 and there is nothing to reduce");
    CHECK(message(timed("forward: 1e8 s", "forward: 1 ms")) ==
          "job.yaml:1:1: a GPU computes 100000000 s in a step, more than 1000000 s: too much work, or too low an "
          "efficiency");
}

TEST_CASE("workload errors: a setting is named as where the value is from", "[workload][error]") {
    CHECK_THROWS_WITH(
        load_shipped("gpt2-xl-ddp", cluster(4), {{"ranks", "5"}}),
        Catch::EndsWith("ranks: workload needs 5 GPUs but the topology `cluster` has 4: make the topology larger "
                        "(its `nodes`, `gpus` or `racks`) or lower `ranks`"));
    CHECK_THROWS_WITH(load_shipped("toy-ddp", cluster(4), {{"layers", "1000000000"}}),
                      "--set layers=1000000000: expected at most 100000, got 1000000000");
    CHECK_THROWS_WITH(load_shipped("toy-ddp", cluster(4), {{"layers", "0"}}),
                      "--set layers=0: expected at least 1, got 0");
    CHECK_THROWS_WITH(
        load_shipped("toy-ddp", cluster(4), {{"ranks", "many"}}),
        Catch::EndsWith("ranks: expected a whole number such as `4`, got `many` (parameter `ranks`, from --set "
                        "ranks=many)"));
}

TEST_CASE("workload errors: an algorithm that cannot serve these GPUs is named at its place", "[workload][error]") {
    CHECK(message(timed("data_parallel: {algorithm: nvls}", "data_parallel: {bucket: 1 MB}")) ==
          "job.yaml:5:28: data_parallel.algorithm: nvls needs a switch that can reduce and that all ranks are cabled "
          "to");
    CHECK(message(timed("data_parallel: {algorithm: ring}", "data_parallel: {bucket: 1 MB}")) == "no error");
}

TEST_CASE("workload errors: a network that cannot be read is named at its place", "[workload][error]") {
    CHECK(message("ranks: 2\nnetwork: /nonexist.yaml\ndata_parallel: {}\noptimizer: {time: 0 s}\n") ==
          "job.yaml:2:10: network: /nonexist.yaml: no such file");
}

TEST_CASE("workload errors: a key with a line feed does not break the message into lines", "[workload][error]") {
    CHECK(message(timed("\"for\\nward\": 1 ms", "forward: 1 ms")) ==
          "job.yaml:4:5: layers[0]: missing key `forward`; is `for\\nward` meant for it?");
}
