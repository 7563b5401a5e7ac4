#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/workload/data_parallel.h"

using namespace lockstep;
using namespace lockstep::workload;
using namespace lockstep::literals;

namespace {

Layer layer(const std::string& name, std::vector<Bytes> gradients) {
    return {.name = name,
            .forward = Seconds{1e-3},
            .backward = Seconds{2e-3},
            .gradients = std::move(gradients),
            .parameters = std::nullopt};
}

std::vector<std::int64_t> sizes(const std::vector<Bucket>& buckets) {
    std::vector<std::int64_t> result;
    for (const Bucket& bucket : buckets) {
        result.push_back(bucket.bytes.value);
    }
    return result;
}

std::vector<std::size_t> completed_by(const std::vector<Bucket>& buckets) {
    std::vector<std::size_t> result;
    for (const Bucket& bucket : buckets) {
        result.push_back(bucket.completed_by);
    }
    return result;
}

/// A convolution without bias and its batch norm, in fp32.
Layer convolution(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t side) {
    return layer(name, {Bytes{4 * in * out * side * side}, Bytes{4 * out}, Bytes{4 * out}});
}

/// torchvision's ResNet-18.
std::vector<Layer> resnet18() {
    std::vector<Layer> layers{convolution("conv1", 3, 64, 7)};
    std::int64_t in = 64;
    for (const std::int64_t out : {64, 128, 256, 512}) {
        for (int block = 0; block < 2; ++block) {
            layers.push_back(convolution("3x3 a", in, out, 3));
            layers.push_back(convolution("3x3 b", out, out, 3));
            if (in != out) {
                layers.push_back(convolution("projection", in, out, 1));
            }
            in = out;
        }
    }
    layers.push_back(layer("fc", {Bytes{4 * 512 * 1000}, Bytes{4 * 1000}}));
    return layers;
}

}  // namespace

TEST_CASE("buckets: those of ResNet-18 are the ones that PyTorch was seen to reduce", "[workload]") {
    // pytorch/pytorch, issue 48880: all-reduces of the ImageNet example (ResNet-18, 11,689,512 parameters in fp32) with
    // the default cap of 25 MiB and with 35 MiB, the first bucket's cap being 1 MiB.
    const std::vector<Layer> layers = resnet18();
    CHECK(sizes(gradient_buckets(layers, 1_MiB, 25_MiB)) == std::vector<std::int64_t>{2052000, 28852224, 15853824});
    CHECK(sizes(gradient_buckets(layers, 1_MiB, 35_MiB)) == std::vector<std::int64_t>{2052000, 38297600, 6408448});
}

TEST_CASE("buckets: one closes with the tensor that takes it to its cap", "[workload]") {
    // Reversed: 4 6 | 10 | 9 2 | 1.  4 + 6 reaches 10 exactly; 10 does alone; 9 does not, 9 + 2 does.
    const std::vector<Layer> layers{layer("a", {1_B}), layer("b", {2_B, 9_B}), layer("c", {10_B}),
                                    layer("d", {6_B, 4_B})};
    const std::vector<Bucket> buckets = gradient_buckets(layers, 10_B, 10_B);
    CHECK(sizes(buckets) == std::vector<std::int64_t>{10, 10, 11, 1});
    CHECK(completed_by(buckets) == std::vector<std::size_t>{3, 2, 1, 0});
}

TEST_CASE("buckets: a layer of several tensors may fill several, all complete with its backward pass", "[workload]") {
    const std::vector<Layer> layers{layer("a", {3_B}), layer("b", {5_B, 5_B, 5_B})};
    const std::vector<Bucket> buckets = gradient_buckets(layers, 5_B, 5_B);
    CHECK(sizes(buckets) == std::vector<std::int64_t>{5, 5, 5, 3});
    CHECK(completed_by(buckets) == std::vector<std::size_t>{1, 1, 1, 0});
}

TEST_CASE("buckets: only the first has the first cap", "[workload]") {
    const std::vector<Layer> layers(6, layer("a", {4_B}));
    CHECK(sizes(gradient_buckets(layers, 1_B, 8_B)) == std::vector<std::int64_t>{4, 8, 8, 4});
    CHECK(sizes(gradient_buckets(layers, 8_B, 1_B)) == std::vector<std::int64_t>{8, 4, 4, 4, 4});
    CHECK(sizes(gradient_buckets(layers, 1_MiB, 1_MiB)) == std::vector<std::int64_t>{24});
}

TEST_CASE("buckets: layers without parameters are passed over", "[workload]") {
    const std::vector<Layer> layers{layer("a", {}), layer("b", {7_B}), layer("c", {})};
    const std::vector<Bucket> buckets = gradient_buckets(layers, 1_MiB, 1_MiB);
    CHECK(sizes(buckets) == std::vector<std::int64_t>{7});
    CHECK(completed_by(buckets) == std::vector<std::size_t>{1});
    CHECK(gradient_buckets(std::vector<Layer>{layer("a", {})}, 1_B, 1_B).empty());
}

TEST_CASE("buckets: no gradient is lost or split", "[workload]") {
    const std::vector<Layer> layers = resnet18();
    for (const std::int64_t cap : {1, 1000, 1 << 20, 100 << 20}) {
        CAPTURE(cap);
        std::int64_t total = 0;
        std::size_t last = layers.size();
        for (const Bucket& bucket : gradient_buckets(layers, 1_MiB, Bytes{cap})) {
            CHECK(bucket.completed_by <= last);
            last = bucket.completed_by;
            total += bucket.bytes.value;
        }
        CHECK(total == 4 * 11689512);
    }
}

TEST_CASE("buckets: a cap of nothing is refused", "[workload][error]") {
    CHECK_THROWS_WITH(gradient_buckets({}, 0_B, 1_B), "the cap of a bucket is at least 1 byte");
    CHECK_THROWS_WITH(gradient_buckets({}, 1_B, 0_B), "the cap of a bucket is at least 1 byte");
}
