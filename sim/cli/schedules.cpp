#include "sim/cli/schedules.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/yaml.h"
#include "sim/collective/load_schedule.h"
#include "sim/collective/prover.h"
#include "sim/fabric/load_fabric.h"
#include "sim/interop/msccl.h"

namespace lockstep::cli {

namespace {

constexpr std::string_view folder = "schedules";

bool looks_like_a_path(std::string_view name) {
    return name.find('/') != std::string_view::npos || name.ends_with(".yaml") || name.ends_with(".xml");
}

bool is_algorithm(std::string_view name) {
    return std::ranges::find(collective::algorithms(), name, &collective::Algorithm::name) !=
           collective::algorithms().end();
}

/// Data of an older installation may lack the folder.
std::vector<std::string> shipped_names(const DataFiles& data) {
    std::error_code ignored;
    return std::filesystem::is_directory(data.root() / folder, ignored) ? data.names(folder)
                                                                        : std::vector<std::string>();
}

/// What proving it costs, roughly: chunks moved, times ranks.
double effort_to_prove(const collective::Schedule& schedule) {
    double moved = 0;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (const collective::Thread& thread : schedule.program(id_at<RankId>(rank))) {
            double round = 0;
            for (const collective::Block& block : thread.blocks) {
                for (const collective::Instruction& instruction : block.body) {
                    round += static_cast<double>(block.iterations) *
                             static_cast<double>(instruction.chunks ? instruction.chunks->size() : instruction.count);
                }
            }
            moved += round * thread.rounds;
        }
    }
    return moved * schedule.ranks;
}

/// Reads a schedule file of either format.
collective::Schedule read_schedule(const std::filesystem::path& path, const collective::ScheduleUse& use) {
    if (path.extension() != ".xml") {
        return collective::load_schedule(YamlFile::load(path), use);
    }
    collective::Schedule schedule = interop::read_msccl(path);
    collective::require_use(schedule, use, {path.string(), 0, 0});
    return schedule;
}

collective::Operation operation_of(const collective::Algorithm& algorithm, const ScheduleQuery& query) {
    const auto does = [&](collective::Operation operation) {
        return std::ranges::find(algorithm.operations, operation) != algorithm.operations.end();
    };
    if (!query.operation) {
        return does(collective::Operation::all_reduce) ? collective::Operation::all_reduce
                                                       : algorithm.operations.front();
    }
    if (!does(*query.operation)) {
        std::vector<std::string_view> known;
        std::ranges::transform(algorithm.operations, std::back_inserter(known),
                               [](collective::Operation operation) { return collective::name_of(operation); });
        throw InputError(fmt::format("algorithm `{}` does not do {}; it does {}", algorithm.name,
                                     collective::name_of(*query.operation), fmt::join(known, ", ")));
    }
    return *query.operation;
}

collective::Schedule from_algorithm(const ScheduleQuery& query, const collective::Communicator& communicator) {
    const collective::Algorithm& algorithm = collective::algorithm_named(query.name);
    collective::Request request{.operation = operation_of(algorithm, query),
                                .bytes = query.bytes,
                                .root = query.root.value_or(RankId{}),
                                .sizes = query.sizes,
                                .tuning = query.tuning};
    if (request.operation == collective::Operation::barrier) {
        request.bytes = {};
    }
    if (index(request.root) >= communicator.size()) {
        throw InputError(
            fmt::format("rank {} is to be the root, and there are {} ranks", index(request.root), communicator.size()));
    }
    if ((request.operation == collective::Operation::all_to_all_v) != (request.sizes != nullptr)) {
        throw InputError(request.sizes ? "sizes for each pair of ranks are of all_to_all_v only"
                                       : "all_to_all_v needs to be told what each rank has for each other");
    }
    if (const auto obstacle = algorithm.obstacle(communicator, request)) {
        throw InputError(fmt::format("algorithm `{}` cannot be used here: {}", algorithm.name, *obstacle));
    }
    return algorithm.make(communicator, request);
}

}  // namespace

std::vector<std::string> schedule_names(const DataFiles& data) {
    std::vector<std::string> names;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        names.push_back(algorithm.name);
    }
    std::ranges::copy(shipped_names(data), std::back_inserter(names));
    return names;
}

bool names_schedule_file(const DataFiles& data, std::string_view name) {
    if (name == "auto" || name == "all") {
        return false;
    }
    return looks_like_a_path(name) || (!is_algorithm(name) && std::ranges::count(shipped_names(data), name) > 0);
}

std::filesystem::path schedule_path(const DataFiles& data, std::string_view name) {
    return looks_like_a_path(name) ? std::filesystem::path(name) : data.resolve(folder, name);
}

std::map<std::string, collective::Schedule> schedules_from_files(const DataFiles& data,
                                                                 std::span<const std::string> names,
                                                                 const collective::Communicator& communicator,
                                                                 const collective::Request& request) {
    std::map<std::string, collective::Schedule> schedules;
    for (const std::string& name : names) {
        if (names_schedule_file(data, name) && !schedules.contains(name)) {
            schedules.emplace(name, schedule_named(data, {.name = name,
                                                          .operation = request.operation,
                                                          .root = request.root,
                                                          .tuning = request.tuning,
                                                          .sizes = request.sizes,
                                                          .communicator = &communicator}));
            schedules.at(name).algorithm = name;  // a table tells rows apart by what was asked for
        }
    }
    return schedules;
}

std::optional<std::string> proof_note(std::string_view name, const collective::Schedule& schedule) {
    constexpr double most_effort = 5e7;
    if (effort_to_prove(schedule) > most_effort) {
        return fmt::format("{}: whether it does {} was not looked at, which would take long: lockstep verify does",
                           name, collective::name_of(schedule.operation));
    }
    constexpr Bytes any_size{std::int64_t{1} << 20};
    const collective::Proof proof = collective::prove(schedule, any_size);
    if (proof.holds()) {
        return std::nullopt;
    }
    return fmt::format("{} is wrong, its times are not those of {}: {} (lockstep verify says more)", name,
                       collective::name_of(schedule.operation), proof.findings.front().text);
}

workload::FindSchedule schedules_for_workload(const DataFiles& data, const std::filesystem::path& workload,
                                              std::vector<InputPath>& read, std::vector<std::string>& notes) {
    // Calls of one workload that ask for the same share it.
    using Key = std::tuple<std::string, collective::Operation, std::uint32_t, std::size_t>;
    auto known = std::make_shared<std::map<Key, std::shared_ptr<const collective::Schedule>>>();
    return [&data, folder = workload.parent_path(), &read, &notes, known](const std::string& name,
                                                                          const collective::ScheduleUse& use) {
        if (!names_schedule_file(data, name)) {
            return std::shared_ptr<const collective::Schedule>();
        }
        auto& schedule = (*known)[{name, *use.operation, *use.ranks, index(*use.root)}];
        if (!schedule) {
            const std::filesystem::path path = schedule_path(data, name);
            read.push_back({"schedule", looks_like_a_path(name) ? folder / path : path});
            schedule = std::make_shared<const collective::Schedule>(read_schedule(read.back().path, use));
            if (auto note = proof_note(name, *schedule)) {
                notes.push_back(std::move(*note));
            }
        }
        return schedule;
    };
}

fabric::Fabric switch_of(const DataFiles& data, std::uint32_t gpus) {
    YamlFile file = YamlFile::load(data.resolve("topologies", "single-switch"));
    file.parameters().set("gpus", std::to_string(gpus));
    file.parameters().set("reduces", "true");
    return fabric::load_fabric(file, data);
}

collective::Schedule schedule_named(const DataFiles& data, const ScheduleQuery& query) {
    ScheduleQuery asked = query;
    if (query.communicator != nullptr) {
        const auto size = static_cast<std::uint32_t>(query.communicator->size());
        if (asked.ranks.value_or(size) != size) {
            throw InputError(fmt::format("{} ranks are asked for where {} are placed", *asked.ranks, size));
        }
        asked.ranks = size;
    }
    if (names_schedule_file(data, query.name)) {
        return read_schedule(schedule_path(data, query.name), {.operation = asked.operation,
                                                               .ranks = asked.ranks,
                                                               .root = asked.root,
                                                               .sizes = asked.sizes,
                                                               .tuning = asked.tuning});
    }
    if (!is_algorithm(query.name)) {
        throw InputError(fmt::format("{}: neither a file, a shipped schedule nor an algorithm{}", excerpt(query.name),
                                     suggestion(query.name, schedule_names(data))));
    }
    if (query.communicator != nullptr) {
        return from_algorithm(asked, *query.communicator);
    }
    if (!asked.ranks) {
        throw InputError(
            fmt::format("algorithm `{}` is for any number of ranks: say how many with --ranks", query.name));
    }
    const fabric::Fabric fabric = switch_of(data, *asked.ranks);
    return from_algorithm(asked, {fabric, collective::default_placement(fabric, std::nullopt)});
}

}  // namespace lockstep::cli
