#include "sim/cli/inputs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <sys/resource.h>

#include "sim/base/diagnostics.h"
#include "sim/base/parameters.h"
#include "sim/base/text_file.h"
#include "sim/cli/arguments.h"
#include "sim/collective/communicator.h"

namespace lockstep::cli {

namespace {

fabric::RoutingPolicy routing_named(std::string_view name) {
    constexpr std::array policies{fabric::RoutingPolicy::static_, fabric::RoutingPolicy::ecmp,
                                  fabric::RoutingPolicy::spray, fabric::RoutingPolicy::adaptive};
    std::vector<std::string> known;
    for (const auto policy : policies) {
        if (fabric::name_of(policy) == name) {
            return policy;
        }
        known.emplace_back(fabric::name_of(policy));
    }
    throw InputError(fmt::format("--routing: unknown policy {}{}", excerpt(name), suggestion(name, known)));
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == std::string_view::npos ? std::string_view()
                                           : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

[[noreturn]] void refuse_gpu(const fabric::Fabric& fabric, const SourcePosition& position, std::string_view name) {
    std::vector<std::string> known;
    for (const VertexId gpu : fabric.gpus()) {
        known.push_back(fabric.vertex(gpu).name);
    }
    throw InputError(position,
                     fmt::format("no GPU of {} is called {}{}", fabric.name(), excerpt(name), suggestion(name, known)));
}

/// The GPUs that a file names, one a line; `#` begins a comment.
std::vector<VertexId> placement_from(const fabric::Fabric& fabric, const std::string& path) {
    const std::string text = read_text_file(path);
    std::vector<VertexId> placement;
    std::set<VertexId> seen;
    SourcePosition position{path, 0, 0};
    const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // a byte order mark, as of YAML files
    for (std::size_t begin = mark; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view whole = std::string_view(text).substr(begin, end - begin);
        const std::string_view line = trimmed(whole.substr(0, whole.find('#')));
        begin = end + 1;
        ++position.line;
        if (line.empty()) {
            continue;
        }
        position.column = static_cast<int>(line.data() - whole.data()) + 1;  // only blanks stand before it
        const auto gpu = fabric.find(line);
        if (!gpu || fabric.vertex(*gpu).kind != fabric::VertexKind::gpu) {
            refuse_gpu(fabric, position, line);
        }
        if (!seen.insert(*gpu).second) {
            throw InputError(position, fmt::format("{} has a rank already", excerpt(line)));
        }
        placement.push_back(*gpu);
    }
    if (placement.empty()) {
        throw InputError(SourcePosition{path, 0, 0}, "expected the names of GPUs, one a line, got none");
    }
    return placement;
}

/// The file of the network that a workload names, if it names one rightly; what is wrong is for its reader to say.
std::optional<std::filesystem::path> network_path(const DataFiles& data, const YamlFile& workload) {
    try {
        const auto name = workload.root().find("network");
        return name ? std::optional(data.resolve("models/networks", name->text())) : std::nullopt;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

Seconds steady_now() {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

}  // namespace

InputFiles load_files(const DataFiles& data, const InputOptions& options) {
    std::vector<Setting> settings;
    for (const std::string& text : options.settings) {
        settings.push_back(parse_setting(text));
    }
    const std::filesystem::path topology = data.resolve("topologies", options.topology);
    InputFiles files{YamlFile::load(topology), std::nullopt, {{"topology", topology}}};
    std::vector<SettingTarget> targets{{"topology", &files.topology.parameters()}};
    if (!options.workload.empty()) {
        const std::filesystem::path workload = data.resolve("workloads", options.workload);
        files.workload = YamlFile::load(workload);
        files.paths.push_back({"workload", workload});
        targets.push_back({"workload", &files.workload->parameters()});
    }
    if (options.placement) {
        files.paths.push_back({"placement", *options.placement});
    }
    apply_settings(settings, targets);
    if (files.workload) {
        if (const auto network = network_path(data, *files.workload)) {
            files.paths.push_back({"network", *network});
        }
    }
    return files;
}

std::vector<report::ParameterInForce> in_force(const Parameters& parameters) {
    std::vector<report::ParameterInForce> values;
    for (const Parameter& parameter : parameters.declared()) {
        values.push_back({parameter.name, parameters.value(parameter.name).text});
    }
    return values;
}

EngineChoice engine_choice(const EngineOptions& options) {
    EngineChoice choice{&engine::engines().front(), std::nullopt, 1};
    const engine::EngineKind* const own = choice.engine;
    if (options.engine) {
        choice.engine = &engine::engine_named(*options.engine);
    }
    if (options.routing) {
        choice.routing = routing_named(*options.routing);
    }
    choice.seed = whole_number("--seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
    choice.folding = options.no_fold || choice.engine != own ? replay::Folding::off : replay::Folding::on;
    return choice;
}

report::Setup setup_of(const InputFiles& files, const EngineChoice& choice, const fabric::Fabric& fabric) {
    report::Setup setup;
    setup.engine = choice.engine->name;
    setup.engine_summary = choice.engine->summary;
    setup.routing = choice.routing.value_or(fabric.routing());
    setup.seed = choice.seed;
    setup.topology_parameters = in_force(files.topology.parameters());
    if (files.workload) {
        setup.workload_parameters = in_force(files.workload->parameters());
    }
    return setup;
}

std::vector<VertexId> placement_of(const fabric::Fabric& fabric, const InputOptions& options) {
    std::optional<std::size_t> ranks;
    if (options.ranks) {
        ranks = whole_number("--ranks", *options.ranks, 1, fabric.gpus().size());
    }
    if (!options.placement) {
        return collective::default_placement(fabric, ranks);
    }
    std::vector<VertexId> placement = placement_from(fabric, *options.placement);
    if (ranks && *ranks != placement.size()) {
        throw InputError(SourcePosition{*options.placement, 0, 0},
                         fmt::format("places {} ranks, but --ranks says {}", placement.size(), *ranks));
    }
    return placement;
}

MachineMeter::MachineMeter() : begin_(steady_now()) {}

std::optional<report::MachineUse> MachineMeter::use(MachineFigures figures) const {
    if (figures == MachineFigures::left_out) {
        return std::nullopt;
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return report::MachineUse{steady_now() - begin_, Bytes{static_cast<std::int64_t>(usage.ru_maxrss) * 1024}};
}

}  // namespace lockstep::cli
