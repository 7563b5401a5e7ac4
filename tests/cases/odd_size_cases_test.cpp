#include <array>
#include <set>
#include <string>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using lockstep::test::run_command;
using lockstep::test::run_json;
using lockstep::test::Shell;
using lockstep::test::written;
using nlohmann::json;

// Sizes that do not divide by the ranks, none at all, and one rank alone: for every algorithm and operation of the
// table.

namespace {

using Arguments = std::vector<std::string>;

/// Seven GPUs at a switch that adds up, seen as a ring by those that want dimensions.
Arguments seven_at_a_switch() {
    return {"collective", "single-switch", "--set", "gpus=7", "--set", "reduces=true", "--dims", "7"};
}

/// Two machines with seven GPUs each, for algorithms that tell machines apart.
Arguments two_of_seven(const Shell& shell) {
    std::string names;
    for (int node = 0; node < 2; ++node) {
        for (int gpu = 0; gpu < 7; ++gpu) {
            names += fmt::format("node{}.gpu{}\n", node, gpu);
        }
    }
    return {"collective", "dgx-h100", "--set", "nodes=2", "--placement", written(shell, "gpus.txt", names)};
}

Arguments with(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

/// The operation's own flags, for `size` bytes.
Arguments flags_of(const Shell& shell, const std::string& operation, std::size_t ranks, const std::string& size) {
    Arguments flags{"--op", operation, "--algorithm", "all"};
    if (operation == "all_to_all_v") {
        std::string matrix;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            matrix += size;
            for (std::size_t other = 1; other < ranks; ++other) {
                matrix += other == rank ? ",0" : "," + size;
            }
            matrix += "\n";
        }
        return with(flags, {"--sizes", written(shell, "sizes.csv", matrix)});
    }
    return operation == "barrier" ? flags : with(flags, {"-b", size, "-e", size});
}

std::set<std::string> algorithms_of(const std::string& operation) {
    std::set<std::string> names;
    for (const json& algorithm : run_json({"list", "algorithms"})) {
        for (const json& known : algorithm.at("operations")) {
            if (known == operation) {
                names.insert(algorithm.at("name").get<std::string>());
            }
        }
    }
    return names;
}

const std::array<std::string, 12> operations{"all_reduce", "reduce_scatter", "all_gather",   "broadcast",
                                             "reduce",     "all_to_all",     "all_to_all_v", "gather",
                                             "scatter",    "send_recv",      "permutation",  "barrier"};

}  // namespace

TEST_CASE("case: every operation of the table is among those tried with odd sizes", "[cases]") {
    std::set<std::string> known;
    for (const json& algorithm : run_json({"list", "algorithms"})) {
        for (const json& operation : algorithm.at("operations")) {
            known.insert(operation.get<std::string>());
        }
    }
    CHECK(known == std::set<std::string>(operations.begin(), operations.end()));
}

// A case for each operation, so that they run side by side.
TEMPLATE_TEST_CASE_SIG("case: 100 bytes, 1 byte and none over 7 ranks, by every algorithm of operation", "[cases]",
                       ((std::size_t Operation), Operation), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) {
    const std::string& operation = operations.at(Operation);
    CAPTURE(operation);
    const Shell shell;
    std::set<std::string> run;
    for (const std::string size : {"100", "1", "0"}) {
        CAPTURE(size);
        const json at_switch = run_json(with(seven_at_a_switch(), flags_of(shell, operation, 7, size)));
        const json on_machines = run_json(with(two_of_seven(shell), flags_of(shell, operation, 14, size)));
        for (const json& result : {at_switch, on_machines}) {
            for (const json& row : result.at("rows")) {
                CAPTURE(row.dump());
                run.insert(row.at("algorithm").get<std::string>());
                const double time = row.at("time_s").get<double>();
                // Nothing moves no data and waits for nobody, but for a barrier, which always waits.
                if (size == "0" && operation != "barrier") {
                    CHECK(time == 0);
                    CHECK(row.at("messages") == 0);
                } else {
                    CHECK(time > 0);
                    CHECK(time >= row.at("lower_bound_s").get<double>() * (1 - 1e-9));
                }
            }
        }
    }
    CHECK(run == algorithms_of(operation));
}

TEST_CASE("case: one rank costs no communication, by any algorithm of any operation", "[cases]") {
    const std::string operation = GENERATE(from_range(operations.begin(), operations.end()));
    CAPTURE(operation);
    const Shell shell;
    const json result = run_json(with({"collective", "single-switch", "--set", "gpus=1", "--set", "reduces=true"},
                                      flags_of(shell, operation, 1, "100")));
    CHECK_FALSE(result.at("rows").empty());
    for (const json& row : result.at("rows")) {
        CAPTURE(row.dump());
        CHECK(row.at("time_s") == 0);
        CHECK(row.at("messages") == 0);
        CHECK(row.at("lower_bound_s") == 0);
        CHECK(row.at("busiest_link").is_null());
    }
}

TEST_CASE("case: no byte of an odd size is lost", "[cases]") {
    // A broadcast of 100 bytes down a chain of 7 puts exactly 100 bytes on each of 6 ports, in however many pieces; an
    // all-gather round a ring all but one's own block, of 100/7 bytes: simulated blocks are equal, fractions included.
    const auto busiest = [](const std::string& operation, const std::string& algorithm) {
        const json result = run_json(with(seven_at_a_switch(), {"--op", operation, "--algorithm", algorithm, "-b",
                                                                "100", "-e", "100", "--pieces", "3"}));
        return result.at("rows").at(0).at("busiest_link").at("bytes").get<double>();
    };
    CHECK(busiest("broadcast", "chain") == Approx(100));
    CHECK(busiest("all_gather", "ring") == Approx(100 - 100.0 / 7));
    CHECK(busiest("send_recv", "ring") == Approx(100));
    // The root of a scatter keeps one block.
    CHECK(busiest("scatter", "direct") == Approx(100 - 100.0 / 7));
}
