#include "sim/cli/explain_scene.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/yaml.h"
#include "sim/cli/arguments.h"
#include "sim/cli/explain_topology.h"
#include "sim/cli/inputs.h"
#include "sim/cli/schedules.h"
#include "sim/cli/size_matrix.h"
#include "sim/fabric/load_fabric.h"

namespace lockstep::cli {

using collective::Algorithm;
using collective::Operation;

namespace {

/// What a page can hold.
constexpr double most_messages = 40000;
/// Over all ranks: what each holds of each is kept for every step.
constexpr std::uint64_t most_chunks_held = 1'000'000;
constexpr std::uint32_t usual_ranks = 4;

const Algorithm& algorithm_named(const DataFiles& data, const std::string& name) {
    const auto found = std::ranges::find(collective::algorithms(), name, &Algorithm::name);
    if (found == collective::algorithms().end()) {
        throw InputError(fmt::format("{}: neither a file, a shipped schedule nor an algorithm{}", excerpt(name),
                                     suggestion(name, schedule_names(data))));
    }
    return *found;
}

Operation operation_for(const Algorithm& algorithm, const SceneOptions& options) {
    const auto does = [&](Operation operation) {
        return std::ranges::find(algorithm.operations, operation) != algorithm.operations.end();
    };
    if (!options.operation) {
        return does(Operation::all_reduce) ? Operation::all_reduce : algorithm.operations.front();
    }
    const Operation operation = collective::operation_named(*options.operation);
    if (!does(operation)) {
        std::vector<std::string_view> known;
        for (const Operation other : algorithm.operations) {
            known.push_back(collective::name_of(other));
        }
        throw InputError(fmt::format("--op: {} does not do {}; it does {}", algorithm.name, *options.operation,
                                     fmt::join(known, ", ")));
    }
    return operation;
}

/// Sizes and root of what is to be done. operation: which.
collective::Request request_for(Operation operation, const SceneOptions& options, std::size_t ranks) {
    collective::Request request{.operation = operation, .tuning = tuning(options.tuning)};
    if (operation == Operation::all_to_all_v) {
        if (!options.matrix) {
            throw InputError("--sizes is required: of all_to_all_v, what each rank has for each");
        }
        request.sizes = size_matrix_from(*options.matrix, static_cast<std::uint32_t>(ranks));
        request.bytes = largest_row(*request.sizes);
    } else if (options.matrix) {
        throw InputError("--sizes is for --op all_to_all_v only");
    } else if (operation != Operation::barrier) {
        request.bytes = size("--bytes", options.bytes);
    }
    if (options.root && !collective::has_root(operation)) {
        throw InputError(fmt::format("--root: {} has no root", collective::name_of(operation)));
    }
    request.root = id_at<RankId>(whole_number("--root", options.root.value_or("0"), 0, ranks - 1));
    return request;
}

std::vector<VertexId> first_of_each_node(const fabric::Fabric& fabric, std::uint32_t count) {
    std::vector<VertexId> placement;
    for (std::size_t node = 0; node < fabric.node_count(); ++node) {
        const auto gpus = fabric.gpus_of(id_at<NodeId>(node));
        placement.insert(placement.end(), gpus.begin(), gpus.begin() + count);
    }
    return placement;
}

/// A fabric without ranks.
std::unique_ptr<Scene> scene_on(const DataFiles& data, const InputOptions& input) {
    const InputFiles files = load_files(data, input);
    return std::make_unique<Scene>(Scene{fabric::load_fabric(files.topology, data), files.paths});
}

/// The ranks on the topology that was named.
std::unique_ptr<Scene> named_scene(const DataFiles& data, const InputOptions& input) {
    auto scene = scene_on(data, input);
    const std::vector<VertexId> placement = placement_of(scene->fabric, input);
    if (placement.size() > most_ranks_explained) {
        throw InputError(fmt::format("--ranks: {} GPUs of {} would take part, and explain shows at most {} ranks",
                                     placement.size(), scene->fabric.name(), most_ranks_explained));
    }
    scene->communicator.emplace(scene->fabric, placement);
    return scene;
}

/// The ranks in a place that was chosen for them.
std::unique_ptr<Scene> chosen_scene(const DataFiles& data, const InputOptions& asked, const ShowPlace& place) {
    if (asked.placement) {
        throw InputError("--placement names GPUs of a topology: say --topology, too");
    }
    InputOptions input = asked;
    input.topology = place.topology;
    input.settings.insert(input.settings.begin(), place.settings.begin(), place.settings.end());
    auto scene = scene_on(data, input);
    scene->communicator.emplace(scene->fabric, place.ranks_per_node
                                                   ? first_of_each_node(scene->fabric, *place.ranks_per_node)
                                                   : collective::default_placement(scene->fabric, place.ranks));
    return scene;
}

std::optional<std::uint32_t> asked_ranks(const SceneOptions& options) {
    if (!options.input.ranks) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(whole_number("--ranks", *options.input.ranks, 1, most_ranks_explained));
}

/// The scene of an algorithm, without its schedule.
std::unique_ptr<Scene> place_algorithm(const DataFiles& data, const Algorithm& algorithm, const SceneOptions& options) {
    const Operation operation = operation_for(algorithm, options);
    if (!options.input.topology.empty()) {
        auto scene = named_scene(data, options.input);
        scene->request = request_for(operation, options, scene->communicator->size());
        if (const auto obstacle = algorithm.obstacle(*scene->communicator, scene->request)) {
            throw InputError(fmt::format(
                "--topology {}: {}", options.input.topology,
                obstacle->starts_with(algorithm.name) ? *obstacle : fmt::format("{}: {}", algorithm.name, *obstacle)));
        }
        return scene;
    }
    std::optional<std::string> reason;
    for (const ShowPlace& place : show_places(algorithm, asked_ranks(options))) {
        auto scene = chosen_scene(data, options.input, place);
        scene->request = request_for(operation, options, scene->communicator->size());
        const auto obstacle = algorithm.obstacle(*scene->communicator, scene->request);
        if (!obstacle) {
            return scene;
        }
        reason = reason.value_or(*obstacle);
    }
    throw InputError(fmt::format("{} cannot be shown without --topology: {}", algorithm.name, *reason));
}

/// Asks for few pieces where the algorithm would by itself cut the data into more than anybody can follow.
collective::Request legible(const Algorithm& algorithm, const Scene& scene) {
    constexpr std::uint32_t most_chunks = 16;
    collective::Request request = scene.request;
    const std::uint32_t by_itself = algorithm.make(*scene.communicator, request).chunks;
    if (request.tuning.pieces || by_itself <= most_chunks) {
        return request;
    }
    for (const std::uint32_t pieces : {4U, 2U}) {
        request.tuning.pieces = pieces;
        const std::uint32_t chunks = algorithm.make(*scene.communicator, request).chunks;
        if (chunks <= most_chunks || (pieces == 2 && chunks < by_itself)) {
            return request;
        }
    }
    return scene.request;
}

std::unique_ptr<Scene> scene_of_algorithm(const DataFiles& data, const SceneOptions& options) {
    const Algorithm& algorithm = algorithm_named(data, options.name);
    auto scene = place_algorithm(data, algorithm, options);
    const collective::Communicator& communicator = *scene->communicator;
    const collective::Request request = legible(algorithm, *scene);
    if (const double messages = algorithm.messages(communicator, request); messages > most_messages) {
        throw InputError(
            fmt::format("{:.0f} messages are more than the {:.0f} that can be shown: ask for fewer --ranks, "
                        "--channels or --pieces",
                        messages, most_messages));
    }
    if (request.tuning.pieces != scene->request.tuning.pieces) {
        scene->own_choice = algorithm.make(communicator, scene->request);
    }
    scene->request = request;
    scene->schedule = algorithm.make(communicator, request);
    scene->summary = algorithm.summary;
    scene->cost = algorithm.cost(communicator, request);
    return scene;
}

/// What a file says of itself.
struct FileWords {
    std::string summary = {};
    bool for_any_ranks = false;
};

FileWords words_of(const std::filesystem::path& path) {
    if (path.extension() == ".xml") {
        return {};
    }
    const YamlFile file = YamlFile::load(path);
    const auto text = [&](const char* key) {
        const auto value = file.root().find(key);
        return value ? value->text() : std::string();
    };
    return {text("summary"), text("ranks") == "any"};
}

std::unique_ptr<Scene> scene_of_file(const DataFiles& data, const SceneOptions& options) {
    const std::filesystem::path path = schedule_path(data, options.name);
    const FileWords words = words_of(path);
    ScheduleQuery query{.name = options.name, .ranks = asked_ranks(options), .tuning = tuning(options.tuning)};
    if (options.operation) {
        query.operation = collective::operation_named(*options.operation);
    }
    if (options.root) {
        query.root =
            id_at<RankId>(whole_number("--root", *options.root, 0, query.ranks.value_or(most_ranks_explained) - 1));
    }
    std::unique_ptr<Scene> scene;
    if (!options.input.topology.empty() && words.for_any_ranks) {
        scene = named_scene(data, options.input);
        query.ranks = static_cast<std::uint32_t>(scene->communicator->size());
    } else if (words.for_any_ranks && !query.ranks) {
        query.ranks = usual_ranks;
    }
    if (options.matrix) {
        if (!query.ranks) {
            throw InputError("--sizes is for as many ranks as --ranks says: say how many");
        }
        query.sizes = size_matrix_from(*options.matrix, *query.ranks);
    }
    query.bytes = size("--bytes", options.bytes);
    collective::Schedule schedule = schedule_named(data, query);
    if (schedule.ranks > most_ranks_explained) {
        throw InputError(fmt::format("{} is for {} ranks, and explain shows at most {}", options.name, schedule.ranks,
                                     most_ranks_explained));
    }
    if (!scene) {
        InputOptions input = options.input;
        input.ranks = fmt::format("{}", schedule.ranks);
        scene = input.topology.empty()
                    ? chosen_scene(data, input,
                                   {.topology = "single-switch",
                                    .settings = {fmt::format("gpus={}", schedule.ranks), "reduces=true"},
                                    .ranks = schedule.ranks})
                    : named_scene(data, input);
    }
    scene->paths.push_back({"schedule", path});
    scene->request = {.operation = schedule.operation,
                      .bytes = query.bytes,
                      .root = schedule.root,
                      .sizes = schedule.sizes,
                      .tuning = query.tuning};
    if (schedule.operation == Operation::barrier) {
        scene->request.bytes = {};
    } else if (schedule.sizes) {
        scene->request.bytes = largest_row(*schedule.sizes);
    }
    scene->schedule = std::move(schedule);
    scene->summary = words.summary;
    return scene;
}

}  // namespace

std::unique_ptr<Scene> scene_for(const DataFiles& data, const SceneOptions& options) {
    auto scene =
        names_schedule_file(data, options.name) ? scene_of_file(data, options) : scene_of_algorithm(data, options);
    const collective::Schedule& schedule = scene->schedule;
    const std::uint64_t chunks = std::uint64_t{schedule.chunks} + schedule.scratch_chunks;
    if (chunks * schedule.ranks > most_chunks_held) {
        throw InputError(
            fmt::format("{} chunks on each of {} ranks are more than can be shown, {} on all ranks together", chunks,
                        schedule.ranks, most_chunks_held));
    }
    return scene;
}

}  // namespace lockstep::cli
