#include "tests/cases/command.h"
#include <catch2/catch.hpp>

using lockstep::test::any_engine;
using lockstep::test::run_command;
using lockstep::test::run_json;
using lockstep::test::Shell;
using lockstep::test::written;
using nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

Arguments single_switch(const std::string& gpus, const std::string& bandwidth, const std::string& latency) {
    return {"collective", "topologies/single-switch.yaml", "--set", "gpus=" + gpus,
            "--set",      "bandwidth=" + bandwidth,        "--set", "latency=" + latency};
}

/// One row of a collective table: `size` in -b's spelling.
json row(Arguments arguments, const std::string& size, const std::string& algorithm,
         const std::string& operation = "all_reduce", const std::string& engine = "fluid") {
    arguments.insert(arguments.end(),
                     {"--op", operation, "--algorithm", algorithm, "-b", size, "-e", size, "--engine", engine});
    const json result = run_json(arguments);
    REQUIRE(result.at("rows").size() == 1);
    const json& only = result.at("rows").at(0);
    // No result may beat the bound.
    CHECK(only.at("time_s").get<double>() >= only.at("lower_bound_s").get<double>() * (1 - 1e-9));
    return only;
}

}  // namespace

TEST_CASE("case: ring and direct both send 2 * 7/8 of the data over each port", "[cases]") {
    const auto engine = any_engine();
    const auto fabric = single_switch("8", "50 GB/s", "10 ns");
    // 2 * 7/8 * 100e6 B / 50e9 B/s = 3.5 ms, plus 14 (ring) or 2 (direct) messages over two links of 10 ns.
    const json ring = row(fabric, "100MB", "ring", "all_reduce", engine);
    CHECK(ring.at("time_s").get<double>() == Approx(3.50028e-3).epsilon(1e-9));
    CHECK(ring.at("size_bytes") == 100'000'000);
    CHECK(ring.at("algbw_Bps").get<double>() == Approx(100e6 / 3.50028e-3));
    CHECK(ring.at("busbw_Bps").get<double>() == Approx(100e6 / 3.50028e-3 * 2 * 7 / 8));
    CHECK(ring.at("busiest_link").at("bytes").get<double>() == Approx(175e6));
    CHECK(row(fabric, "100MB", "direct", "all_reduce", engine).at("time_s").get<double>() ==
          Approx(3.50004e-3).epsilon(1e-9));
}

TEST_CASE("case: a message crosses a switch cut-through", "[cases]") {
    const auto engine = any_engine();
    // Two ranks, halving-doubling: two messages of 50 MB, each 2 * 5 us of latency and its 50 MB at 25 GB/s once.
    CHECK(row(single_switch("2", "25 GB/s", "5 us"), "100MB", "halving-doubling", "all_reduce", engine)
              .at("time_s")
              .get<double>() == Approx(2 * (10e-6 + 2e-3)).epsilon(1e-9));
}

TEST_CASE("case: GB is 1e9", "[cases]") {
    const auto engine = any_engine();
    // 14 * (2 * 936.25 ns + 131072 B / 400e9 B/s)
    CHECK(row(single_switch("8", "400 GB/s", "936.25 ns"), "1MiB", "ring", "all_reduce", engine)
              .at("time_s")
              .get<double>() == Approx(30.80252e-6).epsilon(1e-6));
}

TEST_CASE("case: rings and direct exchange of 8 to 256 ranks take their closed forms", "[cases]") {
    const int ranks = GENERATE(8, 9, 64, 256);
    CAPTURE(ranks);
    const auto fabric = single_switch(std::to_string(ranks), "50 GB/s", "1 us");
    const double bandwidth_part = 2.0 * (ranks - 1) / ranks * ranks * 1e6 / 50e9;
    const auto size = std::to_string(ranks) + "MB";
    CHECK(row(fabric, size, "ring").at("time_s").get<double>() ==
          Approx(bandwidth_part + 2 * (ranks - 1) * 2e-6).epsilon(1e-9));
    if (ranks <= 64) {
        CHECK(row(fabric, size, "direct").at("time_s").get<double>() ==
              Approx(bandwidth_part + 2 * 2e-6).epsilon(1e-9));
    }
}

TEST_CASE("case: a ring over a non-blocking fat tree takes the closed form in the default placement", "[cases]") {
    const auto engine = any_engine();
    // 16 GPUs, radix 8, two levels: neighbours under one leaf are two links apart, at leaf borders four. All 30 steps
    // wait for the slowest hop, which crosses leaves, so the time lies between 30 times the near and the far latency.
    const json tree = row({"collective", "fat-tree", "--set", "gpus=16", "--set", "radix=8", "--set", "levels=2",
                           "--set", "oversubscription=1", "--set", "bandwidth=50 GB/s", "--set", "latency=10 ns"},
                          "160MB", "ring", "all_reduce", engine);
    const double bytes_part = 2.0 * 15 / 16 * 160e6 / 50e9;
    CHECK(tree.at("time_s").get<double>() >= bytes_part + 30 * 20e-9 - 1e-12);
    CHECK(tree.at("time_s").get<double>() <= bytes_part + 30 * 60e-9);
}

TEST_CASE("case: sizes that do not divide, and none at all", "[cases]") {
    const auto engine = any_engine();
    const auto fabric = single_switch("7", "50 GB/s", "1 us");
    for (const std::string algorithm : {"ring", "direct", "tree"}) {
        CAPTURE(algorithm);
        CHECK(row(fabric, "100", algorithm, "all_reduce", engine).at("time_s").get<double>() > 0);
        CHECK(row(fabric, "1", algorithm, "all_reduce", engine).at("time_s").get<double>() > 0);
        CHECK(row(fabric, "0", algorithm, "all_reduce", engine).at("time_s").get<double>() == 0);
    }
    // One rank has nobody to talk to.
    CHECK(
        row(single_switch("1", "50 GB/s", "1 us"), "100MB", "ring", "all_reduce", engine).at("time_s").get<double>() ==
        0);
}

TEST_CASE("case: twice the size takes twice the time, and sizes are echoed as read", "[cases]") {
    auto arguments = single_switch("8", "50 GB/s", "1 us");
    arguments.insert(arguments.end(), {"-b", "256M", "-e", "1G", "-f", "2", "--algorithm", "ring"});
    const json rows = run_json(arguments).at("rows");
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].at("size_bytes") == 268'435'456);
    CHECK(rows[1].at("size_bytes") == 536'870'912);
    CHECK(rows[2].at("size_bytes") == 1'073'741'824);
    CHECK(rows[1].at("time_s").get<double>() > 1.9 * rows[0].at("time_s").get<double>());
    CHECK(rows[2].at("time_s").get<double>() > 1.9 * rows[1].at("time_s").get<double>());
}

TEST_CASE("case: two senders into one port share it evenly", "[cases]") {
    const auto engine = any_engine();
    // all_to_all by direct exchange among 3: each port takes two messages of 1/3 of 30 MB at once, 20 MB at 50 GB/s in
    // all.
    CHECK(
        row(single_switch("3", "50 GB/s", "0 s"), "30MB", "direct", "all_to_all", engine).at("time_s").get<double>() ==
        Approx(20e6 / 50e9).epsilon(1e-9));
}

TEST_CASE("case: the same run twice gives the same bytes", "[cases]") {
    const auto engine = any_engine();
    const Arguments arguments = {"collective", "dgx-a100", "--set",          "nodes=2",  "-b",        "1M",
                                 "-e",         "4M",       "--algorithm",    "all",      "--routing", "ecmp",
                                 "--seed",     "7",        "--reproducible", "--engine", engine,      "--json",
                                 "-"};
    const auto first = run_command(arguments);
    const auto second = run_command(arguments);
    CHECK(first.exit_code == 0);
    CHECK(first.out == second.out);
}

TEST_CASE("case: four parallel cables carry four flows by spray, and one cable's worth each by ecmp", "[cases]") {
    const auto engine = any_engine();
    const Shell shell;
    // Two switches joined by four cables of 100 Gb/s, four GPUs of 400 Gb/s on each.
    std::string yaml =
        "summary: two switches, four cables\nvertices:\n  - {name: left, kind: switch}\n"
        "  - {name: right, kind: switch}\n";
    std::string links = "links:\n  - {between: [left, right], bandwidth: 100 Gb/s, latency: 0 s, cables: 4}\n";
    for (int i = 0; i < 4; ++i) {
        for (const std::string side : {"left", "right"}) {
            yaml += "  - {name: " + side + std::to_string(i) + ", kind: gpu}\n";
            links +=
                "  - {between: [" + side + std::to_string(i) + ", " + side + "], bandwidth: 400 Gb/s, latency: 0 s}\n";
        }
    }
    const auto file = written(shell, "cables.yaml", yaml + links);
    const auto placement = written(shell, "placement.txt", "left0\nright0\n");
    const auto pair = [&](const std::string& routing) {
        return row({"collective", file, "--placement", placement, "--routing", routing}, "100MB", "ring", "broadcast",
                   engine);
    };
    // One flow of 100 MB: at 400 Gb/s = 50 GB/s 2 ms, on one cable of 12.5 GB/s 8 ms.
    CHECK(pair("spray").at("time_s").get<double>() == Approx(2e-3).epsilon(1e-6));
    CHECK(pair("ecmp").at("time_s").get<double>() == Approx(8e-3).epsilon(1e-6));
    // All eight by direct all_to_all: 16 flows of 1/8 of 80 MB cross in each direction, 160 MB at 4 * 12.5 GB/s.
    CHECK(row({"collective", file, "--routing", "spray"}, "80MB", "direct", "all_to_all", engine)
              .at("time_s")
              .get<double>() == Approx(3.2e-3).epsilon(1e-6));
}

TEST_CASE("case: traffic is striped over all NVSwitch planes, and the output says so", "[cases]") {
    // 8 GPUs of an H100 node have 18 links over four switches. Two ranks, 1 GiB: 2 * 1/2 of it at the full rate of all
    // planes.
    const json node = row({"collective", "dgx-h100", "--set", "nodes=1", "--ranks", "2"}, "1G", "ring");
    CHECK(node.at("busbw_Bps").get<double>() > 0.95 * 450e9 * 0.75);
    const auto text = run_command({"topology", "show", "dgx-h100", "--set", "nodes=1"});
    CHECK_THAT(text.out, Catch::Contains("planes"));
}

TEST_CASE("case: a cube mesh without switch runs rings over direct links, and relays only where allowed", "[cases]") {
    const auto engine = any_engine();
    const json ring = row({"collective", "dgx-1-v100"}, "64MB", "ring", "all_reduce", engine);
    CHECK(ring.at("time_s").get<double>() > 0);

    const auto refused = run_command({"collective", "dgx-1-v100", "--op", "all_to_all", "--algorithm", "direct", "-b",
                                      "1M", "-e", "1M", "--engine", engine});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Catch::Contains("no path") && Catch::Contains("gpu0") && Catch::Contains("gpu5") &&
                                Catch::Contains("relay"));
    CHECK(row({"collective", "dgx-1-v100", "--set", "relay=true"}, "64MB", "direct", "all_to_all", engine)
              .at("time_s")
              .get<double>() > 0);
}

TEST_CASE("case: a host without a NIC and a node without a fabric are fine", "[cases]") {
    CHECK(run_command({"topology", "show", "dgx-1-v100"}).exit_code == 0);
    CHECK(run_command({"topology", "check", "pcie-8gpu"}).exit_code == 0);
}
