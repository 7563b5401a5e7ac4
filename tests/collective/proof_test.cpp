#include <algorithm>
#include <random>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/collective/algorithm.h"
#include "sim/collective/prover.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::vector<std::string> texts(const Proof& proof) {
    std::vector<std::string> all;
    for (const Finding& finding : proof.findings) {
        all.push_back(std::string(name_of(finding.fault)) + ": " + finding.text);
    }
    return all;
}

/// The names of the algorithms that did the request, all of them proved.
std::vector<std::string> proved(const Communicator& communicator, const Request& request) {
    std::vector<std::string> names;
    for (const Algorithm* algorithm : candidates(communicator, request)) {
        CAPTURE(algorithm->name, name_of(request.operation), communicator.size(), request.bytes.value,
                index(request.root));
        const Schedule schedule = algorithm->make(communicator, request);
        CHECK(schedule.algorithm == algorithm->name);
        CHECK(schedule.operation == request.operation);
        CHECK(schedule.ranks == communicator.size());
        CHECK(schedule.chunks >= 1);
        for (const Turns turns : {Turns::forward, Turns::backward}) {
            const Proof proof = prove(schedule, request.bytes, turns);
            CHECK(texts(proof) == std::vector<std::string>{});
            const double promised = communicator.size() == 1 ? 0 : algorithm->messages(communicator, request);
            CHECK(static_cast<double>(proof.messages) == promised);
        }
        names.push_back(algorithm->name);
    }
    return names;
}

/// Where the operation needs them.
std::shared_ptr<const SizeMatrix> sizes_for(Operation operation, std::size_t ranks) {
    if (operation != Operation::all_to_all_v) {
        return nullptr;
    }
    const auto n = static_cast<std::uint32_t>(ranks);
    auto sizes = std::make_shared<SizeMatrix>(SizeMatrix{.ranks = n});
    for (std::uint32_t pair = 0; pair < n * n; ++pair) {
        sizes->bytes.push_back({(pair * 7919) % 1000});
    }
    return sizes;
}

void prove_everything(const Communicator& communicator, Bytes bytes) {
    for (const Operation operation : operations()) {
        const Bytes size = operation == Operation::barrier ? Bytes{0} : bytes;
        proved(communicator,
               {.operation = operation, .bytes = size, .sizes = sizes_for(operation, communicator.size())});
    }
}

}  // namespace

TEST_CASE("every algorithm delivers on one switch, for 1 to 33 and 64 ranks", "[collective][proof]") {
    const auto ranks = GENERATE(range(1U, 34U), 64U);
    const auto fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    prove_everything(communicator, {100'000});
}

TEST_CASE("every algorithm delivers on several nodes, switched or meshed", "[collective][proof]") {
    const auto nodes = GENERATE(1U, 2U, 3U, 4U);
    const auto gpus = GENERATE(1U, 2U, 3U, 4U, 6U);
    const auto island = GENERATE(Island::reducing, Island::full_mesh, Island::loop);
    CAPTURE(nodes, gpus, island);
    const auto fabric = dgx_cluster(nodes, gpus, island);
    const Communicator communicator = everybody(fabric);
    prove_everything(communicator, {1'000'000});
    const auto names = proved(communicator, {.operation = Operation::all_reduce, .bytes = {12'345'678}});
    const auto does = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    CHECK(does("hierarchical") == (nodes > 1 && gpus > 1));
    CHECK(does("nvls") == (nodes == 1 && island == Island::reducing));
}

TEST_CASE("hierarchical delivers with many rounds and more nodes than GPUs in one", "[collective][proof]") {
    // 16 rounds need 16 * 256 KiB for each of the ranks.
    const auto fabric = dgx_cluster(9, 2, Island::switched);
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::all_reduce, .bytes = {std::int64_t{18} * 16 * 256 * 1024}};
    const Schedule schedule = algorithm_named("hierarchical").make(communicator, request);
    CHECK(schedule.chunks == 2 * 16 * 9);
    CHECK(texts(prove(schedule, request.bytes)) == std::vector<std::string>{});
}

TEST_CASE("broadcasts deliver from every root", "[collective][proof]") {
    const auto fabric = dgx_cluster(2, 4, Island::switched);
    const Communicator communicator = everybody(fabric);
    for (std::uint32_t root = 0; root < 8; ++root) {
        proved(communicator, {.operation = Operation::broadcast, .bytes = {1'000'000}, .root = RankId{root}});
    }
    const auto mesh = cube_mesh();
    for (std::uint32_t root = 0; root < 8; ++root) {
        proved(everybody(mesh), {.operation = Operation::broadcast, .bytes = {1'000'000}, .root = RankId{root}});
    }
}

TEST_CASE("meshes and grids of GPUs are served along their links", "[collective][proof]") {
    const auto cube = cube_mesh();
    prove_everything(everybody(cube), {1'000'000});
    const auto mesh = full_mesh(8);
    prove_everything(everybody(mesh), {1'000'000});
    const auto torus = grid({3, 4, 2}, Wrap::all);
    prove_everything(everybody(torus), {100'000});
    const auto odd = grid({3, 3}, Wrap::none);
    prove_everything(everybody(odd), {100'000});
}

TEST_CASE("ranks may be any GPUs in any order", "[collective][proof]") {
    const auto island = GENERATE(Island::reducing, Island::full_mesh, Island::loop);
    const auto fabric = dgx_cluster(4, 4, island);
    std::mt19937_64 random(7);
    for (int trial = 0; trial < 12; ++trial) {
        std::vector<VertexId> gpus(fabric.gpus().begin(), fabric.gpus().end());
        for (std::size_t i = gpus.size() - 1; i > 0; --i) {
            std::swap(gpus[i], gpus[random() % (i + 1)]);
        }
        gpus.resize(2 + random() % 15);
        prove_everything({fabric, gpus}, {10'007});
    }
}

TEST_CASE("a mesh may span nodes of different size", "[collective][proof]") {
    // A ring of 20 GPUs over nodes of 7, 3 and 10.
    fabric::FabricBuilder builder("uneven");
    std::vector<VertexId> gpus;
    for (const std::uint32_t size : {7U, 3U, 10U}) {
        const NodeId node = builder.add_node();
        for (std::uint32_t g = 0; g < size; ++g) {
            gpus.push_back(builder.add({.name = "gpu" + std::to_string(gpus.size()), .node = node}));
        }
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        builder.connect(gpus[g], gpus[(g + 1) % gpus.size()],
                        {.bandwidth = {1e9}, .line_rate = {1e9}, .latency = {1e-6}});
    }
    const auto fabric = builder.build();
    const Communicator communicator = everybody(fabric);
    CHECK(communicator.rings().size() == 2);
    prove_everything(communicator, {100'000});
}

TEST_CASE("sizes that do not divide are split without loss", "[collective][proof]") {
    const auto bytes = GENERATE(1, 6, 100, 1'000'003);
    const auto switched = single_switch(7);
    prove_everything(everybody(switched), {bytes});
    const auto cluster = dgx_cluster(3, 4, Island::reducing);
    prove_everything(everybody(cluster), {bytes});
}

TEST_CASE("one rank has nothing to do", "[collective][proof]") {
    const auto fabric = dgx_cluster(1, 1, Island::reducing);
    const Communicator communicator = everybody(fabric);
    for (const Operation operation : operations()) {
        for (const Algorithm* algorithm : candidates(communicator, {.operation = operation, .bytes = {100}})) {
            CAPTURE(algorithm->name);
            const Schedule schedule = algorithm->make(communicator, {.operation = operation, .bytes = {100}});
            CHECK(schedule.program(RankId{0}).empty());
        }
    }
}

// That the interpreter can fail: schedules spoilt in one place.

namespace {

template <class Spoil>
std::vector<std::string> problems_of_spoilt(const char* algorithm, Operation operation, Spoil spoil) {
    const auto fabric = dgx_cluster(1, 6, Island::reducing);
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = operation, .bytes = {6'000'000}};
    Schedule schedule = algorithm_named(algorithm).make(communicator, request);
    REQUIRE(prove(schedule, request.bytes).holds());
    const auto sound = schedule.program;
    schedule.program = [sound, spoil](RankId rank) {
        RankProgram program = sound(rank);
        if (rank == RankId{2}) {
            spoil(program);
        }
        return program;
    };
    return texts(prove(schedule, request.bytes));
}

bool mentions(const std::vector<std::string>& problems, std::string_view text) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const std::string& problem) { return problem.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a dropped receive is found", "[collective][proof]") {
    const auto* const algorithm = GENERATE("ring", "direct", "tree");
    const auto problems = problems_of_spoilt(algorithm, Operation::all_reduce, [](RankProgram& program) {
        auto& body = program.front().blocks.front().body;
        body.erase(std::find_if(body.begin(), body.end(),
                                [](const Instruction& i) { return i.verb == Verb::receive_reduce; }));
    });
    CHECK(mentions(problems, "never taken"));
    CHECK(mentions(problems, "ends with"));
}

TEST_CASE("a dropped send is found as a deadlock that names the ranks", "[collective][proof]") {
    const auto problems = problems_of_spoilt("ring", Operation::all_gather, [](RankProgram& program) {
        auto& body = program.front().blocks.front().body;
        body.erase(body.begin());
    });
    CHECK(mentions(problems, "deadlock: for a message from rank 2, which has ended"));
}

TEST_CASE("a wrong chunk is found", "[collective][proof]") {
    const auto operation = GENERATE(Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather);
    const auto problems = problems_of_spoilt("ring", operation, [](RankProgram& program) {
        auto& chunk = program.front().blocks.front().body.front().chunk;
        chunk.first = (chunk.first + 1) % chunk.modulus;
    });
    CHECK_FALSE(problems.empty());
}

TEST_CASE("a wrong place for what is received is found", "[collective][proof]") {
    const auto problems = problems_of_spoilt("direct", Operation::all_to_all, [](RankProgram& program) {
        auto& body = program.front().blocks.front().body;
        std::swap(body[body.size() - 1].chunk, body[body.size() - 2].chunk);
    });
    CHECK(mentions(problems, "rank 2 ends with"));
}

TEST_CASE("an addition done twice, or a store where an addition is due, is found", "[collective][proof]") {
    const auto twice = problems_of_spoilt("direct", Operation::all_gather, [](RankProgram& program) {
        for (auto& instruction : program.front().blocks.front().body) {
            if (instruction.verb == Verb::receive) {
                instruction.verb = Verb::receive_reduce;
                instruction.chunk = {.offset = 2};
            }
        }
    });
    CHECK(mentions(twice, "rank 2 ends with"));
    const auto stored = problems_of_spoilt("ring", Operation::all_reduce, [](RankProgram& program) {
        program.front().blocks.front().body.back().verb = Verb::receive;
    });
    CHECK(mentions(stored, "ends with"));
}

TEST_CASE("receiving before sending all round the ring is found as a deadlock", "[collective][proof]") {
    const auto fabric = single_switch(4);
    const Communicator communicator = everybody(fabric);
    const Request request{.operation = Operation::all_reduce, .bytes = {4000}};
    Schedule schedule = algorithm_named("ring").make(communicator, request);
    schedule.program = [sound = schedule.program](RankId rank) {
        RankProgram program = sound(rank);
        auto& body = program.front().blocks.front().body;
        std::swap(body.front(), body.back());
        return program;
    };
    const auto problems = texts(prove(schedule, request.bytes));
    for (const char* rank : {"rank 0", "rank 1", "rank 2", "rank 3"}) {
        CHECK(mentions(problems, std::string("deadlock: ") + rank));
    }
}

TEST_CASE("a missing or doubled contribution to a switch is found", "[collective][proof]") {
    const auto missing = problems_of_spoilt("nvls", Operation::all_reduce, [](RankProgram& program) {
        auto& body = program.front().blocks.front().body;
        body.erase(body.begin());
    });
    CHECK(mentions(missing, "deadlock"));
    const auto doubled = problems_of_spoilt("nvls", Operation::reduce_scatter, [](RankProgram& program) {
        auto& body = program.front().blocks.front().body;
        body.insert(body.begin(), body.front());
    });
    CHECK(mentions(doubled, "never taken"));
}

TEST_CASE("two threads on one connection are found", "[collective][proof]") {
    const auto problems = problems_of_spoilt("ring", Operation::all_reduce, [](RankProgram& program) {
        Thread second = program.front();
        second.blocks = {second.blocks.back()};
        program.front().blocks.pop_back();
        program.push_back(second);
    });
    CHECK(mentions(problems, "two threads"));
}
