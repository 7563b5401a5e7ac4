#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "shell.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using lockstep::cli::testing::Shell;
using Json = nlohmann::json;

namespace {

/// Both ranks add what comes to the block that they have just sent.
constexpr const char* wrong_schedule = R"(operation: all_reduce
ranks: 2
chunks: 2
steps:
  - {send: $rank, to: $(1 - rank)}
  - {receive_reduce: $rank, from: $(1 - rank)}
)";

Json verified(const Shell& shell, const std::string& arguments) {
    const auto outcome = shell.run("lockstep verify " + arguments + " --json -");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    return Json::parse(outcome.out);
}

}  // namespace

TEST_CASE("verify: proves everything that an algorithm does", "[cli][verify]") {
    const Shell shell;
    const Json json = verified(shell, "halving-doubling --ranks 8");
    CHECK(json["schema"] == "lockstep.verify/1");
    CHECK(json["schedule"] == "halving-doubling");
    CHECK(json["topology"] == "single-switch");
    CHECK(json["ranks"] == 8);
    CHECK(json["proved"] == true);
    std::vector<std::string> operations;
    for (const Json& tried : json["operations"]) {
        CHECK(tried["proved"] == true);
        CHECK(tried["races_checked"] == true);
        CHECK(tried["findings"].empty());
        operations.push_back(tried["op"]);
    }
    std::vector<std::string> listed;
    for (const Json& entry : Json::parse(shell.run("lockstep list algorithms --json -").out)) {
        if (entry["name"] == "halving-doubling") {
            listed = entry["operations"];
        }
    }
    CHECK(operations == listed);
    // All-reduce of 1 MiB over 8 ranks: 2 log2(8) exchanges of every rank, 2 * 7/8 of the data sent.
    const Json& all_reduce = json["operations"][0];
    REQUIRE(all_reduce["op"] == "all_reduce");
    CHECK(all_reduce["messages"] == 8 * 6);
    CHECK(all_reduce["steps"] == 6);
    CHECK(all_reduce["most_sent_bytes"] == (1 << 20) * 7 / 4);
    CHECK(all_reduce["most_received_bytes"] == (1 << 20) * 7 / 4);
    const auto text = shell.run("lockstep verify halving-doubling --ranks 8");
    CHECK(text.exit_code == 0);
    CHECK_THAT(text.out, Catch::StartsWith("halving-doubling, 8 ranks of single-switch\n"));
}

TEST_CASE("verify: every root, or the one asked for", "[cli][verify]") {
    const Shell shell;
    const Json every = verified(shell, "binomial-tree --op gather --ranks 5");
    REQUIRE(every["operations"].size() == 1);
    CHECK(every["operations"][0]["roots"] == Json({0, 1, 2, 3, 4}));
    CHECK(verified(shell, "binomial-tree --op gather --ranks 5 --root 3")["operations"][0]["roots"] == Json({3}));
    CHECK_FALSE(verified(shell, "ring --op all_gather")["operations"][0].contains("roots"));
    const Json many = verified(shell, "binomial-tree --op gather --ranks 65");
    CHECK(many["operations"][0]["roots"] == Json({0}));
    CHECK(many["notes"] == Json({"gather: of more than 64 roots only rank 0 was tried"}));
}

TEST_CASE("verify: pieces and channels as asked for, on the topology asked for", "[cli][verify]") {
    const Shell shell;
    CHECK(verified(shell, "chain --op broadcast --ranks 4 --pieces 5 --channels 1")["operations"][0]["chunks"] == 5);
    const Json json = verified(shell, "hierarchical --topology dgx-h100 --set nodes=2 --op all_reduce");
    CHECK(json["topology"] == "dgx-h100");
    CHECK(json["ranks"] == 16);
}

TEST_CASE("verify: a schedule that is wrong ends with 1 and says what, where and when", "[cli][verify]") {
    const Shell shell;
    shell.write("wrong.yaml", wrong_schedule);
    const auto outcome = shell.run("lockstep verify wrong.yaml --json proof.json");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.empty());
    CHECK_THAT(
        outcome.out,
        Catch::Contains("NOT PROVED") && Catch::Contains("all_reduce is not proved:\n") &&
            Catch::Contains("  misplaced: rank 1 in step 1 adds data of chunk 0 from rank 0 to data of chunk 1\n"));
    const Json json = Json::parse(shell.read("proof.json"));
    CHECK(json["proved"] == false);
    CHECK(json["topology"].is_null());
    const Json& tried = json["operations"][0];
    CHECK(tried["proved"] == false);
    CHECK_FALSE(tried.contains("messages"));
    CHECK(tried["findings"][0] ==
          Json{{"fault", "misplaced"},
               {"rank", 1},
               {"step", 1},
               {"chunk", 1},
               {"text", "rank 1 in step 1 adds data of chunk 0 from rank 0 to data of chunk 1"}});
}

TEST_CASE("verify: a schedule that waits for ever names who waits for whom", "[cli][verify]") {
    const Shell shell;
    shell.write("circle.yaml",
                "operation: barrier\nranks: 3\nchunks: 1\nsteps:\n"
                "  - {receive_reduce: 0, from: $((rank + 2) % 3)}\n"
                "  - {send: 0, to: $((rank + 1) % 3)}\n");
    const auto outcome = shell.run("lockstep verify circle.yaml");
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.out, Catch::Contains("deadlock: rank 1 in step 0 waits for ever on channel 0 for a message from "
                                            "rank 0\n"));
}

TEST_CASE("verify: what cannot be tried is bad input, and says what to change", "[cli][verify][error]") {
    const Shell shell;
    shell.write("wrong.yaml", wrong_schedule);
    struct Refusal {
        const char* arguments;
        const char* message;
    };
    const auto& [arguments, message] = GENERATE(
        Refusal{"", "SCHEDULE is required"}, Refusal{"rnig", "did you mean `ring`?"},
        Refusal{"ring --op all_to_all_v", "--op: ring does not do all_to_all_v; it does all_reduce"},
        Refusal{"ring --op all_redcue", "did you mean `all_reduce`?"},
        Refusal{"ring --op broadcast --root 8", "--root: expected a whole number from 0 to 7, got `8`"},
        Refusal{"ring --op barrier --root 1", "--root: none of what is to be proved has a root"},
        Refusal{"ring --ranks 0", "--ranks: expected a whole number from 1"}, Refusal{"ring --pieces 0", "--pieces"},
        Refusal{"ring --sizes sizes.csv", "--sizes is for all_to_all_v only"},
        Refusal{"ring --set gpus=4", "--set is about a topology: say --topology, too"},
        Refusal{"ring --placement x", "--placement is about a topology: say --topology, too"},
        Refusal{"hierarchical", "name another place with --topology"},
        Refusal{"nvls --topology dgx-a100 --set nodes=1", "nvls"}, Refusal{"wrong.yaml --ranks 3", "3"},
        Refusal{"wrong.yaml --op broadcast", "broadcast"}, Refusal{"missing.yaml", "missing.yaml"},
        Refusal{"wrong.yaml --json wrong.yaml", "wrong.yaml"});
    CAPTURE(arguments);
    const auto outcome = shell.run(std::string("lockstep verify ") + arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::StartsWith("lockstep: error: ") && Catch::Contains(message));
    CHECK(shell.read("wrong.yaml") == wrong_schedule);
}

TEST_CASE("verify: every field of the document is described", "[cli][verify][docs]") {
    const Shell shell;
    shell.write("wrong.yaml",
                "operation: broadcast\nroot: 0\nranks: 2\nchunks: 1\nsteps:\n  - {send: 0, to: $(1 - rank)}\n");
    std::ifstream page(LOCKSTEP_JSON_PAGE);
    const std::string text{std::istreambuf_iterator<char>(page), {}};
    const std::size_t begin = text.find("\n## verify");
    REQUIRE(begin != std::string::npos);
    const std::string documented = text.substr(begin, text.find("\n## ", begin + 1) - begin);
    const auto check_fields = [&](const Json& object) {
        for (const auto& [name, value] : object.items()) {
            CAPTURE(name);
            CHECK_THAT(documented, Catch::Contains("`" + name + "`"));
        }
    };
    for (const char* const arguments : {"wrong.yaml", "ring --ranks 3"}) {
        const Json json = Json::parse(shell.run(std::string("lockstep verify ") + arguments + " --json -").out);
        check_fields(json);
        for (const Json& tried : json["operations"]) {
            check_fields(tried);
            for (const Json& finding : tried["findings"]) {
                check_fields(finding);
            }
        }
    }
}
