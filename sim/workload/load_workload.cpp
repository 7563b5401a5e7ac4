#include "sim/workload/load_workload.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/workload/data_parallel.h"
#include "sim/workload/gpu_speed.h"
#include "sim/workload/layers.h"
#include "sim/workload/tasks.h"

namespace lockstep::workload {

namespace {

constexpr std::int64_t most_steps = 1000;
constexpr std::int64_t most_batch = 1'000'000;
constexpr std::int64_t longest_sequence = std::int64_t{1} << 30;
constexpr double least_efficiency = 0.001;
constexpr double most_bytes_per_parameter = 1000;
constexpr Seconds longest_compute{1e6};

/// How gradients are brought together.
struct DataParallel {
    Bytes first_bucket;
    Bytes bucket;
    Overlap overlap = Overlap::with_backward;
    CollectiveCall call;  ///< how each bucket is reduced, but for its size
    std::optional<YamlValue> algorithm_at;
    std::optional<Bytes> gradient_element;
};

std::size_t read_ranks(YamlMap& root, const Places& places) {
    if (places.size() == 0) {
        root.self().fail(fmt::format("the topology {} has no GPU to train on", excerpt(places.fabric.name())));
    }
    const auto ranks = root.find("ranks");
    if (!ranks || ranks->text() == "all") {
        return places.size();
    }
    const auto wanted = static_cast<std::size_t>(ranks->count(1, std::int64_t{1} << 31));
    if (wanted > places.size()) {
        ranks->fail(
            places.placement.empty()
                ? fmt::format("workload needs {} GPUs but the topology {} has {}: make the topology larger (its "
                              "`nodes`, `gpus` or `racks`) or lower `ranks`",
                              wanted, excerpt(places.fabric.name()), places.size())
                : fmt::format("workload needs {} GPUs but the placement has {}: add GPUs to it or lower `ranks`",
                              wanted, places.size()));
    }
    return wanted;
}

std::optional<Bytes> read_gradient_element(YamlMap& map) {
    static const std::array<std::string, 3> types{"fp32", "bf16", "fp16"};
    const auto type = map.find("gradient_dtype");
    if (!type) {
        return std::nullopt;
    }
    return Bytes{type->one_of(types) == "fp32" ? 4 : 2};
}

DataParallel read_data_parallel(const YamlValue& value, std::size_t ranks, const FindSchedule& find_schedule) {
    static const std::array<std::string, 1> collectives{"all_reduce"};
    YamlMap map = value.map();
    DataParallel result;
    if (const auto collective = map.find("collective")) {
        collective->one_of(collectives);
    }
    const auto overlap = map.find("overlap");
    result.overlap = !overlap || overlap->flag() ? Overlap::with_backward : Overlap::after_backward;
    // PyTorch makes the first bucket smaller only as long as nobody chooses a size.
    const auto bucket = map.find("bucket");
    const auto first_bucket = map.find("first_bucket");
    result.bucket = bucket ? bucket->bytes({1}) : Bytes{std::int64_t{25} << 20};
    result.first_bucket = first_bucket ? first_bucket->bytes({1})
                          : bucket     ? result.bucket
                                       : Bytes{std::int64_t{1} << 20};
    result.call.request.operation = collective::Operation::all_reduce;
    result.call.algorithm = "auto";
    if (const auto algorithm = map.find("algorithm")) {
        choose_algorithm(result.call, *algorithm, ranks, find_schedule);
        result.algorithm_at = algorithm;
    }
    result.gradient_element = read_gradient_element(map);
    map.finish();
    return result;
}

/// Throws: InputError at the algorithm that was chosen if it cannot serve the gradients on these GPUs.
void require_algorithm(const DataParallel& data_parallel, const Places& places, const TaskGraph& graph) {
    const CollectiveCall& call = data_parallel.call;
    if (!data_parallel.algorithm_at || call.algorithm == "auto" || call.schedule || graph.calls.empty()) {
        return;
    }
    const auto gpus = places.placement.empty()
                          ? collective::default_placement(places.fabric, graph.ranks)
                          : std::vector(places.placement.begin(),
                                        places.placement.begin() + static_cast<std::ptrdiff_t>(graph.ranks));
    const collective::Communicator communicator(places.fabric, gpus);
    const collective::Algorithm& algorithm = collective::algorithm_named(call.algorithm);
    if (const auto obstacle = algorithm.obstacle(communicator, graph.calls.front().request)) {
        data_parallel.algorithm_at->fail(*obstacle);
    }
}

LayerTable read_table(YamlMap& root, const DataFiles& data, std::optional<Bytes> gradient_element) {
    const auto network = root.find("network");
    if (!network) {
        if (!root.find("layers")) {
            root.self().fail("missing key `network` (a name of models/networks) or `layers` (a list)");
        }
        return read_layers(root, gradient_element);
    }
    if (const auto layers = root.find("layers")) {
        layers->fail("a workload has `network` or `layers`, not both");
    }
    const auto sequence = root.find("sequence");
    return load_network(*network, data, sequence ? &*sequence : nullptr, gradient_element);
}

/// Reads `batch` and `sequence` and turns the FLOPs of the table into those of a GPU's step. Sets what a step processes
/// per rank.
void read_batch(YamlMap& root, LayerTable& table, TaskGraph& graph) {
    const bool in_flops = table.in_flops();
    const auto batch = in_flops ? root.require("batch") : root.find("batch");
    const auto sequence =
        in_flops && table.flops_per == FlopsPer::token ? root.require("sequence") : root.find("sequence");
    double scale = 1;
    if (batch) {
        graph.samples_per_step = static_cast<double>(batch->count(1, most_batch));
        scale = *graph.samples_per_step;
    }
    if (sequence) {
        const auto length = static_cast<double>(sequence->count(1, longest_sequence));
        if (!batch) {
            sequence->fail("the length of a sequence needs `batch`, the number of them");
        }
        graph.tokens_per_step = *graph.samples_per_step * length;
        scale *= table.flops_per == FlopsPer::token ? length : 1;
    }
    if (!in_flops) {
        return;
    }
    Flops total;
    for (Layer& layer : table.layers) {
        for (Work* const work : {&layer.forward, &layer.backward}) {
            *work = std::get<Flops>(*work) * scale;
            total += std::get<Flops>(*work);
        }
    }
    graph.model_flops_per_step = total;
}

std::optional<Compute> read_compute(YamlMap& root, bool in_flops) {
    static const std::array<std::string, 4> precisions{"bf16", "fp16", "fp8", "fp32"};
    if (!in_flops) {
        for (const std::string_view key : {"precision", "efficiency"}) {
            if (const auto value = root.find(key)) {
                value->fail("has no effect on layers given as times: leave it out, or give the layers in FLOPs");
            }
        }
        return std::nullopt;
    }
    const YamlValue precision = root.require("precision");
    return Compute{precision.one_of(precisions), root.require("efficiency").number(least_efficiency, 1), precision};
}

Optimizer read_optimizer(const YamlValue& value, std::span<const Layer> layers) {
    YamlMap map = value.map();
    Optimizer optimizer;
    const auto time = map.find("time");
    const auto per_parameter = map.find("bytes_per_parameter");
    if (time && per_parameter) {
        per_parameter->fail("an optimizer has `time` or `bytes_per_parameter`, not both");
    }
    if (!time && !per_parameter) {
        value.fail("missing key `time` or `bytes_per_parameter`");
    }
    if (time) {
        optimizer.time = time->seconds();
        map.finish();
        return optimizer;
    }
    const double bytes = per_parameter->number(0, most_bytes_per_parameter);
    optimizer.efficiency = map.require("memory_efficiency").number(least_efficiency, 1);
    map.finish();
    double parameters = 0;
    for (const Layer& layer : layers) {
        if (!layer.parameters) {
            per_parameter->fail(fmt::format("needs the `parameters` of every layer, and {} has only a `gradient`",
                                            excerpt(layer.name)));
        }
        parameters += static_cast<double>(*layer.parameters);
    }
    optimizer.bytes = bytes * parameters;
    optimizer.in_bytes = per_parameter;
    return optimizer;
}

/// Throws: InputError for a step that computes nothing and sends nothing, or computes for longer than anybody waits.
void require_sense(const YamlMap& root, const TaskGraph& graph) {
    for (const Program& program : graph.programs) {
        Seconds compute;
        for (const Task& task : program) {
            compute += task.duration;
        }
        if (compute.value == 0 && graph.calls.empty()) {
            root.self().fail(
                "a step neither computes nor communicates: every time is 0 and there is nothing to reduce");
        }
        if (compute > longest_compute) {
            root.self().fail(
                fmt::format("a GPU computes {} in a step, more than {}: too much work, or too low an efficiency",
                            to_text(compute), to_text(longest_compute)));
        }
    }
}

}  // namespace

TaskGraph load_workload(const YamlFile& file, const DataFiles& data, const fabric::Fabric& fabric,
                        std::span<const VertexId> placement, const FindSchedule& find_schedule) {
    const Places places{fabric, placement};
    YamlMap root = file.root();
    TaskGraph graph;
    graph.name = std::filesystem::path(file.name()).stem().string();
    if (const auto summary = root.find("summary")) {
        static_cast<void>(summary->text());
    }
    graph.ranks = read_ranks(root, places);
    const auto steps = root.find("steps");
    if (steps) {
        graph.steps = static_cast<std::uint32_t>(steps->count(1, most_steps));
    }
    if (root.find("programs")) {
        graph.steps = steps ? graph.steps : 1;  // it begins and ends once unless told to go on
        read_tasks(root, file.parameters(), places, find_schedule, graph);
        root.finish();
        require_sense(root, graph);
        return graph;
    }
    const DataParallel data_parallel = read_data_parallel(root.require("data_parallel"), graph.ranks, find_schedule);
    LayerTable table = read_table(root, data, data_parallel.gradient_element);
    read_batch(root, table, graph);
    const std::optional<Compute> compute = read_compute(root, table.in_flops());
    const Optimizer optimizer = read_optimizer(root.require("optimizer"), table.layers);
    root.finish();

    const auto ranks = static_cast<double>(graph.ranks);
    for (std::optional<double>* const amount : {&graph.samples_per_step, &graph.tokens_per_step}) {
        if (*amount) {
            **amount *= ranks;
        }
    }
    if (graph.model_flops_per_step) {
        graph.model_flops_per_step = *graph.model_flops_per_step * ranks;
    }

    // A single rank has nobody to share its gradients with.
    const std::vector<Bucket> buckets =
        graph.ranks == 1 ? std::vector<Bucket>{}
                         : gradient_buckets(table.layers, data_parallel.first_bucket, data_parallel.bucket);
    graph.streams = {"compute", "dp"};
    graph.communicators.emplace_back(graph.ranks);
    for (std::size_t rank = 0; rank < graph.ranks; ++rank) {
        graph.communicators.front()[rank] = id_at<RankId>(rank);
    }
    graph.calls = gradient_calls(buckets, data_parallel.call, 0);
    require_algorithm(data_parallel, places, graph);

    Speeds speeds = speeds_of(places, graph.ranks, compute, optimizer);
    for (const Speed& speed : speeds.distinct) {
        graph.programs.push_back(data_parallel_program(table.layers, buckets, data_parallel.overlap, speed.gpu));
    }
    graph.program_of_rank = std::move(speeds.of_rank);
    if (compute) {
        FlopRate total;
        for (const std::uint32_t program : graph.program_of_rank) {
            total += *speeds.distinct[program].peak;
        }
        graph.peak_per_gpu = total / ranks;
    }
    require_sense(root, graph);
    return graph;
}

}  // namespace lockstep::workload
