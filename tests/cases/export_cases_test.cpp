#include <string>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>
#include <pugixml.hpp>

using lockstep::test::run_command;
using lockstep::test::Shell;
using lockstep::test::written;
using nlohmann::json;

namespace {

/// What `topology export` prints. Fails the test unless it exits 0.
std::string exported(std::vector<std::string> arguments, const std::string& format) {
    arguments.insert(arguments.begin(), {"topology", "export"});
    arguments.insert(arguments.end(), {"--format", format});
    const auto outcome = run_command(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return outcome.out;
}

pugi::xml_document parsed(const std::string& text) {
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_string(text.c_str());
    INFO(result.description());
    REQUIRE(result);
    return document;
}

std::size_t count_of(const pugi::xml_node& node, const char* path) { return node.select_nodes(path).size(); }

/// Three GPUs of one machine and two planes of switches, of which the last GPU is on the first only. Names that need
/// care in any format.
constexpr const char* uneven_planes = R"(
summary: planes that not all GPUs are on
vertices:
  - {name: 'a"b', kind: gpu, node: m}
  - {name: 'c<&>d', kind: gpu, node: m}
  - {name: 'e--f', kind: gpu, node: m}
  - {name: left, kind: switch, node: m}
  - {name: right, kind: switch, node: m}
links:
  - {between: ['a"b', left], bandwidth: 30 GB/s, latency: 1 us, kind: nvlink}
  - {between: ['a"b', right], bandwidth: 10 GB/s, latency: 3 us, kind: nvlink}
  - {between: ['c<&>d', left], bandwidth: 30 GB/s, latency: 1 us, kind: nvlink}
  - {between: ['c<&>d', right], bandwidth: 10 GB/s, latency: 3 us, kind: nvlink}
  - {between: ['e--f', left], bandwidth: 30 GB/s, latency: 1 us, kind: nvlink}
)";

}  // namespace

TEST_CASE("case: a topology as a drawing for Graphviz", "[cases]") {
    CHECK(exported({"single-switch", "--set", "gpus=2"}, "dot") ==
          "graph G {\n"
          "label=\"single-switch\";\n"
          "gpu0[shape=box];\n"
          "gpu1[shape=box];\n"
          "switch0[shape=hexagon];\n"
          "gpu0--switch0 [label=\"50 GB/s\"];\n"
          "gpu1--switch0 [label=\"50 GB/s\"];\n"
          "}\n");
    const Shell shell;
    const std::string text = exported({written(shell, "planes.yaml", uneven_planes)}, "dot");
    CHECK_THAT(text, Catch::Contains("\"a\\\"b\"[shape=box]") && Catch::Contains("\"c<&>d\"--right") &&
                         Catch::Contains("\"e--f\"--left "));
}

TEST_CASE("case: a topology as GraphML", "[cases]") {
    const pugi::xml_document document = parsed(exported({"dgx-h100", "--set", "nodes=2"}, "graphml"));
    const pugi::xml_node graph = document.select_node("/graphml/graph").node();
    // Each node has 8 GPUs, 4 NVSwitches, 8 NICs and a PCIe tree; all of it as `topology show` counts it.
    const json summary = lockstep::test::run_json({"topology", "show", "dgx-h100", "--set", "nodes=2"});
    CHECK(count_of(graph, "node[data[@key='node_kind']='gpu']") == 16);
    CHECK(count_of(graph, "node[data[@key='node_kind']='nic']") == 16);
    CHECK(count_of(graph, "edge") == summary.at("links").get<std::size_t>());
    // 16 GPUs on four planes each.
    CHECK(count_of(graph, "edge[data[@key='edge_kind']='nvlink']") == 64);
    const pugi::xml_node link = graph.select_node("edge[@source='node0.gpu0'][@target='node0.switch0']").node();
    // Of 450 GB/s at 0.82, a quarter or so is on each plane: 18 links over four planes are 5, 5, 4 and 4.
    CHECK(link.select_node("data[@key='edge_cables']").node().text().as_int() >= 4);
    const Shell shell;
    const pugi::xml_document odd = parsed(exported({written(shell, "planes.yaml", uneven_planes)}, "graphml"));
    CHECK(count_of(odd, "/graphml/graph/node[@id='c<&>d']") == 1);
    CHECK(count_of(odd, "/graphml/graph/node[@id='a\"b']") == 1);
    CHECK(count_of(odd, "/graphml/graph/edge") == 5);
}

TEST_CASE("case: a topology as JSON", "[cases]") {
    const json graph = json::parse(exported({"single-switch", "--set", "gpus=3", "--set", "reduces=true"}, "json"));
    CHECK(graph.at("schema") == "lockstep.graph/1");
    CHECK(graph.at("directed") == false);
    CHECK(graph.at("multigraph") == true);
    CHECK(graph.at("graph").at("name") == "single-switch");
    REQUIRE(graph.at("nodes").size() == 4);
    CHECK(graph.at("nodes").at(0).at("id") == "gpu0");
    CHECK(graph.at("nodes").at(0).at("kind") == "gpu");
    CHECK(graph.at("nodes").at(3).at("reduces") == true);
    REQUIRE(graph.at("edges").size() == 3);
    const json& link = graph.at("edges").at(2);
    CHECK(link.at("source") == "gpu2");
    CHECK(link.at("target") == "switch0");
    CHECK(link.at("bandwidth_Bps") == 50e9);
    CHECK(link.at("latency_s") == 10e-9);
}

TEST_CASE("case: a platform for SimGrid has a host for each rank and a route for each pair", "[cases]") {
    const pugi::xml_document document = parsed(exported({"fat-tree", "--set", "gpus=16", "--ranks", "6"}, "simgrid"));
    const pugi::xml_node zone = document.select_node("/platform[@version='4.1']/zone[@routing='Full']").node();
    CHECK(count_of(zone, "host") == 6);
    CHECK(count_of(zone, "route") == 6 * 5);
    CHECK(count_of(zone, "route[@src='node0.gpu0'][@dst='node0.gpu0'] | route[not(@symmetrical='NO')]") == 0);
    // Every link that a route names is there, and no other.
    for (const pugi::xpath_node& used : zone.select_nodes("route/link_ctn")) {
        const std::string id = used.node().attribute("id").value();
        CHECK(count_of(zone, ("link[@id='" + id + "']").c_str()) == 1);
    }
    for (const pugi::xpath_node& link : zone.select_nodes("link")) {
        const std::string id = link.node().attribute("id").value();
        CHECK(count_of(zone, ("route/link_ctn[@id='" + id + "']").c_str()) > 0);
    }
}

TEST_CASE("case: in a platform for SimGrid striped links have the width and the latency of all", "[cases]") {
    const Shell shell;
    const pugi::xml_document document = parsed(exported({written(shell, "planes.yaml", uneven_planes)}, "simgrid"));
    const pugi::xml_node zone = document.select_node("/platform/zone").node();
    const auto bandwidth = [&](const std::string& id) {
        return std::stod(zone.select_node(("link[@id='" + id + "']").c_str()).node().attribute("bandwidth").value());
    };
    const auto listed = [&](const std::string& from, const std::string& to, const std::string& link) {
        return count_of(zone, ("route[@src='" + from + "'][@dst='" + to + "']/link_ctn[@id='" + link + "']").c_str());
    };
    // Between the GPUs on both planes 3/4 of a flow goes left and 1/4 right: 40 GB/s in all. The last GPU is reached by
    // the left plane alone. So flows cross the left link of the first GPU with 3/4 and with all of their bytes: units
    // of a quarter, 30 GB/s / (1/4) = 120 GB/s, listed three and four times. The right one only ever carries a quarter.
    CHECK(bandwidth("a\"b--left") == Approx(120e9));
    CHECK(listed("a\"b", "c<&>d", "a\"b--left") == 3);
    CHECK(listed("a\"b", "e--f", "a\"b--left") == 4);
    CHECK(bandwidth("a\"b--right") == Approx(40e9));
    CHECK(listed("a\"b", "c<&>d", "a\"b--right") == 1);
    CHECK(listed("a\"b", "e--f", "a\"b--right") == 0);
    // The link of the last GPU is crossed whole and stays as it is.
    CHECK(bandwidth("e--f--left") == Approx(30e9));
    // A striped flow has come when its slowest part has: 2 * 3 us.
    const auto latency = [&](const std::string& from, const std::string& to) {
        double sum = 0;
        for (const pugi::xpath_node& used :
             zone.select_nodes(("route[@src='" + from + "'][@dst='" + to + "']/link_ctn").c_str())) {
            const std::string id = used.node().attribute("id").value();
            sum += std::stod(zone.select_node(("link[@id='" + id + "']").c_str()).node().attribute("latency").value());
        }
        return sum;
    };
    CHECK(latency("a\"b", "c<&>d") == Approx(6e-6));
    CHECK(latency("c<&>d", "a\"b") == Approx(6e-6));
    CHECK(latency("a\"b", "e--f") == Approx(2e-6));
    CHECK(latency("e--f", "a\"b") == Approx(2e-6));
}

TEST_CASE("case: exports that cannot be are refused before anything is written", "[cases]") {
    const Shell shell;
    const auto target = written(shell, "old.xml", "old");
    const auto refused = [&](std::vector<std::string> arguments, int exit_code, const std::string& reason) {
        arguments.insert(arguments.begin(), {"topology", "export"});
        arguments.insert(arguments.end(), {"-o", target});
        CAPTURE(arguments);
        const auto outcome = run_command(arguments);
        CHECK(outcome.exit_code == exit_code);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, Catch::Contains(reason));
        CHECK(shell.read("old.xml") == "old");
    };
    refused({"single-switch"}, 2, "--format is required");
    refused({"single-switch", "--format", "simgird"}, 2, "did you mean `simgrid`?");
    refused({"single-switch", "--format", "dot", "--ranks", "4"}, 2, "--ranks");
    refused({"single-switch", "--format", "simgrid", "--ranks", "9"}, 2, "--ranks");
    refused({"single-switch", "--format", "simgrid", "--set", "gpus=2000"}, 2, "at most 1024");
    refused({"dgx-1-v100", "--format", "simgrid"}, 1, "no path from");
    const auto over_itself = run_command({"topology", "export", written(shell, "in.yaml", uneven_planes), "--format",
                                          "json", "-o", (shell.folder() / "in.yaml").string()});
    CHECK(over_itself.exit_code == 2);
    CHECK(shell.read("in.yaml") == uneven_planes);
    const auto good = run_command({"topology", "export", "single-switch", "--format", "json", "-o", target});
    CHECK(good.exit_code == 0);
    CHECK(good.out.empty());
    CHECK(json::parse(shell.read("old.xml")).at("nodes").size() == 9);
}
