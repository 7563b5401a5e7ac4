#include <algorithm>
#include <optional>
#include <random>

#include "tests/replay/cluster.h"
#include "tests/replay/star.h"
#include <catch2/catch.hpp>

#include "sim/collective/communicator.h"

using namespace lockstep;
using replay::Folding;
using test::Bench;
using test::cluster;
using test::Flaw;
using test::Shape;
using workload::CallId;
using workload::StreamId;
using workload::TaskGraph;
using workload::TaskId;

// That training steps that are folded give what unfolded ones give, whatever communicators there are and whatever
// breaks the symmetry.

namespace {

/// Who communicates with whom.
enum class Pattern : std::uint8_t {
    everybody,
    inside_nodes,
    rails,   ///< the n-th ranks of all nodes
    halves,  ///< of the rails: nodes of even and of odd number
    ring,    ///< the n-th rank of each node with that of the next: each rank has two partners, in two calls
};

/// Builds a job whose ranks do alike things, each in communicators of its own.
class JobBuilder {
  public:
    explicit JobBuilder(const fabric::Fabric& fabric)
        : placement_(collective::default_placement(fabric, std::nullopt)),
          nodes_(collective::Communicator(fabric, placement_).nodes()) {
        graph_.name = "random";
        graph_.ranks = placement_.size();
        graph_.streams = {"compute", "out", "in"};
        graph_.programs.resize(graph_.ranks);
        for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
            graph_.program_of_rank.push_back(rank);
        }
    }

    /// factor_of: node -> of its kernels' durations.
    void add_kernel(double seconds, const std::vector<double>& factor_of, const std::vector<std::size_t>& after) {
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            for (const RankId rank : nodes_[node]) {
                add_task(rank, {.label = "kernel",
                                .stream = StreamId{0},
                                .duration = Seconds{seconds * factor_of[node % factor_of.size()]},
                                .after = ids(rank, after)});
            }
        }
        close_item();
    }

    void add_calls(Pattern pattern, const workload::CollectiveCall& call, const std::vector<std::size_t>& after) {
        if (pattern == Pattern::ring) {
            // First what all do towards their next, so that it stands at the same place of all programs.
            std::vector<std::pair<RankId, workload::Task>> incoming;
            for (std::size_t node = 0; node < nodes_.size(); ++node) {
                const auto& next = nodes_[(node + 1) % nodes_.size()];
                for (std::size_t at = 0; at < std::min(nodes_[node].size(), next.size()); ++at) {
                    const RankId rank = nodes_[node][at];
                    const CallId id = add_call(call, {rank, next[at]});
                    add_task(rank, {.label = "out", .stream = StreamId{1}, .call = id, .after = ids(rank, after)});
                    incoming.emplace_back(
                        next[at], workload::Task{
                                      .label = "in", .stream = StreamId{2}, .call = id, .after = ids(next[at], after)});
                }
            }
            for (auto& [rank, task] : incoming) {
                add_task(rank, std::move(task));
            }
        } else {
            for (const auto& members : communicators(pattern)) {
                const CallId id = add_call(call, members);
                for (const RankId rank : members) {
                    add_task(rank, {.label = call.name, .stream = StreamId{1}, .call = id, .after = ids(rank, after)});
                }
            }
        }
        close_item();
    }

    void set_steps(std::uint32_t steps) { graph_.steps = steps; }

    std::size_t items() const { return items_; }
    const TaskGraph& graph() const { return graph_; }
    std::span<const VertexId> placement() const { return placement_; }

  private:
    std::vector<std::vector<RankId>> communicators(Pattern pattern) const {
        if (pattern == Pattern::inside_nodes) {
            return nodes_;
        }
        std::vector<std::vector<RankId>> all;
        if (pattern == Pattern::everybody) {
            all.emplace_back();
            for (std::size_t rank = 0; rank < graph_.ranks; ++rank) {
                all[0].push_back(id_at<RankId>(rank));
            }
            return all;
        }
        const std::size_t parts = pattern == Pattern::halves && nodes_.size() > 3 ? 2 : 1;
        for (std::size_t at = 0;; ++at) {
            std::vector<std::vector<RankId>> rails(parts);
            for (std::size_t node = 0; node < nodes_.size(); ++node) {
                if (at < nodes_[node].size()) {
                    rails[node % parts].push_back(nodes_[node][at]);
                }
            }
            std::erase_if(rails, [](const auto& rail) { return rail.empty(); });
            if (rails.empty()) {
                return all;
            }
            all.insert(all.end(), rails.begin(), rails.end());
        }
    }

    CallId add_call(workload::CollectiveCall call, const std::vector<RankId>& members) {
        const auto found = std::ranges::find(graph_.communicators, members);
        call.communicator = static_cast<std::uint32_t>(found - graph_.communicators.begin());
        if (found == graph_.communicators.end()) {
            graph_.communicators.push_back(members);
        }
        graph_.calls.push_back(call);
        return id_at<CallId>(graph_.calls.size() - 1);
    }

    void add_task(RankId rank, workload::Task task) { graph_.programs[index(rank)].push_back(std::move(task)); }
    void close_item() {
        ends_.emplace_back();
        for (const auto& program : graph_.programs) {
            ends_.back().push_back(program.size());
        }
        ++items_;
    }
    /// The last task that the rank has of each of these items.
    std::vector<TaskId> ids(RankId rank, const std::vector<std::size_t>& items) const {
        std::vector<TaskId> tasks;
        for (const std::size_t item : items) {
            if (ends_[item][index(rank)] > 0) {
                tasks.push_back(id_at<TaskId>(ends_[item][index(rank)] - 1));
            }
        }
        return tasks;
    }

    std::vector<VertexId> placement_;
    std::vector<std::vector<RankId>> nodes_;
    TaskGraph graph_;
    std::size_t items_ = 0;
    std::vector<std::vector<std::size_t>> ends_ = {};  ///< by item and rank: tasks of the program after it
};

workload::CollectiveCall call_of(std::string name, collective::Operation operation, std::int64_t bytes,
                                 std::string algorithm = "auto") {
    workload::CollectiveCall call;
    call.name = std::move(name);
    call.request = {.operation = operation, .bytes = Bytes{bytes}};
    call.algorithm = std::move(algorithm);
    return call;
}

JobBuilder random_job(const fabric::Fabric& fabric, std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::size_t>(random() % n); };
    JobBuilder job(fabric);
    std::vector<double> factors{1.0};
    if (below(4) == 0) {  // a slow node, or every other one
        factors.assign(below(2) == 0 ? 2 : 6, 1.0);
        factors.back() = 1.3;
    }
    const std::size_t items = 3 + below(6);
    for (std::size_t item = 0; item < items; ++item) {
        std::vector<std::size_t> after;
        if (item > 0 && below(3) > 0) {
            after.push_back(below(item));
        }
        if (item == 0 || below(3) == 0) {
            job.add_kernel(1e-4 + 1e-7 * static_cast<double>(below(1000)), factors, after);
            continue;
        }
        const auto pattern = static_cast<Pattern>(below(5));
        constexpr std::array<collective::Operation, 4> operations{
            collective::Operation::all_reduce, collective::Operation::all_gather, collective::Operation::reduce_scatter,
            collective::Operation::broadcast};
        auto call = call_of("call " + std::to_string(static_cast<int>(pattern)), operations.at(below(4)),
                            static_cast<std::int64_t>(below(3) * 1'000'003 + below(2)));
        if (pattern == Pattern::ring) {
            call.request.operation = collective::Operation::send_recv;
        }
        call.kind = static_cast<workload::Parallelism>(below(workload::parallelism_count));
        job.add_calls(pattern, call, after);
    }
    job.set_steps(1 + static_cast<std::uint32_t>(below(20)));
    return job;
}

replay::StepRun run(const fabric::Fabric& fabric, const JobBuilder& job, const char* engine, Folding folding) {
    Bench bench(fabric, engine::engine_named(engine));
    bench.settings.folding = folding;
    return replay::run_training(fabric, job.placement(), job.graph(), bench.settings);
}

std::vector<double> parts_of(const replay::RankTime& time) {
    std::vector<double> parts{time.compute.value, time.pipeline_bubble.value, time.straggler_wait.value,
                              time.overhead.value};
    for (const Seconds part : time.exposed) {
        parts.push_back(part.value);
    }
    return parts;
}

void check_alike(const replay::StepRun& folded, const replay::StepRun& plain) {
    const double margin = 1e-9 * plain.step_time.value;
    CHECK(folded.step_time.value == Approx(plain.step_time.value).epsilon(1e-9));
    REQUIRE(folded.ranks.size() == plain.ranks.size());
    for (std::size_t rank = 0; rank < plain.ranks.size(); ++rank) {
        const auto a = parts_of(folded.ranks[rank]);
        const auto b = parts_of(plain.ranks[rank]);
        for (std::size_t part = 0; part < a.size(); ++part) {
            CAPTURE(rank, part);
            CHECK(a[part] == Approx(b[part]).margin(margin));
        }
    }
    REQUIRE(folded.links.size() == plain.links.size());
    for (std::size_t i = 0; i < plain.links.size(); ++i) {
        CHECK(folded.links[i].link == plain.links[i].link);
        CHECK(folded.links[i].bytes == Approx(plain.links[i].bytes).epsilon(1e-9));
    }
    REQUIRE(folded.collectives.size() == plain.collectives.size());
    for (std::size_t i = 0; i < plain.collectives.size(); ++i) {
        CHECK(folded.collectives[i].algorithm == plain.collectives[i].algorithm);
        CHECK(folded.collectives[i].count == plain.collectives[i].count);
        CHECK(folded.collectives[i].time.value == Approx(plain.collectives[i].time.value).margin(margin));
        CHECK(folded.collectives[i].exposed.value == Approx(plain.collectives[i].exposed.value).margin(margin));
    }
    REQUIRE(folded.spans.size() == plain.spans.size());
    for (std::size_t i = 0; i < plain.spans.size(); ++i) {
        CHECK(folded.spans[i].rank == plain.spans[i].rank);
        CHECK(folded.spans[i].label == plain.spans[i].label);
        CHECK(folded.spans[i].end.value == Approx(plain.spans[i].end.value).margin(margin));
    }
    CHECK(folded.simulator.messages == plain.simulator.messages);
}

Shape random_shape(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    Shape shape;
    shape.nodes = 2 + below(5);
    shape.gpus = 1 + below(4);
    shape.per_leaf = 1 + below(6);
    shape.spines = 1 + below(3);
    shape.rails = below(2) == 0;
    shape.flaw = below(3) > 0 ? Flaw::none : static_cast<Flaw>(1 + below(7));
    shape.flawed = below(shape.nodes);
    shape.routing = below(4) == 0   ? fabric::RoutingPolicy::ecmp
                    : below(4) == 0 ? fabric::RoutingPolicy::spray
                                    : fabric::RoutingPolicy::static_;
    return shape;
}

}  // namespace

TEST_CASE("job fold: folded and unfolded steps agree on random clusters, jobs and flaws", "[replay][fold]") {
    const auto part = GENERATE(range(0U, 10U));
    std::mt19937_64 random(part + 1);
    std::size_t folds = 0;
    std::size_t skips = 0;
    for (std::uint32_t trial = 0; trial < 10; ++trial) {
        const Shape shape = random_shape(random);
        const fabric::Fabric fabric = cluster(shape);
        const JobBuilder job = random_job(fabric, random);
        CAPTURE(part, trial, shape.nodes, shape.gpus, shape.per_leaf, shape.spines, shape.rails,
                static_cast<int>(shape.flaw), shape.flawed, fabric::name_of(shape.routing));
        const auto plain = run(fabric, job, "fluid", Folding::off);
        const auto folded = run(fabric, job, "fluid", Folding::on);
        check_alike(folded, plain);
        CHECK(plain.fold.nodes == 0);
        CHECK(folded.fold.nodes == shape.nodes);
        folds += folded.fold.classes < folded.fold.nodes ? 1 : 0;
        skips += folded.fold.steps_simulated < folded.fold.steps ? 1 : 0;
        if (trial % 5 == 0) {
            const auto reference = run(fabric, job, "simgrid", Folding::off);
            CHECK(folded.step_time.value == Approx(reference.step_time.value).epsilon(1e-6));
        }
    }
    CHECK(folds > 0);
    CHECK(skips > 0);
}

TEST_CASE("job fold: steps that begin as the one before did are not simulated again", "[replay][fold]") {
    const auto fabric = cluster({.nodes = 4, .gpus = 2, .per_leaf = 4});
    JobBuilder job(fabric);
    job.add_kernel(1e-3, {1.0, 1.2}, {});
    job.add_calls(Pattern::everybody, call_of("reduce", collective::Operation::all_reduce, 1'000'000, "ring"), {0});
    job.add_kernel(2e-4, {1.0}, {1});
    for (const std::uint32_t steps : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 1000U}) {
        CAPTURE(steps);
        job.set_steps(steps);
        const auto folded = run(fabric, job, "fluid", Folding::on);
        CHECK(folded.fold.steps == steps);
        // The second step is the first that follows on another, the third begins as that did and the fourth as long
        // after it, and then there are the two of which it is known what happened.
        CHECK(folded.fold.steps_simulated == std::min(steps, 6U));
        // Two rings, one for each rail, of 8 ranks that send 7 times in each of two passes.
        CHECK(folded.simulator.messages == steps * 2 * 8 * 7 * 2);
        check_alike(folded, run(fabric, job, "fluid", Folding::off));
        check_alike(folded, run(fabric, job, "simgrid", Folding::on));
    }
}

TEST_CASE("job fold: steps that fall behind more and more are all simulated", "[replay][fold]") {
    // What is sent in a step takes as long as three steps of the kernels that nobody keeps from going on.
    const auto fabric = test::star(4, Bandwidth{1e9}, Seconds{0});
    JobBuilder job(fabric);
    job.add_kernel(1e-3, {1.0}, {});
    job.add_calls(Pattern::everybody, call_of("pass on", collective::Operation::send_recv, 3'000'000, "ring"), {0});
    job.set_steps(20);
    const auto folded = run(fabric, job, "fluid", Folding::on);
    CHECK(folded.fold.steps_simulated == 20);
    check_alike(folded, run(fabric, job, "fluid", Folding::off));
    // The kernels of the last step have long ended when what is sent in it ends: 1 ms + 20 * 3 ms.
    CHECK(folded.step_time.value == Approx(3e-3));
}

TEST_CASE("job fold: nodes whose ranks are in different communicators are alike if these are", "[replay][fold]") {
    // Even and odd nodes reduce apart, neighbours pass something on in a ring, ranks of a node gather: one class of
    // node.
    const Shape shape{.nodes = 8, .gpus = 2, .per_leaf = 8};
    const auto fabric = cluster(shape);
    JobBuilder job(fabric);
    job.add_kernel(1e-3, {1.0}, {});
    job.add_calls(Pattern::inside_nodes, call_of("gather", collective::Operation::all_gather, 1'000'000, "ring"), {0});
    job.add_calls(Pattern::ring, call_of("pass on", collective::Operation::send_recv, 1'000'000, "ring"), {1});
    job.add_calls(Pattern::halves, call_of("reduce", collective::Operation::all_reduce, 4'000'000, "direct"), {2});
    const auto folded = run(fabric, job, "fluid", Folding::on);
    CHECK(folded.fold.nodes == 8);
    CHECK(folded.fold.classes == 1);
    CHECK(folded.fold.broken_by.empty());
    // Of each of the two ranks: one message to its neighbour, two of the exchange, and to one of three alike partners
    // in each of the two passes; in both of the steps.
    CHECK(folded.simulator.simulated_messages == 2 * 2 * (1 + 2 + 2));
    check_alike(folded, run(fabric, job, "fluid", Folding::off));
}

TEST_CASE("job fold: a slow node, and calls at other points of the program, set nodes apart", "[replay][fold]") {
    const auto fabric = cluster({.nodes = 8, .gpus = 1, .per_leaf = 8});
    const auto reduce = call_of("reduce", collective::Operation::all_reduce, 4'000'000, "direct");
    JobBuilder slow(fabric);
    slow.add_kernel(1e-3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.0, 1.0}, {});
    slow.add_calls(Pattern::everybody, reduce, {0});
    const auto folded = run(fabric, slow, "fluid", Folding::on);
    CHECK(folded.fold.classes == 2);
    CHECK(folded.fold.broken_by == "ranks of different nodes do different things");
    check_alike(folded, run(fabric, slow, "fluid", Folding::off));

    // All durations differ: nothing to fold.
    JobBuilder uneven(fabric);
    uneven.add_kernel(1e-3, {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7}, {});
    uneven.add_calls(Pattern::everybody, reduce, {0});
    const auto unfolded = run(fabric, uneven, "fluid", Folding::on);
    CHECK(unfolded.fold.classes == 8);
    CHECK(unfolded.fold.broken_by == "ranks of different nodes do different things");
    CHECK(unfolded.simulator.simulated_messages == unfolded.simulator.messages);
}

TEST_CASE("job fold: a job that cannot end names all that wait, as if it were not folded", "[replay][fold]") {
    const auto fabric = cluster({.nodes = 4, .gpus = 1, .per_leaf = 4});
    JobBuilder job(fabric);
    auto call = call_of("reduce", collective::Operation::all_reduce, 1000, "waits");
    // Everybody takes from everybody else what nobody sends.
    call.schedule = std::make_shared<const collective::Schedule>(collective::Schedule{
        .algorithm = "waits", .ranks = 4, .program = [](RankId rank) {
            return collective::RankProgram{{.blocks = {{.body = {{.verb = collective::Verb::receive,
                                                                  .peer = id_at<RankId>((index(rank) + 1) % 4)}}}}}};
        }});
    job.add_calls(Pattern::everybody, call, {});
    CHECK_THROWS_WITH(run(fabric, job, "fluid", Folding::on),
                      Catch::Contains("rank 3 waits for a message from rank 0"));
}
