#include <bit>
#include <string>

#include "tests/cases/command.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using lockstep::test::run_json;
using nlohmann::json;

// Eight to a thousand ranks on one non-blocking switch, against what the α-β model says: a message of m bytes takes
// α + m / B. Ports of 50 GB/s, two links of 1 us: α = 2 us, B = 50e9. A megabyte for each rank.

namespace {

constexpr double alpha = 2e-6;
constexpr double rate = 50e9;

struct Collective {
    std::string operation;
    std::string algorithm;
    /// Messages one after the other, and bytes through a port, for n ranks and S bytes.
    double (*alphas)(double n);
    double (*bytes)(double n, double size);
};

double log2_of(double n) { return static_cast<double>(std::bit_width(static_cast<unsigned>(n)) - 1); }

json row(const Collective& collective, int ranks, const std::string& folding) {
    std::vector<std::string> arguments{"collective",  "single-switch",
                                       "--set",       fmt::format("gpus={}", ranks),
                                       "--set",       "bandwidth=50 GB/s",
                                       "--set",       "latency=1 us",
                                       "--op",        collective.operation,
                                       "--algorithm", collective.algorithm,
                                       "-b",          fmt::format("{}MB", ranks),
                                       "-e",          fmt::format("{}MB", ranks)};
    if (!folding.empty()) {
        arguments.push_back(folding);
    }
    return run_json(arguments).at("rows").at(0);
}

void check_closed_form(const Collective& collective, int ranks, const std::string& folding) {
    CAPTURE(collective.operation, collective.algorithm, ranks, folding);
    const json result = row(collective, ranks, folding);
    const double size = ranks * 1e6;
    const double by_hand = collective.alphas(ranks) * alpha + collective.bytes(ranks, size) / rate;
    CHECK(result.at("time_s").get<double>() == Approx(by_hand).epsilon(1e-9));
    CHECK(result.at("formula_s").get<double>() == Approx(by_hand).epsilon(1e-9));
    CHECK(result.at("time_s").get<double>() >= result.at("lower_bound_s").get<double>() * (1 - 1e-9));
}

const Collective ring{"all_reduce", "ring", [](double n) { return 2 * (n - 1); },
                      [](double n, double size) { return 2 * (n - 1) / n * size; }};
const Collective halving_doubling{"all_reduce", "halving-doubling", [](double n) { return 2 * log2_of(n); },
                                  [](double n, double size) { return 2 * (n - 1) / n * size; }};
const Collective recursive_doubling{"all_reduce", "recursive-doubling", log2_of,
                                    [](double n, double size) { return log2_of(n) * size; }};
const Collective binomial_tree{"broadcast", "binomial-tree", log2_of,
                               [](double n, double size) { return log2_of(n) * size; }};
const Collective bruck{"all_gather", "bruck", log2_of, [](double n, double size) { return (n - 1) / n * size; }};
const Collective pairwise{"all_to_all", "pairwise", [](double n) { return n - 1; },
                          [](double n, double size) { return (n - 1) / n * size; }};
const Collective direct{"all_reduce", "direct", [](double) { return 2.0; },
                        [](double n, double size) { return 2 * (n - 1) / n * size; }};

}  // namespace

TEST_CASE("case: closed forms at 8, 64, 256 and 1024 ranks", "[cases]") {
    const int ranks = GENERATE(8, 64, 256, 1024);
    for (const Collective& collective : {ring, halving_doubling, recursive_doubling, binomial_tree, bruck}) {
        check_closed_form(collective, ranks, "");
    }
}

TEST_CASE("case: closed forms with every rank simulated", "[cases]") {
    const int ranks = GENERATE(8, 64, 256);
    for (const Collective& collective : {ring, halving_doubling, recursive_doubling, binomial_tree, bruck, pairwise}) {
        check_closed_form(collective, ranks, "--no-fold");
    }
}

TEST_CASE("case: closed forms with every rank simulated, where each talks to each", "[cases]") {
    const int ranks = GENERATE(8, 64);
    check_closed_form(direct, ranks, "--no-fold");
}

TEST_CASE("case: time grows with the logarithm of the ranks, not with their number, where it should", "[cases]") {
    // 1024 MB in all: halving and doubling sends 2 * 7/8 of the data in 6 messages among 8 ranks, and 2 * 1023/1024 of
    // it in 20 messages among 1024.
    const auto time = [](int ranks) {
        return run_json({"collective", "single-switch", "--set", fmt::format("gpus={}", ranks), "--set", "latency=1 us",
                         "--algorithm", "halving-doubling", "-b", "1024MB", "-e", "1024MB"})
            .at("rows")
            .at(0)
            .at("time_s")
            .get<double>();
    };
    CHECK(time(8) == Approx(2 * 7.0 / 8 * 1024e6 / 50e9 + 12e-6).epsilon(1e-9));
    CHECK(time(1024) == Approx(2 * 1023.0 / 1024 * 1024e6 / 50e9 + 40e-6).epsilon(1e-9));
}
