#include <array>
#include <numeric>

#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/fabric/check.h"
#include "sim/fabric/switch_tiers.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

std::size_t worst_findings(const Fabric& fabric) {
    std::size_t count = 0;
    for (const Finding& finding : check(fabric)) {
        UNSCOPED_INFO(finding.message);
        count += finding.severity == Severity::note ? 0 : 1;
    }
    return count;
}

}  // namespace

TEST_CASE("shipped topologies: all load with their defaults, have a summary, and look right", "[fabric]") {
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    const std::vector<std::string> names = data.names("topologies");
    CHECK(names.size() >= 11);
    for (const std::string& name : names) {
        CAPTURE(name);
        const YamlFile file = YamlFile::load(data.resolve("topologies", name));
        YamlMap root = file.root();
        const auto summary = root.find("summary");
        REQUIRE(summary);
        CHECK(summary->text().find('\n') == std::string::npos);
        for (const Parameter& parameter : file.parameters().declared()) {
            CAPTURE(parameter.name);
            CHECK_FALSE(parameter.help.empty());
        }
        const Fabric fabric = load_fabric(file, data);
        CHECK(fabric.name() == name);
        CHECK(fabric.gpus().size() >= 8);
        for (const VertexId gpu : fabric.gpus()) {
            CHECK(fabric.gpu_model(gpu).fp16_peak);
        }
        // The cube mesh without relaying is the one whose GPUs do not all reach each other.
        CHECK(worst_findings(fabric) == (name == "dgx-1-v100" ? 1 : 0));
    }
}

TEST_CASE("shipped topologies: every size of the DGX and MI300X pods loads and looks right", "[fabric]") {
    const std::string name = GENERATE("dgx-a100", "dgx-h100", "dgx-b200", "mi300x");
    const std::uint32_t nodes = GENERATE(1U, 2U, 3U, 33U, 65U, 100U, 129U, 257U);
    CAPTURE(name, nodes);
    const Fabric fabric = load_shipped(name, {{"nodes", std::to_string(nodes)}});
    CHECK(fabric.node_count() == nodes);
    CHECK(fabric.gpus().size() == nodes * 8);
    CHECK(worst_findings(fabric) == 0);
}

TEST_CASE("shipped topologies: every size of NVL72 pods loads and looks right", "[fabric]") {
    const std::uint32_t racks = GENERATE(1U, 2U, 3U, 7U, 8U, 9U, 17U, 32U);
    CAPTURE(racks);
    const Fabric fabric = load_shipped("gb200-nvl72", {{"racks", std::to_string(racks)}});
    CHECK(fabric.gpus().size() == racks * 72);
    CHECK(worst_findings(fabric) == 0);
}

TEST_CASE("shipped topologies: 131,072 GPUs load", "[fabric]") {
    // 16384 x 8; three levels of 64-port switches end at 65,536, as k^3 / 4
    const Fabric four_levels = load_shipped("dgx-h100", {{"nodes", "16384"}});
    CHECK(four_levels.gpus().size() == 131'072);
    CHECK(switch_tiers(four_levels).size() == 4);
    const Fabric three_levels = load_shipped("dgx-h100", {{"nodes", "16384"}, {"ports", "128"}});
    CHECK(switch_tiers(three_levels).size() == 3);
    CHECK(three_levels.link_count() > 2'000'000);
    CHECK(load_shipped("fat-tree", {{"gpus", "131072"}, {"radix", "128"}}).gpus().size() == 131'072);
    CHECK(load_shipped("torus-3d", {{"x", "64"}, {"y", "64"}, {"z", "32"}}).link_count() == 131'072 * 6);
    CHECK(load_shipped("single-switch", {{"gpus", "131072"}}).link_count() == 131'072 * 2);
}

TEST_CASE("shipped topologies: too many GPUs for the switches are told with a radix that would do", "[fabric][error]") {
    CHECK_THROWS_WITH(
        load_shipped("fat-tree", {{"gpus", "131072"}, {"radix", "64"}, {"levels", "3"}}),
        Catch::EndsWith("fabric: 131072 endpoints make 4096 leaves, but 3 levels of 64-port switches connect at "
                        "most 2048; switches with 82 ports or 4 levels would do"));
    CHECK(load_shipped("fat-tree", {{"gpus", "131072"}, {"radix", "82"}}).gpus().size() == 131'072);
}

TEST_CASE("single-switch: one link of the given latency on each GPU", "[fabric]") {
    const Fabric fabric =
        load_shipped("single-switch", {{"gpus", "8"}, {"bandwidth", "400 GB/s"}, {"latency", "936.25 ns"}});
    CHECK(fabric.gpus().size() == 8);
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const Link& link = fabric.link(id_at<LinkId>(i));
        CHECK(link.bandwidth.value == 400e9);
        CHECK(link.latency.value == Approx(936.25e-9).epsilon(1e-15));
    }
    CHECK_FALSE(fabric.vertex(fabric.find("switch0").value()).reduces);
    CHECK(load_shipped("single-switch", {{"reduces", "true"}}).find("switch0"));
}

// A cube mesh without any NIC that another simulator refused.
TEST_CASE("dgx-1-v100: the cube mesh has the NVLinks as wired, six on each GPU", "[fabric][case]") {
    const Fabric fabric = load_shipped("dgx-1-v100");
    struct Pair {
        int a, b;
        std::uint32_t cables;
    };
    constexpr std::array wired{Pair{0, 1, 1}, Pair{0, 2, 1}, Pair{0, 3, 2}, Pair{0, 4, 2}, Pair{1, 2, 2}, Pair{1, 3, 1},
                               Pair{1, 5, 2}, Pair{2, 3, 2}, Pair{2, 6, 1}, Pair{3, 7, 1}, Pair{4, 5, 1}, Pair{4, 6, 1},
                               Pair{4, 7, 2}, Pair{5, 6, 2}, Pair{5, 7, 1}, Pair{6, 7, 2}};
    CHECK(fabric.vertex_count() == 8);
    CHECK(fabric.link_count() == 2 * wired.size());  // 12 of 28 pairs have none
    for (const auto& [a, b, cables] : wired) {
        const auto links = links_between(fabric, fmt::format("node0.gpu{}", a), fmt::format("node0.gpu{}", b));
        REQUIRE(links.size() == 1);
        CHECK(fabric.link(links.front()).cables == cables);
        CHECK(fabric.link(links.front()).line_rate.value == 25e9);
    }
    for (const VertexId gpu : fabric.gpus()) {
        std::uint32_t cables = 0;
        for (const LinkId link : fabric.links_out_of(gpu)) {
            cables += fabric.link(link).cables;
        }
        CHECK(cables == 6);
        CHECK_FALSE(fabric.vertex(gpu).relays);
    }
    // The ring over double links only.
    constexpr std::array ring{0, 4, 7, 6, 5, 1, 2, 3};
    for (std::size_t i = 0; i < ring.size(); ++i) {
        const auto links = links_between(fabric, fmt::format("node0.gpu{}", ring[i]),
                                         fmt::format("node0.gpu{}", ring[(i + 1) % ring.size()]));
        REQUIRE(links.size() == 1);
        CHECK(fabric.link(links.front()).cables == 2);
    }
    const Fabric relaying = load_shipped("dgx-1-v100", {{"relay", "true"}});
    CHECK(relaying.vertex(relaying.gpus()[0]).relays);
    CHECK(worst_findings(relaying) == 0);
}

TEST_CASE("shipped topologies: NVLink and NIC rates are those of the datasheets", "[fabric]") {
    struct Row {
        std::string_view name;
        std::size_t planes;
        double scale_up;  // GB/s of a GPU, line rate
        double nic;       // GB/s
    };
    const auto [name, planes, scale_up, nic] =
        GENERATE(Row{"dgx-a100", 6, 300, 25}, Row{"dgx-h100", 4, 450, 50}, Row{"dgx-b200", 2, 900, 50},
                 Row{"gb200-nvl72", 18, 900, 50}, Row{"mi300x", 7, 448, 50});
    CAPTURE(name);
    const Fabric fabric = load_shipped(name);
    for (const VertexId gpu : fabric.gpus()) {
        double rate = 0;
        std::size_t links = 0;
        for (const LinkId link : fabric.links_out_of(gpu)) {
            if (fabric.link(link).tier == Tier::scale_up) {
                rate += fabric.link(link).line_rate.value * fabric.link(link).cables;
                ++links;
            }
        }
        CHECK(rate == Approx(scale_up * 1e9));
        CHECK(links == planes);
    }
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const Link& link = fabric.link(id_at<LinkId>(i));
        if (link.tier == Tier::scale_out) {
            CHECK(link.line_rate.value == nic * 1e9);
        }
    }
}

TEST_CASE("shipped topologies: what a GPU of a made-up fabric can do is a parameter", "[fabric]") {
    const auto* const name = GENERATE("single-switch", "fat-tree", "dragonfly", "torus-3d");
    CAPTURE(name);
    const Fabric usual = load_shipped(name);
    CHECK(usual.gpu_model(usual.gpus().front()).memory_bandwidth.has_value());
    const Fabric fabric = load_shipped(name, {{"fp16_peak", "100 TFLOP/s"}, {"memory_bandwidth", "1 TB/s"}});
    CHECK(fabric.gpu_model(fabric.gpus().front()).fp16_peak->value == 100e12);
    CHECK(fabric.gpu_model(fabric.gpus().front()).memory_bandwidth->value == 1e12);
}
