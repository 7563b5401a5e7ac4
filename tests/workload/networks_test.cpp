#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "tests/workload/hand_made.h"
#include <catch2/catch.hpp>

#include "sim/workload/layers.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::workload::test;

namespace {

LayerTable network(const std::string& name, std::optional<int> sequence) {
    const YamlFile file = YamlFile::parse(
        fmt::format("network: {}\nsequence: {}\n", name, sequence ? std::to_string(*sequence) : "unused"), "job.yaml");
    YamlMap root = file.root();
    const YamlValue length = root.require("sequence");
    return load_network(root.require("network"), data(), sequence ? &length : nullptr, Bytes{4});
}

std::int64_t parameters(const LayerTable& table, const std::string& prefix = "") {
    std::int64_t total = 0;
    for (const Layer& layer : table.layers) {
        total += layer.name.starts_with(prefix) ? layer.parameters.value() : 0;
    }
    return total;
}

double forward_flops(const LayerTable& table) {
    double total = 0;
    for (const Layer& layer : table.layers) {
        total += std::get<Flops>(layer.forward).value;
    }
    return total;
}

}  // namespace

TEST_CASE("networks: ResNet-50 has the parameters and operations that torchvision states", "[workload][networks]") {
    const LayerTable table = network("resnet50", std::nullopt);
    CHECK(table.flops_per == FlopsPer::sample);
    CHECK(table.layers.size() == 54);  // 53 convolutions and fc
    // torchvision, ResNet50_Weights: num_params 25557032, _ops 4.089 (1e9 multiply-adds).
    CHECK(parameters(table) == 25557032);
    CHECK(forward_flops(table) == 2 * 4089184256.0);
    CHECK(parameters(table, "conv1") == 64 * 3 * 49 + 2 * 64);
    CHECK(parameters(table, "fc") == 2049000);
}

TEST_CASE("networks: BERT-large has the parameters of its checkpoints", "[workload][networks]") {
    const LayerTable table = network("bert-large", 512);
    CHECK(table.flops_per == FlopsPer::token);
    // transformers: BertModel 335,141,888 (keras-nlp states the same), BertForPreTraining 336,226,108.
    CHECK(parameters(table) == 336226108);
    CHECK(parameters(table, "embedding") == 31782912);
    CHECK(parameters(table, "layer") == 24 * 12596224);
    CHECK(parameters(table, "embedding") + parameters(table, "layer") + 1024 * 1024 + 1024 == 335141888);
    // 2 N per token for the N of the layers + attention's 4 s h a layer + the head on 15 % of the tokens, biases and
    // norms aside.
    CHECK(forward_flops(table) ==
          Approx(2 * 302.31e6 + 24 * 4.0 * 512 * 1024 + 0.15 * 2 * (1024 * 1024 + 30522 * 1024)).epsilon(2e-3));
}

TEST_CASE("networks: GPT-2 XL has the parameters of its checkpoint", "[workload][networks]") {
    const LayerTable table = network("gpt2-xl", 1024);
    CHECK(table.flops_per == FlopsPer::token);
    CHECK(parameters(table) == 1557611200);
    CHECK(parameters(table, "block 0 ") == 12 * 1600 * 1600 + 13 * 1600);
    // 6 N + 12 L h s per token with backward (N: all parameters but those of the positions, which no product uses).
    const double n = 1557611200.0 - 1024 * 1600;
    CHECK(3 * forward_flops(table) == Approx(6 * n + 12.0 * 48 * 1600 * 1024).epsilon(1e-3));
    CHECK(table.layers.front().name == "embedding");
    CHECK(table.layers[1].name == "block 0 attention");
    CHECK(table.layers[96].name == "block 47 mlp");
}

TEST_CASE("networks: attention grows with the sequence, the rest does not", "[workload][networks]") {
    const double half = forward_flops(network("gpt2-xl", 512));
    const double whole = forward_flops(network("gpt2-xl", 1024));
    CHECK(whole - half == Approx(48 * 4.0 * 512 * 1600));
    CHECK(parameters(network("gpt2-xl", 512)) == 1557611200);
}

TEST_CASE("networks: backward is twice forward in every layer", "[workload][networks]") {
    for (const auto& [name, sequence] : std::map<std::string, std::optional<int>>{
             {"resnet50", std::nullopt}, {"bert-large", 512}, {"gpt2-xl", 1024}}) {
        for (const Layer& layer : network(name, sequence).layers) {
            CAPTURE(name, layer.name);
            CHECK(std::get<Flops>(layer.backward) == std::get<Flops>(layer.forward) * 2.0);
        }
    }
}

TEST_CASE("networks: every shipped table has a test here", "[workload][networks]") {
    CHECK(data().names("models/networks") == std::vector<std::string>{"bert-large", "gpt2-xl", "resnet50"});
}

TEST_CASE("networks: the sequence must suit the network", "[workload][networks][error]") {
    CHECK_THROWS_WITH(network("gpt2-xl", 2048),
                      "job.yaml:2:11: sequence: network `gpt2-xl`: expected at most 1024, got 2048");
    CHECK_THROWS_WITH(network("resnet50", 512), "job.yaml:2:11: sequence: network `resnet50` has no sequences");
    CHECK_THROWS_WITH(network("bert-large", std::nullopt),
                      "job.yaml:1:10: network: network `bert-large` needs the `sequence` of the workload");
    CHECK_THROWS_WITH(network("gtp2-xl", 1024),
                      "job.yaml:1:10: network: unknown network `gtp2-xl` — did you mean `gpt2-xl`?");
}
